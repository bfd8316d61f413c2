"""Boxes and arrows as SVG, with nothing but the standard library: what the network diagrams are drawn with."""

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

Point = tuple[float, float]

# fill and border of each kind of box
KINDS = {
    "data": ("#eef1f5", "#5b6770"),
    "conv": ("#cfe3f7", "#2b6cb0"),
    "linear": ("#fde3c8", "#c05621"),
    "memory": ("#d5efd8", "#2f855a"),
    "learned": ("#fff3bf", "#b7791f"),
    "step": ("#ffffff", "#5b6770"),
    "output": ("#e6dcf5", "#6b46c1"),
}
MEANING = {
    "data": "data",
    "conv": "convolution",
    "linear": "linear layer",
    "memory": "memory module",
    "learned": "learned array",
    "step": "no weights",
    "output": "output",
}
FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"


@dataclass(frozen=True)
class Box:
    """A drawn box; its sides are where arrows start and end."""

    x: float
    y: float
    width: float
    height: float

    def left(self, share: float = 0.5) -> Point:
        """A point on the left side, `share` of the way down."""
        return self.x, self.y + share * self.height

    def right(self, share: float = 0.5) -> Point:
        """A point on the right side, `share` of the way down."""
        return self.x + self.width, self.y + share * self.height

    def top(self, share: float = 0.5) -> Point:
        """A point on the top side, `share` of the way along."""
        return self.x + share * self.width, self.y

    def bottom(self, share: float = 0.5) -> Point:
        """A point on the bottom side, `share` of the way along."""
        return self.x + share * self.width, self.y + self.height


@dataclass
class Diagram:
    """A picture that grows by `box`, `arrow` and `text`, and is written once."""

    name: str
    width: int
    height: int
    title: str
    shapes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  # drawn last, so that no line crosses a number
    kinds: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, text: str, kind: str) -> Box:
        """A rounded box with centred lines of text; the first line is bold if there are several."""
        fill, border = KINDS[kind]
        if kind not in self.kinds:
            self.kinds.append(kind)
        self.shapes.append(
            f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='7' fill='{fill}' stroke='{border}' "
            "stroke-width='1.5'/>"
        )
        lines = text.split("\n")
        for n, line in enumerate(lines):
            middle = y + height / 2 + (n - (len(lines) - 1) / 2) * 16 + 4.5
            self.text(x + width / 2, middle, line, bold=len(lines) > 1 and n == 0)
        return Box(x, y, width, height)

    def text(
        self, x: float, y: float, line: str, *, size: int = 12, bold: bool = False, anchor: str = "middle"
    ) -> None:
        """One line of text with its baseline at y."""
        weight = " font-weight='bold'" if bold else ""
        self.labels.append(
            f"<text x='{x}' y='{y}' {FONT} font-size='12' text-anchor='{anchor}' fill='#1a202c'{weight}>"
            f"{escape(line)}</text>"
        )

    def arrow(self, *points: Point, label: str = "", segment: int = -1, lift: float = 0, dashed: bool = False) -> None:
        """A line through the points with a head at the last; the label sits on one segment, the longest by default."""
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = " stroke-dasharray='5 4'" if dashed else ""
        self.shapes.append(
            f"<polyline points='{path}' fill='none' stroke='#2d3748' stroke-width='1.4'{dash} marker-end='url(#head)'/>"
        )
        if not label:
            return
        pairs = list(pairwise(points))
        if segment < 0:
            segment = max(range(len(pairs)), key=lambda n: _length(*pairs[n]))
        (x1, y1), (x2, y2) = pairs[segment]
        self.label((x1 + x2) / 2, (y1 + y2) / 2 + lift, label)

    def label(self, x: float, y: float, line: str) -> None:
        """A shape on an arrow: small text on a white ground, centred at (x, y)."""
        half = len(line) * 3.3 + 3
        self.labels.append(f"<rect x='{x - half}' y='{y - 8}' width='{2 * half}' height='15' fill='#ffffff'/>")
        self.labels.append(
            f"<text x='{x}' y='{y + 3.5}' {FONT} font-size='11' text-anchor='middle' fill='#4a5568'>"
            f"{escape(line)}</text>"
        )

    def frame(self, x: float, y: float, width: float, height: float, text: str) -> None:
        """A dashed frame around a part, named at its upper left; draw it before what it holds."""
        self.shapes.append(
            f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='10' fill='#ffffff' stroke='#a0aec0' "
            "stroke-dasharray='6 4'/>"
        )
        self.text(x + 10, y + 17, text, anchor="start", bold=True)

    def chain(
        self,
        x: float,
        y: float,
        parts: list[tuple[str, str, int]],
        shapes: list[str],
        *,
        height: int = 54,
        gap: int = 78,
    ) -> list[Box]:
        """Boxes (text, kind, width) in a row, joined by arrows that carry `shapes`."""
        boxes: list[Box] = []
        for text, kind, width in parts:
            boxes.append(self.box(x, y, width, height, text, kind))
            x += width + gap
        for before, after, shape in zip(boxes, boxes[1:], shapes, strict=False):
            self.arrow(before.right(), after.left(), label=shape, lift=-11)
        return boxes

    def write(self, folder: Path) -> None:
        """Write the picture as <name>.svg, with its legend."""
        legend: list[str] = []
        x = 20.0
        for kind in (kind for kind in KINDS if kind in self.kinds):
            fill, border = KINDS[kind]
            y = self.height - 24
            legend.append(f"<rect x='{x}' y='{y}' width='14' height='14' rx='3' fill='{fill}' stroke='{border}'/>")
            legend.append(
                f"<text x='{x + 20}' y='{y + 11}' {FONT} font-size='11' fill='#4a5568'>{MEANING[kind]}</text>"
            )
            x += 34 + 7 * len(MEANING[kind])
        head = "<path d='M0,0 L9,3.5 L0,7 z' fill='#2d3748'/>"
        parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}'>",
            f"<defs><marker id='head' markerWidth='9' markerHeight='7' refX='8.5' refY='3.5' orient='auto' "
            f"markerUnits='userSpaceOnUse'>{head}</marker></defs>",
            f"<rect width='{self.width}' height='{self.height}' fill='#ffffff'/>",
            f"<text x='20' y='28' {FONT} font-size='15' font-weight='bold' fill='#1a202c'>{escape(self.title)}</text>",
            *self.shapes,
            *self.labels,
            *legend,
            "</svg>",
        ]
        (folder / f"{self.name}.svg").write_text("\n".join(parts) + "\n")


def _length(start: Point, end: Point) -> float:
    return abs(end[0] - start[0]) + abs(end[1] - start[1])
