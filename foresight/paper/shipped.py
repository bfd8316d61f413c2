"""What the cards of the agents that come with the package say, as numbers for figures and tables."""

from foresight.paper.measures import short
from foresight.paper.study import Cell
from foresight.runs.cards import SHIPPED, SUFFIX, Card, Score, read_card


def cards() -> list[Card]:
    """The cards of all agents of the package."""
    return [card for path in sorted(SHIPPED.glob(f"*{SUFFIX}")) if (card := read_card(path))]


def best_shipped(levels: str) -> Score | None:
    """The best score that an agent of the package has on a set, without thinking steps."""
    scores = [score for card in cards() for score in card.scores if (score.levels, score.think) == (levels, 0)]
    return max(scores, key=lambda score: score.solved_percent, default=None)


def name_of(card: Card) -> str:
    """An agent with the length of its training."""
    return f"{card.name}, {short(card.steps)} steps"


def by_levels(sets: dict[str, str]) -> list[Cell]:
    """Each agent with scores on several of the sets, without thinking steps: a cell for each, by its name here."""
    cells = []
    for card in cards():
        found = {score.levels: score for score in card.scores if score.think == 0}
        named = {x: found[levels] for x, levels in sets.items() if levels in found}
        if len(named) > 1:
            cells += [Cell(name_of(card), x, each.solved_percent, *each.ci95, seeds=1) for x, each in named.items()]
    return cells


def by_thinking(levels: str) -> list[Cell]:
    """Each agent with scores for several thinking times on the same levels of a set: a cell for each time."""
    cells = []
    for card in cards():
        scores = [score for score in card.scores if score.levels.partition("[")[0] == levels]
        count = max((score.count for score in scores if score.think), default=None)
        same = sorted((score for score in scores if score.count == count), key=lambda score: score.think)
        if len(same) > 1:
            cells += [Cell(name_of(card), float(each.think), each.solved_percent, *each.ci95, seeds=1) for each in same]
    return cells


def gained(cells: list[Cell], name: str) -> list[Cell]:
    """The most that each agent gains by thinking."""
    gains = []
    for series in dict.fromkeys(cell.series for cell in cells):
        mine = [cell for cell in cells if cell.series == series]
        first = next((cell.ours for cell in mine if cell.x == 0), None)
        if first is not None:
            gains.append(Cell(series, name, max(cell.ours for cell in mine) - first, seeds=1))
    return gains
