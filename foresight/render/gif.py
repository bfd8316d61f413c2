"""Animations as GIF files, written from the format's definition (GIF89a) with numpy alone."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foresight.errors import ForesightError
from foresight.storage.files import write_whole

LONGEST_CODE = 12  # bits of an LZW code
LOOP_FOREVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
LEAVE_IN_PLACE = 1 << 2  # disposal: the next picture is drawn over this one
END = b"\x3b"


def write_gif(path: Path, frames: np.ndarray, seconds: float = 0.15, last_seconds: float = 1.5) -> None:
    """Write an endless animation of frames, uint8 [T, H, W, 3]; the last one stays a little longer."""
    write_whole(Path(path), format_gif(frames, seconds, last_seconds))


def format_gif(frames: np.ndarray, seconds: float = 0.15, last_seconds: float = 1.5) -> bytes:
    """The bytes of a GIF file of frames, uint8 [T, H, W, 3], of up to 256 colours together."""
    frames = np.asarray(frames)
    if frames.ndim != 4 or frames.shape[-1] != 3 or frames.dtype != np.uint8 or not frames.size:
        raise ForesightError(f"an animation needs uint8 [T, H, W, 3], not {frames.dtype} {list(frames.shape)}")
    palette, pixels = index_colours(frames)
    height, width = pixels.shape[1:]
    bits = max(2, (len(palette) - 1).bit_length())  # of a pixel; the format wants at least 2 for its codes
    table = np.zeros((1 << bits, 3), np.uint8)
    table[: len(palette)] = palette
    parts = [b"GIF89a", struct.pack("<HHBBB", width, height, 0xF0 | (bits - 1), 0, 0), table.tobytes(), LOOP_FOREVER]
    before = None
    for number, now in enumerate(pixels):
        hundredths = round(100 * (last_seconds if number == len(pixels) - 1 else seconds))
        parts += [format_frame(now, before, bits, hundredths)]
        before = now
    return b"".join([*parts, END])


def index_colours(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The colours that occur, uint8 [n, 3], and each pixel's number among them, uint8 [T, H, W]."""
    red, green, blue = (frames[..., channel].astype(np.uint32) for channel in range(3))
    colours, numbers = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
    if len(colours) > 256:
        raise ForesightError(f"an animation can have 256 colours, this one has {len(colours)}")
    palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    return palette, numbers.reshape(frames.shape[:3]).astype(np.uint8)


def format_frame(now: np.ndarray, before: np.ndarray | None, bits: int, hundredths: int) -> bytes:
    """One frame: only the rectangle that changed since the one before."""
    top, left, bottom, right = changed_rectangle(now, before)
    control = struct.pack("<4sHBB", bytes([0x21, 0xF9, 4, LEAVE_IN_PLACE]), hundredths, 0, 0)
    place = struct.pack("<BHHHHB", 0x2C, left, top, right - left, bottom - top, 0)
    data = compress(now[top:bottom, left:right].tobytes(), bits)
    blocks = b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
    return control + place + bytes([bits]) + blocks + b"\x00"


def changed_rectangle(now: np.ndarray, before: np.ndarray | None) -> tuple[int, int, int, int]:
    """Top, left, bottom and right of what differs; a single pixel where nothing does."""
    if before is None:
        return 0, 0, *now.shape
    rows, columns = np.nonzero(now != before)
    if not len(rows):
        return 0, 0, 1, 1
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def compress(pixels: bytes, bits: int) -> bytes:
    """LZW with codes that grow from `bits` + 1 to 12 bits, lowest bit first."""
    packed = bytearray()
    pending = filled = 0
    for code, width in lzw_codes(pixels, bits):
        pending |= code << filled
        filled += width
        while filled >= 8:
            packed.append(pending & 255)
            pending >>= 8
            filled -= 8
    return bytes(packed) + (bytes([pending]) if filled else b"")


def lzw_codes(pixels: bytes, bits: int) -> Iterator[tuple[int, int]]:
    """The codes of `pixels` and their widths in bits."""
    clear, end = 1 << bits, (1 << bits) + 1
    known: dict[tuple[int, int], int] = {}
    width, following = bits + 1, end + 1
    yield clear, width
    prefix = pixels[0]
    for pixel in pixels[1:]:
        if (prefix, pixel) in known:
            prefix = known[prefix, pixel]
            continue
        yield prefix, width
        if following == 1 << LONGEST_CODE:  # the table is full: forget it
            yield clear, width
            known, width, following = {}, bits + 1, end + 1
        else:
            known[prefix, pixel] = following
            width += following == 1 << width
            following += 1
        prefix = pixel
    yield prefix, width
    # The decoder adds an entry for that last code too, which may widen the end's.
    yield end, width + (following == 1 << width and width < LONGEST_CODE)
