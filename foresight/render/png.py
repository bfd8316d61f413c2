"""Write a picture as PNG with nothing but the standard library."""

import struct
import zlib
from pathlib import Path

import numpy as np

from foresight.storage.files import write_whole

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BIT_RGB = bytes([8, 2, 0, 0, 0])


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Write pixels, uint8 [H, W, 3]."""
    write_whole(Path(path), format_png(pixels))


def format_png(pixels: np.ndarray) -> bytes:
    """The bytes of a PNG file of pixels, uint8 [H, W, 3]."""
    height, width, _ = pixels.shape
    unfiltered = np.zeros((height, 1 + 3 * width), np.uint8)  # each row starts with its filter's number, 0
    unfiltered[:, 1:] = pixels.reshape(height, 3 * width)
    parts = [
        (b"IHDR", struct.pack(">II", width, height) + EIGHT_BIT_RGB),
        (b"IDAT", zlib.compress(unfiltered.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    """One part of the file, with its length and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
