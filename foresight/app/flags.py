"""Settings as the command line spells them."""

import re
from dataclasses import fields
from functools import cache

from foresight.learning.settings import LearnSettings
from foresight.runs.config import DeviceSettings, EnvSettings, NetSettings, RunConfig
from foresight.runs.tracking import TrackSettings

SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")  # how messages of the library write a name
RECORDS = (RunConfig, EnvSettings, NetSettings, LearnSettings, DeviceSettings, TrackSettings)
OF_SEARCH = ("budget", "dead_squares", "memory", "method", "mixing", "no_cuts", "repeats", "restart_after", "sample",
             "shortest", "value_weight")  # fmt: skip
OF_COMMANDS = ("best", "cases", "compiler", "domains", "from_weights", "limit", "max_steps", "nets", "think")


def with_flags(message: str) -> str:
    """A message in which every setting that is named, as in `num_envs`, is the option that sets it: --num-envs."""
    return SETTING.sub(lambda found: as_flag(found[1]) if found[1] in settings() else found[0], message)


def as_flag(setting: str) -> str:
    """The option of a setting."""
    return f"--{setting.replace('_', '-')}"


@cache
def settings() -> frozenset[str]:
    """The names of all settings that an option of some command sets."""
    return frozenset(OF_COMMANDS + OF_SEARCH).union(*({each.name for each in fields(record)} for record in RECORDS))
