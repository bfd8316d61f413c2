"""An optimiser and a learning-rate schedule of your own, from optax: RMSProp, warmed up and then falling as a cosine.

python examples/own_optimiser_and_schedule.py, or from this folder: foresight train sokoban --preset quick \
    --optimiser own_optimiser_and_schedule:rmsprop --schedule own_optimiser_and_schedule:warm_cosine
"""

import optax
from own_environment import Corridor
from own_network import Tiny

import foresight
from foresight import LearnSettings, RunConfig


def rmsprop(settings: LearnSettings, learning_rate: optax.Schedule) -> optax.GradientTransformation:
    """RMSProp with the settings' epsilon, on a gradient of limited length."""
    steps = optax.rmsprop(learning_rate, decay=settings.beta2, eps=settings.epsilon)
    return optax.chain(optax.clip_by_global_norm(settings.max_gradient_norm), steps)


def warm_cosine(settings: LearnSettings) -> optax.Schedule:
    """The learning rate after so many gradient steps; `anneal_steps` are the run's environment steps."""
    total = round(settings.anneal_steps / (settings.minibatch * settings.unroll))
    return optax.warmup_cosine_decay_schedule(0.0, settings.learning_rate, max(1, total // 10), max(2, total))


def main(out: str = "runs/own-optimiser", steps: float = 2e5) -> foresight.TrainedRun:
    learn = LearnSettings(num_envs=32, unroll=10, learning_rate=3e-3, max_gradient_norm=1.0)
    config = RunConfig(steps=steps, learn=learn)
    return foresight.train(config, env=Corridor, net=Tiny, optimiser=rmsprop, schedule=warm_cosine, out=out)


if __name__ == "__main__":
    print(main().metrics[-1])
