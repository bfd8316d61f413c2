"""Learning from environments that run on the host: actor threads play, one learner improves the network.

Each actor plays a batch of games of its own with the newest network and hands over trajectories of one unroll. What
it hands over may be older than the network that learns from it; V-trace corrects for that. The queue between them
is short, so actors wait rather than fall behind. Order and timing differ from run to run: such a run does not repeat.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from foresight.envs.host import HostEnv
from foresight.learning.acting import Pictures, choose_action_compiled
from foresight.learning.optimisers import learning_rate
from foresight.learning.rollout import Tally, tally
from foresight.learning.settings import LearnSettings
from foresight.learning.update import Metrics, gradient_step, init_optimiser
from foresight.nets.net import Net
from foresight.types import Memory, Trajectory

PATIENCE = 0.1  # seconds between two looks at whether to stop
LAST_STEP = 10.0  # seconds that an actor has to finish the step it is in


class Played(NamedTuple):
    """What an actor hands over."""

    trajectory: Trajectory  # [B, T]
    tally: Tally


class ActorLearnerQueue:
    """What actors and learner share: the newest network, finished play, and the wish to stop."""

    def __init__(self, net: Net, room: int):
        """`room` is how many trajectories may wait to be learned from."""
        self.net = net  # replaced whole, so that a reader needs no lock
        self.finished: queue.Queue[Played] = queue.Queue(room)
        self.stop = threading.Event()
        self.error: BaseException | None = None  # the first one of any actor

    def put(self, played: Played) -> None:
        """Give play to the learner, waiting for room unless all is to stop."""
        while not self.stop.is_set():
            try:
                self.finished.put(played, timeout=PATIENCE)
                return
            except queue.Full:
                continue

    def take(self) -> Played:
        """The play that has waited longest; if an actor has failed, its error."""
        while True:
            if self.error is not None:
                raise self.error
            try:
                return self.finished.get(timeout=PATIENCE)
            except queue.Empty:
                continue


class ActorState(NamedTuple):
    """Where an actor's games stand between two unrolls: [B, ...] each."""

    memory: Memory
    observation: np.ndarray
    start: np.ndarray  # bool, the observation is the first of its episode


@partial(jax.jit, static_argnums=1)
def first_memory(net: Net, batch: int) -> Memory:
    """The memory of `batch` games that begin."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *x.shape)), net.initial_memory())


def init_actor(env: HostEnv, net: Net, seed: int) -> ActorState:
    """Begin an actor's games."""
    return ActorState(first_memory(net, env.batch), env.reset(seed), np.ones(env.batch, bool))


def play(env: HostEnv, net: Net, actor: ActorState, length: int, key: Array) -> tuple[ActorState, Played]:
    """`length` steps of every game with one network."""
    began, moments = actor, []
    for step_key in jax.random.split(key, length):
        choice = choose_action_compiled((Pictures(), net), *actor, step_key)
        actions = np.asarray(choice.action)
        step = env.step(actions)
        moments.append((actor.observation, actor.start, actions, choice.logits, step, env.finished))
        actor = ActorState(choice.memory, step.observation, step.terminated | step.truncated)
    return actor, assemble(began.memory, moments, actor)


def assemble(memory: Memory, moments: Sequence[tuple], after: ActorState) -> Played:
    """Trajectories [B, T] of T moments and the seat they lead to.

    A moment is (observation, start, actions, logits, step, finished), [B, ...] each.
    """
    observations, is_first, actions, logits, steps, finished = zip(*moments, strict=True)

    def of_steps(field: str) -> np.ndarray:
        return np.stack([getattr(step, field) for step in steps], axis=1)

    trajectory = Trajectory(
        memory=memory,
        observations=np.stack([*observations, after.observation], axis=1),
        is_first=np.stack([*is_first, after.start], axis=1),
        actions=np.stack(actions, axis=1),
        logits=np.stack(jax.device_get(logits), axis=1),
        rewards=of_steps("reward"),
        terminated=of_steps("terminated"),
        truncated=of_steps("truncated"),
    )
    outcomes = jax.tree.map(lambda *x: np.stack(x, axis=1), *(step.outcome for step in steps))
    return Played(trajectory, tally(np.stack(finished, axis=1), outcomes))  # games: a lost life is not one


