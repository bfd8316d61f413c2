"""Settings with a name."""

from dataclasses import replace

from foresight.envs import DOMAINS, ON_HOST, env_class, facts, settings_of
from foresight.errors import unknown
from foresight.learning.settings import LearnSettings
from foresight.nets import KINDS
from foresight.plugins import unknown_part
from foresight.runs.config import EnvSettings, NetSettings, RunConfig


def default() -> RunConfig:
    """The recipe of docs/learning.md: DRC(3, 3), the learning rate falling to nothing at the end of the run."""
    return RunConfig(net=NetSettings(depth=3, ticks=3, dtype="bfloat16"))


def paper() -> RunConfig:
    """Every number of the paper's appendix."""
    learn = LearnSettings(
        num_envs=32,
        minibatch=32,
        td_lambda=0.97,
        time_limit="terminate",
        learning_rate=4e-4,
        anneal_steps=1.5e9,
        anneal_hold=0.0,
        beta2=0.999,
        epsilon=1e-4,
        max_gradient_norm=0.0,
    )
    return RunConfig(
        steps=1e9,
        env=EnvSettings(max_episode_steps=(120, 120)),
        net=NetSettings(depth=3, ticks=3, dtype="bfloat16"),
        learn=learn,
    )


def quick() -> RunConfig:
    """The smallest boards and a small network: learns in minutes on two CPU cores."""
    learn = LearnSettings(
        num_envs=128,
        unroll=10,
        minibatch=32,
        td_lambda=0.9,
        learning_rate=1e-3,
        anneal_hold=0.7,
        epsilon=1e-5,
        max_gradient_norm=0.5,
        entropy_weight=0.005,
    )
    return RunConfig(
        steps=2.5e6,
        iterations_per_call=50,
        env=EnvSettings(levels="builtin/tiny-train", max_episode_steps=(15, 40), env=("view=planes",)),
        net=NetSettings(depth=1, ticks=1, features=12, net_set=("hidden=64",)),
        learn=learn,
    )


def a3c() -> RunConfig:
    """On-policy: every unroll is learned from once, at once, with returns as long as the unroll."""
    recipe = default()
    return replace(recipe, learn=replace(recipe.learn, num_envs=32, minibatch=32, td_lambda=1.0))


def long() -> RunConfig:
    """For runs of 1e8 steps and more: after a fifth of them, medium levels and larger minibatches."""
    recipe = default()
    return replace(
        recipe,
        steps=1e9,
        phases=("until=20%", "num_envs=1024 minibatch=128 levels=medium-train"),
        env=replace(recipe.env, levels="unfiltered-train"),
        learn=replace(recipe.learn, discount=0.99),
    )


PRESETS = {"default": default, "paper": paper, "quick": quick, "a3c": a3c, "long": long}


CAPS = {  # step limits of training where episodes are not like Sokoban's
    "minipacman": (3000, 3000),
    "atari": (27_000, 27_000),  # 30 minutes of four frames a step, as the paper says
}
LEARNING = {  # what a preset does otherwise in a domain
    # Gradients of one length hide rare successes, which is how learning begins there, and a short look ahead hides
    # far goals (docs/results/gridworld.md).
    ("default", "gridworld"): {
        "discount": 0.99,
        "td_lambda": 0.9,
        "learning_rate": 7e-4,
        "anneal_hold": 0.7,
        "max_gradient_norm": 0.0,
        "regularisation_decay": 0.01,
    },
}
HOST_ENVS = 128  # four actors for minibatches of 32: what is learned from is about eight gradient steps old at most
HOST_CHUNK = 10_000  # steps between two looks: nothing is gained by longer calls where the host plays anyway


def preset(name: str, domain: str | None = None, net: str | None = None) -> RunConfig:
    """The settings called `name`; what they say of another domain or network than the one wanted is skipped."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    for what, wanted, known in (("environment", domain, DOMAINS | ON_HOST), ("network", net, KINDS)):
        if wanted is not None and wanted not in known and ":" not in wanted:
            raise unknown_part(what, wanted, known)
    chosen = PRESETS[name]()
    if domain not in (None, chosen.domain):
        env = replace(env_settings(domain, chosen.env), env=())
        learn = replace(chosen.learn, **LEARNING.get((name, domain), {}))
        chosen = replace(chosen, domain=domain, env=env, learn=learn, phases=phases_of(domain, chosen.phases))
    if net not in (None, chosen.net.net):
        chosen = replace(chosen, net=NetSettings(net=net, dtype=chosen.net.dtype))
    return for_host(chosen) if chosen.is_on_host else chosen


def env_settings(domain: str, env: EnvSettings) -> EnvSettings:
    """What a preset's settings of Sokoban mean elsewhere: other step limits, no set of levels where none is read."""
    limits = CAPS.get(domain, env.max_episode_steps)
    if ":" in domain:  # somebody's own, which says itself how long its episodes are
        default = getattr(settings_of(env_class(domain)).get("max_episode_steps"), "default", None)
        limits = default if isinstance(default, tuple) else limits
    return replace(env, levels=env.levels if facts(domain).takes_level_sets else "", max_episode_steps=limits)


def phases_of(domain: str, phases: tuple[str, ...]) -> tuple[str, ...]:
    """What a preset's phases of Sokoban mean elsewhere: one phase on the host, no levels where no set is read."""
    if domain in ON_HOST:
        return ()
    words = [[word for word in phase.split() if not word.startswith("levels=")] for phase in phases]
    return phases if facts(domain).takes_level_sets else tuple(map(" ".join, words))


def for_host(config: RunConfig) -> RunConfig:
    """The same settings with sizes that fit games on the host, which are slower by far."""
    learn = replace(config.learn, num_envs=min(config.learn.num_envs, HOST_ENVS))
    return replace(config, learn=learn, iterations_per_call=max(1, HOST_CHUNK // learn.steps_per_iteration))
