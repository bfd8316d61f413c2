"""How long training takes on this kind of device: estimates from docs/results/nets-speed.md and cpu-speed.md."""

import jax

from foresight.paper.study import Results, Study, steps_missing
from foresight.runs.config import NetSettings, RunConfig

TRAINED = {  # frames/s of a training loop for each frame/s of DRC below, which were measured
    "gpu": 0.5,  # a training loop plays as well: 140,000 of 297,000 then
    "cpu": 399 / 177,  # though it plays: both cores are used and its gradients are faster since
}
FASTER = {  # since then: training on Sokoban on a GPU (docs/results/h200-speed.md), gradients on a CPU
    "drc": (204_914 / 148_698, 1.35),
    "lstm": (220_604 / 80_672, 1.31),
    "cnn": (334_049 / 268_397, 2.49),
    "resnet": (90_786 / 78_668, 3.07),
    "vin": (238_020 / 135_065, 1.39),
    "atreec": (612_441 / 438_645, 1.03),
}
LAYERS = 9  # depth x ticks of the recurrent networks that were measured
MEASURED = {  # frames/s forward and backward: one H200, minibatches of 64; two CPU cores, of 16 or the largest measured
    ("drc", "sokoban"): (297_395, 177),
    ("drc", "boxworld"): (198_904, 93),
    ("drc", "minipacman"): (129_088, 58),
    ("drc", "gridworld"): (112_609, 51),
    ("drc", "atari"): (154_735, 72),
    ("lstm", "sokoban"): (161_344, 1_039),
    ("lstm", "atari"): (118_000, 187),
    ("cnn", "sokoban"): (536_793, 190),
    ("cnn", "gridworld"): (144_112, 36),
    ("resnet", "sokoban"): (157_336, 38),
    ("resnet", "boxworld"): (275_839, 93),
    ("resnet", "minipacman"): (247_166, 157),
    ("vin", "sokoban"): (270_129, 612),
    ("vin", "gridworld"): (15_447, 7.3),
    ("atreec", "sokoban"): (877_290, 750),
    ("i2a", "sokoban"): (21_570, 8.8),
}
DEVICES = {"gpu": 0, "cpu": 1}


def device_kind() -> str:
    """What this machine trains on: cpu, gpu or another."""
    return jax.default_backend()


def frames_per_second(config: RunConfig, device: str) -> float | None:
    """About how fast such a run is trained; None where nothing like it was measured, as at toy size."""
    net = config.net.net
    speeds = MEASURED.get((net, config.domain))
    if speeds is None or device not in DEVICES or config.net.features is not None:
        return None
    gpu, cpu = FASTER.get(net, (1.0, 1.0))
    faster = gpu if device == "gpu" else cpu / FASTER["drc"][1]
    return TRAINED[device] * faster * speeds[DEVICES[device]] * LAYERS / layers(config.net)


def layers(net: NetSettings) -> int:
    """How many modules a recurrent network passes in a time-step, LAYERS for others."""
    return net.depth * net.ticks if net.depth and net.ticks else LAYERS


def seconds_left(study: Study, results: Results, device: str) -> float | None:
    """About how long the training that is missing takes; None where it is not known."""
    missing = steps_missing(study, results, study.steps, study.seeds)
    times = []
    for spec in study.runs:
        speed = frames_per_second(spec.config, device)
        if missing[spec.label] and speed is None:
            return None
        times.append(missing[spec.label] / speed if missing[spec.label] else 0.0)
    return round(sum(times))
