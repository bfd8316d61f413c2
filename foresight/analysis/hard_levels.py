"""Choose the built-in set of hard levels: `python -m foresight.analysis.hard_levels --out FILE`.

Generated levels whose shortest solutions are long are played twice by a shipped agent: at once, and after time to
think. The set holds those that it does not solve both times, whichever of the two failed, so that the choice itself
favours neither way of playing.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from foresight.errors import ForesightError
from foresight.evaluation.solve import PlaySettings
from foresight.levels import LevelSet, write_set
from foresight.levels.generator.generate import generate
from foresight.levels.naming import BUILTIN
from foresight.levels.operations import take
from foresight.runs.agents import load_agents
from foresight.runs.evaluate import evaluate
from foresight.storage.files import check_writable


@dataclass(frozen=True)
class Choice:
    """Which levels are looked at, and what makes one hard."""

    count: int = 16_000  # generated
    seed: int = 19
    boxes: int = 4
    size: int = 10
    states: int = 20_000  # of the reverse play: more than usual give starts that are farther away
    moves: tuple[int, int] = (45, 120)  # of a shortest solution; an episode has 120
    agent: str = "drc33-100m"
    think: int = 8


def candidates(levels: LevelSet, choice: Choice) -> np.ndarray:
    """The places of the levels whose shortest solutions have the wanted number of moves."""
    from foresight.levels.generator.shortest import shortest_solution  # here, since it takes numba along

    least, most = choice.moves
    found = (shortest_solution(levels.cells(place)[0]) for place in range(len(levels)))
    return np.array([place for place, moves in enumerate(found) if moves is not None and least <= len(moves) <= most])


def played(levels: LevelSet, choice: Choice) -> np.ndarray:
    """Whether the agent solves each level at once and after thinking: bool [2, N]."""
    with TemporaryDirectory() as folder:
        write_set(levels, Path(folder) / "candidates.levels")
        (agent,) = load_agents(choice.agent, str(Path(folder) / "candidates.levels"))
        passes = (PlaySettings(max_steps=choice.moves[1], think=think) for think in (0, choice.think))
        return np.stack([evaluate(agent, settings).record.solved for settings in passes])


def chosen(solved: np.ndarray) -> np.ndarray:
    """The places of the levels that were not solved both times, given bool [2, N]."""
    return np.flatnonzero(~solved.all(0))


def described(choice: Choice, looked_at: int, solved: np.ndarray) -> str:
    """In words, how the set was chosen."""
    at_once, thinking = solved.sum(1)
    return (
        f"{looked_at:,} of them have shortest solutions of {choice.moves[0]} to {choice.moves[1]} moves; of these"
        f" {choice.agent} (greedy, {choice.moves[1]} steps) solves {at_once:,} at once and {thinking:,} after"
        f" {choice.think} thinking steps; kept are those it does not solve both times"
    )


def choose(choice: Choice) -> LevelSet:
    """Generate, play and choose."""
    made = generate(choice.count, choice.boxes, choice.size, choice.seed, symmetries=True, states=choice.states).levels
    hard = made.at(candidates(made, choice))
    solved = played(hard, choice)
    change = f"{choice.count:,} levels; {described(choice, len(hard), solved)}"
    levels = take(hard, chosen(solved), f"{BUILTIN}hard", change)
    return replace(levels, records=np.ascontiguousarray(levels.records))


def main() -> None:
    """Write the set and say how it was chosen."""
    parser = argparse.ArgumentParser(description="Choose hard levels by playing them.")
    parser.add_argument("--out", type=Path, required=True, help="the packed file to write")
    parser.add_argument("--count", type=int, default=Choice.count, help="how many levels to generate")
    options = parser.parse_args()
    check_writable(options.out)
    levels = choose(replace(Choice(), count=options.count))
    write_set(levels, options.out)
    print(f"{levels.name}: {len(levels):,} levels, digest {levels.digest}\n{levels.source}")


if __name__ == "__main__":
    try:
        main()
    except ForesightError as error:
        raise SystemExit(f"error: {error}") from None
