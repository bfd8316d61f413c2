"""What a training run loses beside the page: its speed with and without visitors, by turns.

python -m tests.web.beside --train-core 3 --cores 0,1

The run has a core of its own and the server others. Windows without and with visitors follow each other again and
again, so that a machine that grows slower or faster weighs on both alike; the loss is the mean over pairs of windows.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.web.load import Record, Visitor, serving, visit

TRAIN = "-m foresight train sokoban --preset quick --steps 1e9 --iterations-per-call 10 --out".split()


def speed(metrics: Path, seconds: float) -> float:
    """Steps a second, from the first change of the count in a window to the last, of which there are three at least."""
    end, seen = time.monotonic() + seconds, []
    while time.monotonic() < end or len(seen) < 4:
        steps = json.loads(metrics.read_bytes().splitlines()[-1])["steps"]
        if not seen or steps != seen[-1][1]:
            seen.append((time.monotonic(), steps))
        time.sleep(0.05)
    (first, steps), (last, more) = seen[1], seen[-1]  # the very first count was there when the window began
    return (more - steps) / (last - first)


async def speed_beside(
    port: int, process: int, metrics: Path, options: argparse.Namespace, turn: int
) -> tuple[float, Record]:
    """The same with visitors, once they are all there: in each turn others, whose games are not yet known."""
    seed, seconds = 1000 * turn, options.seconds + 6
    visitors = asyncio.create_task(visit(port, process, options.viewers, options.players, seconds, seed=seed))
    await asyncio.sleep(6)
    beside = await asyncio.to_thread(speed, metrics, options.seconds - 1)
    return beside, await visitors


def measure(options: argparse.Namespace, folder: Path) -> dict:
    """Speeds by turns, and what is lost in the mean with its 95 % interval over pairs."""
    command = ["taskset", "-c", options.train_core, sys.executable, *TRAIN, str(folder / "run")]
    metrics = folder / "run" / "metrics.jsonl"
    before, alone, beside, waits = ("taskset", "-c", options.cores), [], [], []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
        try:
            with serving(before=before) as (port, process):
                asyncio.run(Visitor(port, Record(), random.Random(0)).look_at_all_games())
                while not metrics.exists() or len(metrics.read_bytes().splitlines()) < 4:
                    time.sleep(0.5)
                for turn in range(options.rounds):
                    alone.append(speed(metrics, options.seconds))
                    rate, record = asyncio.run(speed_beside(port, process, metrics, options, turn))
                    beside.append(rate)
                    waits.append(round(1000 * record.slowest(), 1))
        finally:
            training.kill()
    return report(alone, beside) | {"p99_ms": waits}


def report(alone: list[float], beside: list[float]) -> dict:
    losses = 100 * (1 - np.array(beside) / np.array(alone))
    spread = 1.96 * losses.std(ddof=1) / len(losses) ** 0.5 if len(losses) > 1 else float("nan")
    return {
        "alone": [round(rate) for rate in alone],
        "beside": [round(rate) for rate in beside],
        "loss_percent": round(float(losses.mean()), 2),
        "ci95": [round(float(losses.mean() + side * spread), 2) for side in (-1, 1)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.web.beside")
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--players", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=35)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", required=True, help="those that the server runs on, as taskset takes them")
    parser.add_argument("--train-core", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(vars(options) | measure(options, Path(folder)), indent=1))


if __name__ == "__main__":
    main()