def run_actor(make_env: Callable[[], HostEnv], shared: ActorLearnerQueue, unroll: int, seed: int) -> None:
    """An actor's whole life; its games are made, played and closed in its own thread."""
    env = None
    try:
        env = make_env()
        key, actor = jax.random.key(seed), init_actor(env, shared.net, seed)
        while not shared.stop.is_set():
            key, play_key = jax.random.split(key)
            actor, played = play(env, shared.net, actor, unroll, play_key)
            shared.put(played)
    except BaseException as error:  # whatever it is, the learner must hear of it
        shared.error = shared.error or error
    finally:
        if env is not None:
            env.close()


@contextmanager
def actors(
    make_env: Callable[[], HostEnv], net: Net, settings: LearnSettings, seed: tuple[int, ...]
) -> Iterator[ActorLearnerQueue]:
    """One actor for each minibatch of the environments, at play while the `with` block runs.

    When it is left, in whatever way, they end.
    """
    count = settings.minibatches_per_iteration
    shared = ActorLearnerQueue(net, room=count)
    seeds = np.random.SeedSequence(seed).generate_state(count).astype(np.int32) & 0x7FFFFFFF
    threads = [
        threading.Thread(
            target=run_actor,
            args=(make_env, shared, settings.unroll, int(actor_seed)),
            name=f"actor-{number}",
            daemon=True,  # a game that never comes back from a step cannot hold up the end of the program
        )
        for number, actor_seed in enumerate(seeds)
    ]
    try:
        for thread in threads:
            thread.start()
        yield shared
    finally:
        shared.stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join(LAST_STEP)


class HostState(NamedTuple):
    """A run at one moment, as far as it can be saved: the games themselves cannot."""

    net: Net
    optimiser: optax.OptState
    iterations: Array  # int32 [], completed

    @property
    def agent(self) -> Net:
        """The network that is kept as the agent."""
        return self.net


GradientStep = Callable[[tuple[Net, optax.OptState], Trajectory], tuple]


def init_host_training(net: Net, settings: LearnSettings) -> HostState:
    """The state before the first iteration."""
    return HostState(net, init_optimiser(settings, net), jnp.zeros((), jnp.int32))


def compile_gradient_step(settings: LearnSettings) -> GradientStep:
    """The iteration that learns from pictures; nothing is donated, since actors still use the old network."""
    return jax.jit(partial(gradient_step, Pictures(), settings))


def learn(
    shared: ActorLearnerQueue, settings: LearnSettings, gradient_step: GradientStep, state: HostState, iterations: int
) -> tuple[HostState, Metrics]:
    """Iterations of one gradient step per actor, each on the unroll that has waited longest; metrics [iterations]."""
    reported = []
    for _ in range(iterations):
        tallies, results = [], []
        for _ in range(settings.minibatches_per_iteration):
            played = shared.take()
            for _ in range(settings.epochs):
                (net, memory), result = gradient_step((state.net, state.optimiser), played.trajectory)
                state = state._replace(net=net, optimiser=memory)
                results.append(result)
            shared.net = net
            tallies.append(played.tally)
        state = state._replace(iterations=state.iterations + 1)
        reported.append(summarise(settings, tallies, results, int(state.iterations)))
    return state, jax.tree.map(lambda *x: np.stack(x), *reported)


def summarise(settings: LearnSettings, tallies: list[Tally], results: list[tuple], iterations: int) -> Metrics:
    """The metrics of an iteration: sums over its episodes, means over its gradient steps."""
    tallies, results = jax.device_get((tallies, results))
    loss, parts, norm = jax.tree.map(lambda *x: np.mean(x), *results)
    rate = learning_rate(settings)(iterations * settings.gradient_steps_per_iteration)
    return Metrics(jax.tree.map(lambda *x: np.sum(x), *tallies), loss, parts, norm, np.float32(rate))
