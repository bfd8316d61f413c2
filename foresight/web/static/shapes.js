// What a board is drawn with, each within a square from 0 to 1.

const TURN = [0, -Math.PI / 2, Math.PI / 2, Math.PI, 0, -Math.PI / 4, -3 * Math.PI / 4, Math.PI / 4, 3 * Math.PI / 4];

export function disc(c, x, y, radius) {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
}

export function outline(c, colour, width) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.beginPath();
  c.roundRect(width / 2, width / 2, 1 - width, 1 - width, 0.12);
  c.stroke();
}

export function crate(c, colour, dark) {
  c.fillStyle = dark;
  c.beginPath();
  c.roundRect(0.07, 0.07, 0.86, 0.86, 0.14);
  c.fill();
  c.fillStyle = colour;
  c.beginPath();
  c.roundRect(0.13, 0.13, 0.74, 0.74, 0.08);
  c.fill();
  c.strokeStyle = dark;
  c.lineWidth = 0.07;
  c.lineCap = "round";
  c.beginPath();
  c.moveTo(0.25, 0.25);
  c.lineTo(0.75, 0.75);
  c.moveTo(0.75, 0.25);
  c.lineTo(0.25, 0.75);
  c.stroke();
}

export function figure(c, ink) {
  c.fillStyle = ink.playerDark;
  disc(c, 0.5, 0.53, 0.38);
  c.fill();
  c.fillStyle = ink.player;
  disc(c, 0.5, 0.49, 0.36);
  c.fill();
  c.fillStyle = ink.eyes;
  disc(c, 0.38, 0.44, 0.065);
  c.fill();
  disc(c, 0.62, 0.44, 0.065);
  c.fill();
}

/** Half of a square, for one of two arrows on it. */
export function makeRoom(c, isUpright, side) {
  c.translate(isUpright ? 0.2 * side : 0, isUpright ? 0 : 0.2 * side);
  c.translate(0.5, 0.5);
  c.scale(0.82, 0.82);
  c.translate(-0.5, -0.5);
}

/** An arrow along a direction by its class, with a halo around it; class 0, "not here", is a cross. */
export function drawArrow(c, direction, colour, halo, isThick) {
  c.translate(0.5, 0.5);
  c.lineCap = "round";
  c.lineJoin = "round";
  c.beginPath();
  if (direction) {
    c.rotate(TURN[direction]);
    arrowPath(c, isThick ? 0.075 : 0.045, isThick ? 0.22 : 0.17);
  } else {
    c.rotate(Math.PI / 4);
    c.rect(-0.3, -0.06, 0.6, 0.12);
    c.rect(-0.06, -0.3, 0.12, 0.6);
  }
  c.strokeStyle = halo;
  c.lineWidth = 0.09;
  c.stroke();
  c.fillStyle = colour;
  c.fill();
}

function arrowPath(c, half, head) {
  c.moveTo(-0.38, -half);
  c.lineTo(0.4 - 1.15 * head, -half);
  c.lineTo(0.4 - 1.15 * head, -head);
  c.lineTo(0.4, 0);
  c.lineTo(0.4 - 1.15 * head, head);
  c.lineTo(0.4 - 1.15 * head, half);
  c.lineTo(-0.38, half);
  c.closePath();
}
