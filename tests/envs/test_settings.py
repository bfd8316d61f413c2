"""Settings of a domain come from command lines and files: each is of its kind, or rejected by its name."""

import math

import pytest

from foresight.envs import DOMAINS, env_class, make, settings_of
from foresight.errors import ForesightError

NEEDED = {"sokoban": {"levels": "builtin/mini-train"}}
STRANGE = ([[]], {"a": 1}, "\x1b", math.nan, math.inf, -math.inf, [1, 2, 3], 10**40, None)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_setting_takes_its_kind_or_is_rejected_by_name(domain):
    needed = NEEDED.get(domain, {})
    for name, parameter in settings_of(env_class(domain)).items():
        for value in STRANGE if name not in needed else ():
            if value is None and parameter.default is None:
                continue
            with pytest.raises(ForesightError) as rejected:
                make(domain, **needed, **{name: value})
            assert name in str(rejected.value).replace(" ", "_")


@pytest.mark.parametrize(
    ("domain", "settings", "message"),
    [
        ("boxworld", {"levels": "many"}, "boxworld's setting 'levels' is 'many'; expected a whole number"),
        ("boxworld", {"levels": 2.5}, "'levels' is 2.5; expected a whole number"),
        ("boxworld", {"seed": True}, "'seed' is True; expected something like 0"),
        ("minipacman", {"random_turn": "x"}, "'random_turn' is 'x'; expected a number"),
        ("minipacman", {"random_turn": math.nan}, "'random_turn' is nan; expected a number"),
    ],
)
def test_settings_of_another_kind_say_what_is_expected(domain, settings, message):
    with pytest.raises(ForesightError, match=message):
        make(domain, **settings)
