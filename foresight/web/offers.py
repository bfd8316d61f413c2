"""The agents that can be chosen on the page: those with a name, and those given, with others of their series."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foresight.errors import ForesightError
from foresight.runs.cards import SUFFIX, Card, agent_files, read_card
from foresight.runs.checkpoints import manifests_in
from foresight.runs.folder import read_run
from foresight.storage.headers import read_arrays


@dataclass(frozen=True)
class Offer:
    """An agent by what loads it; those of one series differ in how long they were trained."""

    model: str
    series: str
    steps: int | None = None
    domain: str | None = None
    summary: str = ""


def offers_of(given: Sequence[str]) -> dict[str, Offer]:
    """Every agent by the name that the page calls it: those that were given come last."""
    offers = {}
    for name, path in agent_files().items():
        card = read_card(path)
        offers[name] = of_card(name, card) if card else Offer(name, name)
    for model in given:
        offers |= offers_of_model(model)
    return offers


def of_card(name: str, card: Card) -> Offer:
    """An agent with a card: in a series with others of its network and domain."""
    return Offer(name, f"{card.domain} {card.network}", card.steps, card.domain, card.summary)


def offers_of_model(model: str) -> dict[str, Offer]:
    """A model; of a run folder each older checkpoint that is there too, as NAME@STEPS; of a folder of agents each."""
    files = files_in(model)
    if files:
        return {path.stem: Offer(str(path), name_of(model), steps) for steps, path in files}
    name = name_of(model)
    steps = steps_kept(model)
    older = {f"{name}@{count}": Offer(f"{model}@{count}", name, count) for count in steps[:-1]}
    return older | {name: Offer(model, name, steps[-1] if steps else None)}


def first_name(model: str) -> str:
    """The agent that the page begins with where a model is given: the one trained longest."""
    return list(offers_of_model(model))[-1]


def name_of(model: str) -> str:
    """What the page calls a model."""
    return Path(model).name or model


def files_in(model: str) -> list[tuple[int, Path]]:
    """The agents' files of a folder with the steps they were trained, in order; none of anything else."""
    files = Path(model).glob(f"*{SUFFIX}") if Path(model).is_dir() else ()
    return sorted((int(read_arrays(path).metadata.get("steps") or 0), path) for path in files)


def steps_kept(model: str) -> list[int]:
    """The steps of the checkpoints of a run folder, in order; none of anything else."""
    try:
        return sorted({manifest.steps for manifest in manifests_in(read_run(Path(model)).checkpoints)})
    except (ForesightError, OSError):
        return []
