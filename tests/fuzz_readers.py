"""Fuzzes every reader, guided by coverage, in several processes: `python -m tests.fuzz_readers OUT --count 1e7`.

The numbers so far are in OUT/summary.json at any time; see `tests/guided.py` for what else is in OUT.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.readers import READERS

SLICE = 100_000  # inputs of one process; the next one begins with what all before it have found


def tallies(out: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted((out / "tallies").glob("*.json")):
        try:
            found.append(json.loads(path.read_text()))
        except ValueError:
            continue  # being written
    return found


def summary(out: Path) -> dict[str, Any]:
    """The numbers of all processes together, and by reader."""
    every = tallies(out)
    readers = {}
    for name in READERS:
        ours = [tally for tally in every if tally["reader"] == name]
        readers[name] = {
            "inputs": sum(tally["inputs"] for tally in ours),
            "rejected": sum(tally["rejected"] for tally in ours),
            "seconds": round(sum(tally["seconds"] for tally in ours), 1),
            "slowest": round(max((tally["slowest"] for tally in ours), default=0), 3),
            "mebibytes_more": max((tally["mebibytes"] - tally["mebibytes_before"] for tally in ours), default=0),
            "corpus": len(list((out / "corpus" / name).glob("*"))),
            "findings": sorted({what for tally in ours for what in tally["findings"]}),
        }
    return {"inputs": sum(tally["inputs"] for tally in every), "readers": readers}


def fuzz_all(out: Path, count: int, processes: int, seconds: float) -> dict[str, Any]:
    """Fuzz until there were `count` inputs, the readers by turns, or so many seconds have passed."""
    end, turns, lock = time.monotonic() + seconds, itertools.count(1), threading.Lock()
    (out / "logs").mkdir(parents=True, exist_ok=True)

    def work() -> None:
        while time.monotonic() < end and sum(tally["inputs"] for tally in tallies(out)) < count:
            with lock:
                turn = next(turns)
            name = list(READERS)[turn % len(READERS)]
            inputs = max(1000, min(SLICE, count // len(READERS)))
            command = [sys.executable, "-m", "tests.guided", name, str(out), str(turn), str(inputs)]
            with (out / "logs" / f"{name}.txt").open("ab") as log:
                child = subprocess.Popen(command, stdout=log, stderr=subprocess.DEVNULL, env=dict(os.environ))
                try:
                    status = child.wait(max(1, end - time.monotonic()))
                    log.write(f"turn {turn}: status {status}\n".encode())
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()

    workers = [threading.Thread(target=work) for _ in range(processes)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(1)
        (out / "summary.json").write_text(json.dumps(summary(out), indent=1))
    return summary(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=float, default=1e7)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=24 * 3600)
    given = parser.parse_args()
    print(json.dumps(fuzz_all(given.out, int(given.count), given.processes, given.seconds), indent=1))
