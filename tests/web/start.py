"""How soon `foresight serve` is there: seconds from the command to the page, to an answer, and to the first game.

python -m tests.web.start
"""

import json
import time
import urllib.request

from tests.web.load import AGENT, CURATED, SET, serving


def time_start() -> dict[str, float]:
    """Start the command as a process, and note when what is there."""
    started, noted = time.monotonic(), {}
    with serving() as (port, _):
        address = f"http://127.0.0.1:{port}/"
        noted["address"] = time.monotonic() - started
        for name, path in (("page", ""), ("loaded", "api/start")):
            fetch(f"{address}{path}")
            noted[name] = time.monotonic() - started
        for name, level in (("first game", CURATED[0]), ("second game", CURATED[1])):
            asked = time.monotonic()
            game = fetch(f"{address}api/episode", {"agent": AGENT, "set": SET, "level": level, "think": 4})
            noted[name] = time.monotonic() - started
        noted["a move of the second game"] = (time.monotonic() - asked) / len(json.loads(game)["actions"])
    return {name: round(seconds, 3) for name, seconds in noted.items()}


def fetch(address: str, body: dict | None = None) -> bytes:
    """What an address answers."""
    with urllib.request.urlopen(address, body and json.dumps(body).encode(), timeout=120) as answer:
        return answer.read()


if __name__ == "__main__":
    print(json.dumps(time_start()))
