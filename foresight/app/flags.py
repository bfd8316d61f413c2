"""Settings as the command line spells them."""

import re

SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")  # how messages of the library write the name of a setting


def with_flags(message: str) -> str:
    """A message in which every setting that is named, as in `num_envs`, is the option that sets it: --num-envs."""
    return SETTING.sub(lambda found: f"--{found[1].replace('_', '-')}", message)
