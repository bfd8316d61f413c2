// Maps as numbers and as pictures: a map is a stretch of bytes, one for each square, with 0 in the middle of the scale.

/** The answer of the server with its bytes unpacked. */
export async function decodeMaps(answer) {
  const packed = Uint8Array.from(atob(answer.maps), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return { ...answer, maps: undefined, bytes: new Uint8Array(await new Response(stream).arrayBuffer()) };
}

/** The bytes of one channel at one tick of one look; beyond the last look that was kept, of that one. */
export function mapAt(maps, look, tick, layer, channel) {
  const { looks, ticks, layers, channels, height, width } = maps, size = height * width;
  const place = Math.min(look, looks - 1), round = look < looks ? Math.min(tick, ticks - 1) : ticks - 1;
  const start = (((place * ticks + round) * layers + layer) * channels + channel) * size;
  return maps.bytes.subarray(start, start + size);
}

export const channelName = ({ layer, channel }) => `Layer ${layer + 1}, channel ${channel}`;

export function mapCanvas({ height, width }) {
  return Object.assign(document.createElement("canvas"), { height, width, className: "map-canvas" });
}

/** The colour of each byte as [r, g, b]: from the style's --low by --zero to --high. */
export function colours(element, steps = 15) {
  const style = getComputedStyle(element);
  const [low, zero, high] = ["--low", "--zero", "--high"].map((name) => rgb(style.getPropertyValue(name).trim()));
  return Array.from({ length: 2 * steps + 1 }, (_, code) => {
    const share = (Math.abs(code - steps) / steps) ** 0.75, end = code < steps ? low : high;
    return zero.map((from, part) => Math.round(from + (end[part] - from) * share));
  });
}

const rgb = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));

export function paint(canvas, codes, inks) {
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  codes.forEach((code, square) => image.data.set([...inks[code], 255], 4 * square));
  context.putImageData(image, 0, 0);
}
