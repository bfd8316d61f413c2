"""The sizes at which studies are made: the full one, and a toy size that goes the same way on a CPU in minutes."""

from dataclasses import dataclass, replace

from foresight.nets import settings_of
from foresight.paper.study import FRESH, RunSpec, Study, Trial
from foresight.runs.config import NetSettings, RunConfig
from foresight.runs.presets import preset

OURS = "builtin/"
SMALL_BOARDS = ("size=10", "sides=[2,3]", "obstacles=[3,6]")


@dataclass(frozen=True)
class Toy:
    """A toy size: few steps of small networks, on levels that come with the package."""

    steps: float = 2e3
    num_envs: int = 16
    unroll: int = 10
    count: int = 8  # levels or episodes of an evaluation
    thinking: int = 2  # settings of thinking time that are tried
    features: int = 4
    hidden: int = 8
    max_episode_steps: tuple[int, int] = (10, 20)
    budget: int = 50  # expansions of a search
    fewer: int = 500  # a small training set has so many times fewer levels
    host_agents: int = 4  # of a study of games on the host, which are slow
    host_steps: float = 80
    host_envs: int = 4
    train: str = f"{OURS}train"
    test: str = f"{OURS}test"


def shrunk(study: Study, toy: Toy) -> Study:
    """The study at toy size: every run and test with small numbers, one seed."""
    if any(spec.config.is_on_host for spec in study.runs):
        study = replace(study, runs=study.runs[: toy.host_agents])
        toy = replace(toy, steps=toy.host_steps, num_envs=toy.host_envs)
    runs = tuple(shrunk_spec(spec, toy) for spec in study.runs)
    return replace(study, runs=runs, steps=toy.steps if runs else 0, seeds=1 if runs else 0)


def shrunk_spec(spec: RunSpec, toy: Toy) -> RunSpec:
    """An agent at toy size."""
    tests = tuple(shrunk_test(test, toy) for test in spec.tests)
    return replace(spec, config=shrunk_config(spec.config, toy), tests=tests, eval_count=toy.count)


def shrunk_test(test: Trial, toy: Toy) -> Trial:
    """A test of few levels."""
    search = toy.budget if test.search else None
    most = toy.max_episode_steps[1]
    return test._replace(count=toy.count, think=test.think[: toy.thinking], search=search, max_steps=most)


def played_levels(levels: str | None, toy: Toy | None) -> str | None:
    """The set that is really opened for one that a study names."""
    if toy is None or levels is None or levels == FRESH or levels.startswith(f"{OURS}boxes"):
        return levels
    name, bracket, part = levels.partition("[:")
    if not bracket:
        return toy.train if name.endswith("-train") else toy.test
    return f"{toy.train}[:{max(1, int(part.rstrip(']')) // toy.fewer)}]"


def shrunk_config(config: RunConfig, toy: Toy) -> RunConfig:
    """The settings of a run at toy size; its levels keep their name, so that it is told from others."""
    quick = preset("quick").learn
    learn = replace(quick, num_envs=toy.num_envs, unroll=toy.unroll, minibatch=toy.num_envs)
    env = config.env
    if config.domain == "sokoban":
        view = () if config.expert else ("view=planes",)  # an expert wants to see what it was trained on
        env = replace(env, env=(*env.env, *view), max_episode_steps=toy.max_episode_steps)
    elif not config.is_on_host:
        small = SMALL_BOARDS if config.domain == "gridworld" else ()
        env = replace(env, env=(*env.env, *small), max_episode_steps=toy.max_episode_steps)
    net = shrunk_net(config.net, toy, encoded=config.domain != "gridworld")
    return replace(config, learn=learn, env=env, net=net, iterations_per_call=1 if config.is_on_host else 5)


def shrunk_net(net: NetSettings, toy: Toy, encoded: bool) -> NetSettings:
    """A network of few channels and units; of few iterations or imagined steps where it has such."""
    known = settings_of(net.net)
    units = {name: toy.hidden for name in ("hidden", "units", "embedding", "policy_units") if name in known}
    imagined = {"steps": 2, "channels": "[4]"} if net.net == "i2a" else {}
    words = tuple(f"{name}={value}" for name, value in (units | imagined).items())
    plain = net.net == "vin" and not encoded  # which has no channels to choose
    return replace(
        net,
        depth=2 if net.net == "vin" else net.depth,
        features=None if plain else toy.features,
        dtype="float32",
        net_set=(*net.net_set, *words),
    )
