"""The page as one file of recorded episodes that opens without a server: for a talk, or a site of documentation."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from foresight.storage.files import write_whole
from foresight.web import jobs
from foresight.web.episodes import play
from foresight.web.library import CURATED, Library
from foresight.web.maps import play_maps
from foresight.web.opening import FOLDER
from foresight.web.parsing import MOST_THINKING, read_request

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) )", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:const|function|class) (\w+)", re.MULTILINE)
MOST_BYTES = 1 << 20  # of the maps of a game, before they are packed: 36 looks of a DRC(3,3) on 10x10 squares
POLICY = "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"


def export(folder: Path) -> Path:
    """Record the levels where thinking helps, with and without, and write the page as `index.html` in a folder."""
    library = Library()
    recorded = record(library, CURATED[0])
    path = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, page_of(recorded).encode())
    return path


def record(library: Library, curated: dict[str, Any]) -> dict[str, Any]:
    """Answers by request, as the page asks for them."""
    name, levels = curated["agent"], curated["set"]
    sets = [about for about in library.describe_sets() if about["name"] == levels]
    agents = [about for about in library.describe_agents() if about["name"] == name]
    start = {"agents": agents, "first": name, "sets": sets, "curated": [curated], "most_thinking": MOST_THINKING}
    answers: dict[str, Any] = {"api/start": start, f"api/agents/{name}": library.describe_mind(name)}
    for level in curated["levels"]:
        board = jobs.describe_board(library.board(levels, level), None)
        answers[f"api/levels?set={levels.replace('/', '%2F')}&index={level}"] = board
        for think in (0, curated["think"]):
            asked = {"agent": name, "set": levels, "level": level, "think": think}
            body, request = json.dumps(asked, separators=(",", ":")), read_request(library, asked)  # as JSON.stringify
            answers[f"api/episode {body}"] = finish(play(request))
            if think:
                answers[f"api/maps {body}"] = finish(play_maps(request, MOST_BYTES))
    return answers


def finish(job: Any) -> Any:
    """What a job returns."""
    while True:
        try:
            next(job)
        except StopIteration as ended:
            return ended.value


def page_of(recorded: dict[str, Any]) -> str:
    """The page with its styles, its script and the recorded answers inside."""
    folder = FOLDER / "static"
    script = bundle(folder, "main.js")
    policy = POLICY.format(digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode())
    icon = "data:image/svg+xml;base64," + base64.b64encode((folder / "icon.svg").read_bytes()).decode()
    data = json.dumps(recorded, separators=(",", ":")).replace("<", "\\u003c")
    page = (folder / "index.html").read_text().replace("static/icon.svg", icon)
    style = f"<style>{(folder / 'style.css').read_text()}</style>"
    page = page.replace('<link rel="stylesheet" href="static/style.css">', style)
    page = page.replace('<script type="module" src="static/main.js"></script>\n', "")
    page = page.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>', 1)
    inside = f'<script type="application/json" id="recorded">{data}</script>\n<script>{script}</script>\n</body>'
    return page.replace("</body>", inside)


def bundle(folder: Path, first: str) -> str:
    """A module and those it imports as one plain script: browsers load no modules from files."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        text = (folder / name).read_text()
        for _, other in IMPORT.findall(text):
            if other not in done:
                add(other)
        exported = EXPORTED.findall(text)
        text = IMPORT.sub(lambda found: f'const {{{found[1]}}} = modules["{found[2]}"];', text)
        text = EXPORT.sub("", text)
        done[name] = f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}})();'

    add(first)
    return '"use strict";\nconst modules = {};\n' + "\n".join(done.values())
