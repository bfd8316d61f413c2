"""What an agent's modules hold while it plays: each channel of each layer as a map of the board, at every tick."""

import base64
import zlib
from collections.abc import Generator
from typing import Any

import numpy as np

from foresight.insight.labels import CLASS_NAMES
from foresight.web.episodes import Request, play_whole
from foresight.web.library import Mind
from foresight.web.problems import Problem

STEPS = 15  # of colour, on either side of 0
MOST_BYTES = 8 << 20  # before they are packed; of a longer game the first looks


def play_maps(request: Request, most_bytes: int = MOST_BYTES) -> Generator[None, None, dict[str, Any]]:
    """The maps of an episode in plain values, one stretch of time-steps a slice."""
    mind = request.mind
    if not mind.has_maps:
        raise Problem(422, f"what {mind.name} holds has no places on the board: there are no maps to show")
    episode = yield from play_whole(request, mind.keep_maps)
    held = episode.activations[mind.of]  # [T, N, D, H, W, C]
    held = held[: max(1, most_bytes // held[0].size)]
    yield
    looks, ticks, layers, height, width, channels = held.shape
    spread = np.abs(held).max((0, 1, 3, 4))  # of each channel over the game: its colours mean the same at every look
    codes = STEPS + np.rint(STEPS * held / np.maximum(spread, 1e-6)[:, None, None, :]).astype(np.int8)
    codes = np.moveaxis(codes, -1, 3).astype(np.uint8)  # [T, N, D, C, H, W]
    yield
    return {
        "of": mind.of,
        "looks": looks,
        "ticks": ticks,
        "layers": layers,
        "channels": channels,
        "height": height,
        "width": width,
        "steps": STEPS,
        "spread": np.round(spread.astype(np.float64), 3).tolist(),
        "read_most": read_most(mind, held),
        "maps": base64.b64encode(zlib.compress(codes.tobytes(), 6)).decode(),
    }


def read_most(mind: Mind, held: np.ndarray) -> list[list[Any]]:
    """For each layer, concept and direction the channel that the 1x1 probe tells it from the others by most, as a row.

    A row is layer, channel, concept, direction and the sign with which the channel speaks for it.
    """
    rows = []
    for probe in (probe for probe in mind.probes if probe.kernel == 1 and probe.of == mind.of):
        weights, sizes = probe.weights[0, 0].mean((1, 2)), held[:, :, probe.layer].std((0, 1, 2, 3))
        for direction in range(1, weights.shape[1]):
            against = weights[:, direction] - weights[:, 1:].mean(1)
            channel = int(np.argmax(np.abs(against) * sizes))
            sign = 1 if against[channel] > 0 else -1
            rows.append([probe.layer, channel, probe.concept, CLASS_NAMES[direction], sign])
    return rows
