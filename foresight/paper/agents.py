"""The agents of the paper's studies: one place that says how each is trained, so that studies share runs."""

from dataclasses import replace

from foresight.paper.study import FRESH, RunSpec, Trial
from foresight.runs.config import RunConfig
from foresight.runs.presets import preset

TRAIN, VALID = "unfiltered-train", "unfiltered-valid"
LEARNING: dict[tuple[str, str], dict[str, float]] = {  # what is tuned for one network in one domain
    ("gridworld", "cnn"): {"learning_rate": 4e-4},
    ("gridworld", "vin"): {"learning_rate": 1e-3},
}
FLOAT32 = {("gridworld", "vin")}


def agent(
    domain: str,
    net: str,
    depth: int | None = None,
    ticks: int | None = None,
    *,
    levels: str | None = None,
    net_set: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
    recipe: str = "default",
) -> RunConfig:
    """The settings of one agent: a preset in its domain, and what is tuned for its network."""
    base = preset(recipe, domain, net)
    settings = replace(base.net, depth=depth, ticks=ticks, net_set=net_set)
    if (domain, net) in FLOAT32:
        settings = replace(settings, dtype="float32")
    learn = replace(base.learn, **LEARNING.get((domain, net), {}))
    env_settings = replace(base.env, levels=levels or base.env.levels, env=env)
    return replace(base, net=settings, learn=learn, env=env_settings)


def sokoban(net: str, depth: int | None = None, ticks: int | None = None, **settings) -> RunConfig:
    """A network on Sokoban, on the unfiltered training levels where no others are named."""
    return agent("sokoban", net, depth, ticks, **({"levels": TRAIN} | settings))


def on_sokoban(
    label: str,
    net: str,
    depth: int | None = None,
    ticks: int | None = None,
    tests: tuple[Trial, ...] = (Trial(VALID),),
    eval_levels: str = VALID,
    most_seeds: int | None = None,
    **settings,
) -> RunSpec:
    """An agent of a study on Sokoban, watched on held-out levels during training and tested on all of them."""
    config = sokoban(net, depth, ticks, **settings)
    return RunSpec(label, config, tests, eval_levels=eval_levels, most_seeds=most_seeds)


def elsewhere(
    domain: str, label: str, net: str, depth: int | None = None, ticks: int | None = None, **settings
) -> RunSpec:
    """An agent of a study in a domain that makes its own levels."""
    count = {"minipacman": 512, "atari": 32}.get(domain, 10_000)
    tests = settings.pop("tests", (Trial(None, count=count),))
    return RunSpec(label, agent(domain, net, depth, ticks, **settings), tests)


def three_networks(domain: str) -> tuple[RunSpec, ...]:
    """The networks that the paper compares in domains other than Sokoban and Gridworld."""
    return (
        elsewhere(domain, "DRC(3,3)", "drc", 3, 3),
        elsewhere(domain, "DRC(1,1)", "drc", 1, 1),
        elsewhere(domain, "ResNet", "resnet"),
    )


DRC33 = on_sokoban("DRC(3,3)", "drc", 3, 3)
LITERAL = on_sokoban("DRC(3,3), preset paper", "drc", 3, 3, recipe="paper", most_seeds=1)
DRC11 = on_sokoban("DRC(1,1)", "drc", 1, 1)
RESNET = on_sokoban("ResNet", "resnet")
CNN = on_sokoban("CNN", "cnn")
I2A = on_sokoban("I2A", "i2a", most_seeds=1)
LSTM33 = on_sokoban("LSTM(3,3)", "lstm", 3, 3)
LSTM11 = on_sokoban("LSTM(1,1)", "lstm", 1, 1)
ATREEC = on_sokoban("ATreeC", "atreec")
VIN = on_sokoban("VIN", "vin")

GRIDWORLD = (
    elsewhere("gridworld", "DRC(3,3)", "drc", 3, 3),
    elsewhere("gridworld", "VIN", "vin"),
    elsewhere("gridworld", "CNN", "cnn"),
)

SIZES = {"900k": TRAIN, "10k": f"{TRAIN}[:10000]", "1k": f"{TRAIN}[:1000]"}
BOXWORLD_SIZES = {"22k": 22_000, "5k": 5_000, "800": 800}


def by_train_size() -> tuple[RunSpec, ...]:
    """DRC(3,3) and DRC(1,1), each on three training sets, tested on those, on held-out and on medium levels."""
    return tuple(
        on_sokoban(
            f"{label}, {size}",
            "drc",
            side,
            side,
            tests=(Trial(levels, count=10_000), Trial(VALID, count=10_000), Trial("medium-valid", count=10_000)),
            levels=levels,
        )
        for label, side in (("DRC(3,3)", 3), ("DRC(1,1)", 1))
        for size, levels in SIZES.items()
    )


def boxworld_by_train_size() -> tuple[RunSpec, ...]:
    """DRC(3,3) and DRC(1,1) on three fixed sets of Boxworld levels, tested on those and on levels never seen."""
    return tuple(
        elsewhere(
            "boxworld",
            f"{label}, {size}",
            "drc",
            side,
            side,
            env=(f"levels={count}",),
            tests=(Trial(None, count=min(count, 10_000)), Trial(FRESH, count=10_000)),
        )
        for label, side in (("DRC(3,3)", 3), ("DRC(1,1)", 1))
        for size, count in BOXWORLD_SIZES.items()
    )
