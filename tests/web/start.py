"""How soon `foresight serve` is there: seconds from the command to the page, to an answer, and to the first game.

python -m tests.web.start
"""

import json
import subprocess
import sys
import time
import urllib.request

from tests.web.load import AGENT, CURATED, SET


def time_start() -> dict[str, float]:
    """Start the command as a process, and note when what is there."""
    started, noted = time.monotonic(), {}
    process = subprocess.Popen(
        [sys.executable, "-m", "foresight", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = process.stdout.readline().split()[-1]
        noted["address"] = time.monotonic() - started
        urllib.request.urlopen(address, timeout=60).read()
        noted["page"] = time.monotonic() - started
        urllib.request.urlopen(f"{address}api/start", timeout=60).read()
        noted["loaded"] = time.monotonic() - started
        for name in ("first game", "second game"):
            body = {"agent": AGENT, "set": SET, "level": CURATED[len(noted) % 2], "think": 4}
            asked = time.monotonic()
            answer = urllib.request.urlopen(f"{address}api/episode", json.dumps(body).encode(), timeout=120).read()
            looks = len(json.loads(answer)["actions"])
            noted[name] = time.monotonic() - started
        noted["a move of the second game"] = (time.monotonic() - asked) / looks
        return {name: round(seconds, 3) for name, seconds in noted.items()}
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    print(json.dumps(time_start()))
