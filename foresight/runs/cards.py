"""Model cards: what an agent is, how it came to be, what it scores and where it ends. No jax in here."""

import json
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from foresight.errors import ForesightError, did_you_mean
from foresight.storage.cache import cache_folder
from foresight.storage.files import read_at_most

SUFFIX = ".safetensors"
CARD = ".json"  # a card has the name of the agent's file with this suffix
LARGEST_CARD = 1 << 20  # bytes
RULE = "|---|---|---|---|---|"
SHIPPED = Path(str(files("foresight"))) / "agents"  # trained agents that come with the package


@dataclass(frozen=True)
class Score:
    """One evaluation: every level of a set, or so many episodes, greedy."""

    levels: str  # the set, or the domain where it draws its own levels
    think: int
    count: int
    solved_percent: float | None  # None where nothing can be solved and the score counts
    ci95: tuple[float, float]
    command: str = ""  # what measures it again
    score_mean: float | None = None  # of an episode, where `solved_percent` is None

    @property
    def value(self) -> float:
        """Levels solved in percent, or the mean score."""
        return self.score_mean if self.solved_percent is None else self.solved_percent


@dataclass(frozen=True)
class Card:
    """What is known of an agent."""

    name: str
    domain: str
    network: str
    steps: int  # environment steps it was trained for
    summary: str
    training: dict[str, str] = field(default_factory=dict)  # lineage, commands, data, device time, by their headings
    scores: tuple[Score, ...] = ()
    limits: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values; a score says what it has alone."""
        values = asdict(self)
        values["scores"] = [{name: x for name, x in score.items() if x is not None} for score in values["scores"]]
        return json.loads(json.dumps(values))


def agent_files() -> dict[str, Path]:
    """Every agent with a name, and its file: those that come with the package, then those fetched or imported."""
    found: dict[str, Path] = {}
    for folder in (SHIPPED, cache_folder("agents")):
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            found.setdefault(path.stem, path)
    return found


def agent_file(name: str) -> Path:
    """The file of an agent by its name."""
    known = agent_files()
    if name not in known:
        meant = did_you_mean(name, known)
        raise ForesightError(f"there is no agent '{name}'{meant}; there are: {', '.join(known)}")
    return known[name]


def read_card(path: Path) -> Card | None:
    """The card beside an agent's file, None where there is none."""
    card = path.with_suffix(CARD)
    return card_of(json_of(read_at_most(card, LARGEST_CARD), card), str(card)) if card.exists() else None


def json_of(content: bytes, path: Path) -> Any:
    """A JSON document, or an error that names its file."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ForesightError(f"{path} is not JSON: {error}") from error


def card_of(values: Any, where: str) -> Card:
    """A card from plain values."""
    try:
        scores = tuple(map(score_of, values["scores"]))
        card = Card(**values | {"scores": scores, "limits": tuple(values.get("limits", ()))})
        for record in (card, *scores):
            check_kinds(record)
        return card
    except (TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
        raise ForesightError(f"{where} is not a model card: {error}") from error


def score_of(values: Any) -> Score:
    """A score from plain values, which are of levels solved or of a mean score."""
    score = Score(**{"solved_percent": None} | values | {"ci95": (float(values["ci95"][0]), float(values["ci95"][1]))})
    if (score.solved_percent is None) == (score.score_mean is None):
        raise ValueError("a score has either 'solved_percent' or 'score_mean'")
    return score


def check_kinds(record: Card | Score) -> None:
    """Raise TypeError for a field that is not what it should be: a text, a number, texts by name, or several texts."""
    kinds = {str: str, int: int, float: int | float, float | None: int | float | None}
    for each in fields(record):
        value = getattr(record, each.name)
        if each.type in kinds and (not isinstance(value, kinds[each.type]) or isinstance(value, bool)):
            raise TypeError(f"its '{each.name}' is not a {'text' if each.type is str else 'number'}")
        if each.name == "training" and not isinstance(value, dict):
            raise TypeError("its 'training' is not texts by name")
        if not all(map(can_be_shown, texts_of(each.name, value))):
            raise TypeError(f"its '{each.name}' holds something else than texts that can be shown")


def texts_of(name: str, value: Any) -> tuple[Any, ...]:
    """What should be texts in a field of a card."""
    several = {"training": lambda: (*value, *value.values()), "limits": lambda: value}
    return several[name]() if name in several else (value,) if isinstance(value, str) else ()


def can_be_shown(text: Any) -> bool:
    """Whether something is a text without control characters, which could do things to a terminal."""
    return isinstance(text, str) and text.replace("\n", "").isprintable()


def format_card(card: Card) -> str:
    """A card as Markdown."""
    lines = [f"# {card.name}", "", card.summary, ""]
    about = {"Domain": card.domain, "Network": card.network, "Environment steps": f"{card.steps:,}"} | card.training
    lines += [f"- {heading}: {text}" for heading, text in about.items()]
    if card.scores:
        lines += ["", "## Scores", "", *score_lines(card.scores)]
        commands = dict.fromkeys(score.command for score in card.scores if score.command)
        lines += ["", "To measure the weights that are stored:", "", *(f"    {command}" for command in commands)]
    if card.limits:
        lines += ["", "## Limits", "", *(f"- {limit}" for limit in card.limits)]
    return "\n".join(lines)


def score_lines(scores: tuple[Score, ...]) -> list[str]:
    """Scores as a table in Markdown, of levels solved and of mean scores each their own."""
    solved = [score for score in scores if score.solved_percent is not None]
    scored = [score for score in scores if score.solved_percent is None]
    lines = []
    if solved:
        lines += ["Greedy play, each level once. The interval is Wilson's, 95 %.", ""]
        lines += ["| levels | how many | thinking steps | solved % | interval |", RULE, *map(score_row, solved)]
    if scored:
        lines += [""] * bool(solved) + ["Greedy play of whole episodes. The interval is Student's, 95 %.", ""]
        lines += ["| levels | episodes | thinking steps | mean score | interval |", RULE, *map(score_row, scored)]
    return lines


def score_row(score: Score) -> str:
    """One row of the table."""
    low, high = score.ci95
    return f"| {score.levels} | {score.count:,} | {score.think} | {score.value:.2f} | {low:.2f} to {high:.2f} |"
