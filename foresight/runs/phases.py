"""Phases of a run: stretches in which environments, minibatch, learning rate or levels are others than before.

A phase is written as `until=5e7 minibatch=128 learning_rate=1e-3 levels=A:0.5,B:0.5`: it ends when so many steps of the
run, or such a share of them as in `until=20%`, are done, the last phase with the run. What a phase changes holds for
those after it too. The learning rate has one shape over the whole run, constant at first and then falling; a phase's
`learning_rate` is what that shape starts from.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings

OF_THE_RUN = (  # not for a phase to change
    "anneal_steps",
    "anneal_hold",
    "anneal_power",
    "average_steps",
    "non_finite",
    "time_limit",
)


@dataclass(frozen=True)
class PhaseSettings(LearnSettings):
    """How to learn in a phase that is not the first, with what came before it."""

    iterations_before: int = 0
    gradient_steps_before: int = 0
    steps_before: int = 0

    @property
    def schedule_offset(self) -> int:
        """What the gradient steps taken lack, or have too many, as if all had been like this phase's."""
        return round(self.steps_before / self.steps_per_gradient_step) - self.gradient_steps_before

    def gradient_steps_at(self, iterations: Any) -> Any:
        """How many gradient steps have been taken after so many iterations of the run."""
        return (iterations - self.iterations_before) * self.gradient_steps_per_iteration + self.gradient_steps_before


class Phase(NamedTuple):
    """A stretch of a run: the iterations after `begin`, up to `end`."""

    begin: int
    end: int
    steps_before: int
    settings: LearnSettings
    levels: str | None  # None: the run's

    def steps_at(self, iterations: int) -> int:
        """Environment steps of the run after so many iterations of it."""
        return self.steps_before + (iterations - self.begin) * self.settings.steps_per_iteration


@lru_cache(maxsize=64)
def plan_phases(texts: tuple[str, ...], learn: LearnSettings, steps: float, per_call: int) -> tuple[Phase, ...]:
    """The phases of a run of so many steps, in whole calls of `per_call` iterations."""
    phases: list[Phase] = []
    begin, steps_before, gradient_steps, levels = 0, 0, 0, None
    for text in texts or ("",):
        is_last = len(phases) + 1 == max(1, len(texts))
        changed = parse_phase(text)
        until = until_of(changed.pop("until", None), text, steps, is_last)
        levels = changed.pop("levels", levels)
        learn = replace(learn, **changed)
        calls = int(-(-(until - steps_before) // (learn.steps_per_iteration * per_call)))
        if calls < 1:
            raise ForesightError(f"`phases` '{text}': the phase before it ends after {steps_before:,} steps already")
        before = {"iterations_before": begin, "gradient_steps_before": gradient_steps, "steps_before": steps_before}
        settings = PhaseSettings(**asdict(learn), **before) if phases else learn
        phases.append(Phase(begin, begin + calls * per_call, steps_before, settings, levels))
        begin, steps_before = phases[-1].end, phases[-1].steps_at(phases[-1].end)
        gradient_steps = settings.gradient_steps_at(begin)
    if learn.average_steps > steps_before:
        raise ForesightError(
            f"`average_steps` {learn.average_steps:,.0f} is more than the run's {steps_before:,}: "
            "the average would be of the weights that it begins with"
        )
    return tuple(with_length(phases, steps_before))


def with_length(phases: Sequence[Phase], whole_steps: int) -> list[Phase]:
    """The phases with the length of the run filled in, over which the learning rate falls."""
    return [
        phase._replace(settings=replace(phase.settings, anneal_steps=phase.settings.anneal_steps or float(whole_steps)))
        for phase in phases
    ]


def parse_phase(text: str) -> dict[str, Any]:
    """What a phase changes, by name."""
    known = {field.name: field.type for field in fields(LearnSettings) if field.name not in OF_THE_RUN}
    changed: dict[str, Any] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in {"until", "levels", *known}:
            names = ", ".join(["until", "levels", *known])
            raise ForesightError(f"`phases` '{text}': '{word}' is not NAME=VALUE with one of the names {names}")
        is_text = name == "levels" or (name == "until" and value.endswith("%"))
        changed[name] = value if is_text else number(text, word, value, whole=known.get(name) in ("int", int))
    return changed


def number(text: str, word: str, value: str, whole: bool) -> float | int:
    """The number in a word of a phase."""
    try:
        return int(value) if whole else float(value)
    except ValueError as error:
        raise ForesightError(f"`phases` '{text}': '{word}' needs a {'whole ' if whole else ''}number") from error


def until_of(until: float | str | None, text: str, steps: float, is_last: bool) -> float:
    """The steps of the run at which a phase ends, of a number or a share in per cent."""
    if isinstance(until, str):
        until = steps * number(text, f"until={until}", until.removesuffix("%"), whole=False) / 100
    if is_last and until not in (None, steps):
        raise ForesightError(f"`phases` '{text}': the last phase ends with the run, so without `until`")
    if not is_last and (until is None or not 0 < until < steps):
        raise ForesightError(
            f"`phases` '{text}': say when it ends, as until=5e7 or until=20%, before `steps` {steps:,.0f}"
        )
    return steps if is_last else until
