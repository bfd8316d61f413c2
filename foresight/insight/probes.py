"""Linear probes: a k x k convolution without bias that reads the class of every square off a network's state."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from foresight.errors import ForesightError
from foresight.insight.inside import Shape
from foresight.insight.labels import CLASS_NAMES

BETAS = (0.9, 0.999)  # of Adam's means


@dataclass(frozen=True)
class FitSettings:
    """How a probe is fitted: AdamW on the mean cross-entropy of a batch's squares, the rate falling to 0."""

    epochs: int = 10
    batch: int = 16  # boards
    learning_rate: float = 1e-2
    weight_decay: float = 1e-3
    seed: int = 0  # of the order of boards; weights start at 0


@dataclass(frozen=True)
class Probe:
    """The weights, and what they were fitted to read from what."""

    weights: np.ndarray  # float32 [k, k, C, B, B', K]: B x B' squares of the board lie on one of the state; K classes
    concept: str = "C_A"
    of: str = "c"  # the activation it reads, or "observation"
    layer: int = 0  # depth, from 0; 0 for an observation
    margin: int = 0  # squares of the board along the edge that it was neither fitted nor scored on

    @property
    def kernel(self) -> int:
        """k."""
        return self.weights.shape[0]

    @property
    def classes(self) -> int:
        """K."""
        return self.weights.shape[-1]

    def vector(self, direction: int | str) -> np.ndarray:
        """The vector [C] that speaks for a class, of a 1x1 probe; added to the state it makes the class likelier."""
        names, (down, right) = CLASS_NAMES[: self.classes], self.weights.shape[3:5]
        if self.kernel != 1:
            raise ForesightError(f"a {self.kernel}x{self.kernel} probe has no one vector a class; take a 1x1 probe")
        if (down, right) != (1, 1):
            squares = f"{down}x{right} squares of the board off one of the state"
            raise ForesightError(f"this probe reads {squares}, and has a vector of a class for each of them")
        if direction not in (*names, *range(len(names))):
            raise ForesightError(
                f"this probe has no class {direction!r}, there are: {', '.join(names)}; or their numbers"
            )
        index = names.index(direction) if isinstance(direction, str) else direction
        return self.weights[0, 0, :, 0, 0, index]

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """Logits float32 [S, H, W, K] for every square of the board, from states [S, h, w, C]."""
        return np.asarray(jax.jit(read_squares)(self.weights, inputs))

    def read(self, inputs: np.ndarray) -> np.ndarray:
        """The likeliest class of every square, uint8 [..., H, W], from states [..., h, w, C]; 0 within the margin."""
        flat = inputs.reshape(-1, *inputs.shape[-3:])
        classes = self.logits(flat).argmax(-1).astype(np.uint8)
        known = np.zeros(classes.shape, bool)
        inside(known, self.margin)[:] = True
        classes = np.where(known, classes, np.uint8(0))
        return classes.reshape(*inputs.shape[:-3], *classes.shape[1:])


def read_squares(weights: Array, inputs: Array) -> Array:
    """The convolution: [S, h, w, C] to [S, h B, w B', K], zeros beyond the edge."""
    size, _, channels, down, right, classes = weights.shape
    count, height, width, _ = inputs.shape
    reach = size // 2
    padded = jnp.pad(inputs.astype(jnp.float32), ((0, 0), (reach, reach), (reach, reach), (0, 0)))
    shifts = [padded[:, r : r + height, c : c + width] for r in range(size) for c in range(size)]
    columns = jnp.concatenate(shifts, axis=-1)  # [S, h, w, k k C]
    out = columns @ weights.reshape(size * size * channels, down * right * classes)
    out = out.reshape(count, height, width, down, right, classes).transpose(0, 1, 3, 2, 4, 5)
    return out.reshape(count, height * down, width * right, classes)


def fit(
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    kernel: int = 1,
    classes: int = 5,
    margin: int = 0,
    settings: FitSettings = FitSettings(),
) -> Probe:
    """A probe for states [S, h, w, C] and labels [S, H, W]; the same data and settings give the same weights."""
    common = {"kernel": kernel, "classes": classes, "margin": margin, "settings": settings}
    return fit_many(inputs[:, None], labels[None], **common)[0][0]


def fit_many(
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    kernel: int = 1,
    classes: int = 5,
    margin: int = 0,
    settings: FitSettings = FitSettings(),
) -> list[list[Probe]]:
    """A probe for each of Q labels [Q, S, H, W] of each of D states [S, D, h, w, C], [Q][D], all in one descent."""
    if kernel % 2 == 0 or kernel < 1:
        raise ForesightError(f"a probe's kernel is {kernel}; expected an odd number such as 1 or 3")
    if len(inputs) == 0 or len(inputs) != labels.shape[1]:
        raise ForesightError(
            f"a probe needs as many labelled boards as states; got {len(inputs)} and {labels.shape[1]}"
        )
    sides = list(zip(labels.shape[2:], inputs.shape[2:4], strict=True))
    if any(big % small for big, small in sides):
        raise ForesightError(f"boards {labels.shape[2:]} do not lie evenly on a state of {inputs.shape[2:4]} squares")
    settings = replace(settings, batch=min(settings.batch, len(inputs)))
    size = (kernel, kernel, inputs.shape[-1], *(big // small for big, small in sides), classes)
    start = jnp.zeros((len(labels), inputs.shape[1], *size), jnp.float32)
    weights = descend(start, jnp.asarray(inputs), jnp.asarray(labels), settings, margin)
    return [[Probe(one, margin=margin) for one in of_label] for of_label in np.asarray(weights)]


def descend(start: Array, inputs: Array, labels: Array, settings: FitSettings, margin: int) -> Array:
    """The weights after all epochs."""
    steps = len(inputs) // settings.batch
    order = epochs_in_order(len(inputs), steps, settings)
    return run_descent(start, inputs, labels, order, step_sizes(len(order), settings), settings.weight_decay, margin)


def epochs_in_order(count: int, steps: int, settings: FitSettings) -> np.ndarray:
    """The boards of every step, int32 [epochs * steps, batch]: another order in each epoch."""
    chance = np.random.default_rng(settings.seed)
    epochs = [chance.permutation(count)[: steps * settings.batch] for _ in range(settings.epochs)]
    return np.concatenate(epochs).astype(np.int32).reshape(-1, settings.batch)


def losses_of(weights: Array, inputs: Array, labels: Array, margin: int) -> Array:
    """The sum of the losses of probes [Q, D, ...] on states [S, D, h, w, C] and labels [Q, S, H, W]; they are apart."""
    of_states = jax.vmap(loss_of, in_axes=(0, 1, None, None))
    return jnp.sum(jax.vmap(of_states, in_axes=(0, None, 0, None))(weights, inputs, labels, margin))


def loss_of(weights: Array, inputs: Array, labels: Array, margin: int) -> Array:
    """Mean cross-entropy over the squares inside the margin."""
    logits = inside(read_squares(weights, inputs), margin)
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, inside(labels, margin).astype(jnp.int32)))


def inside(boards: Array, margin: int) -> Array:
    """Boards [S, H, W, ...] without the squares along their edge."""
    return boards[:, margin : boards.shape[1] - margin, margin : boards.shape[2] - margin]


class StepSizes(NamedTuple):
    """For each step, the learning rate and what Adam divides its two means by."""

    rate: np.ndarray
    first: np.ndarray
    second: np.ndarray


def step_sizes(steps: int, settings: FitSettings) -> StepSizes:
    """A rate that falls to 0 along a line, and Adam's corrections for means that begin at 0."""
    number = np.arange(1, steps + 1)
    sizes = (settings.learning_rate * (1 - (number - 1) / steps), 1 - BETAS[0] ** number, 1 - BETAS[1] ** number)
    return StepSizes(*(size.astype(np.float32) for size in sizes))


@partial(jax.jit, static_argnums=(6,))
def run_descent(
    start: Array, inputs: Array, labels: Array, order: Array, sizes: StepSizes, decay: Array, margin: int
) -> Array:
    """AdamW over the batches of `order`."""

    def step(carry: tuple[Array, Array, Array], now: tuple[Array, StepSizes]) -> tuple[tuple[Array, ...], None]:
        (weights, mean, square), (boards, size) = carry, now
        gradient = jax.grad(losses_of)(weights, inputs[boards], labels[:, boards], margin)
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient**2
        change = mean / size.first / (jnp.sqrt(square / size.second) + 1e-8) + decay * weights
        return (weights - size.rate * change, mean, square), None

    zeros = jnp.zeros_like(start)
    return jax.lax.scan(step, (start, zeros, zeros), (order, sizes))[0][0]


class Score(NamedTuple):
    """How well a probe reads boards it was not fitted to."""

    macro_f1: float  # the mean of the classes' F1, over classes that occur or were read
    ci95: tuple[float, float]  # of it, by drawing episodes again and again
    f1: tuple[float, ...]  # of each class; 0 where it neither occurs nor was read
    squares: int


RESAMPLES = 1000
SCORED_AT_A_TIME = 1024  # boards


def score(probe: Probe, inputs: np.ndarray, labels: np.ndarray, episode: np.ndarray) -> Score:
    """Macro F1 of a probe inside its margin, with an interval over episodes."""
    return score_of(confusion(probe, inputs, labels, episode))


def score_of(counts: np.ndarray) -> Score:
    """The score that confusion matrices [E, K, K] of episodes come to."""
    total = counts.sum(0)
    chance = np.random.default_rng(0)
    drawn = [macro(counts[chance.integers(0, len(counts), len(counts))].sum(0)) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Score(macro(total), (float(low), float(high)), tuple(map(float, f1_of(total))), int(total.sum()))


def confusion(probe: Probe, inputs: np.ndarray, labels: np.ndarray, episode: np.ndarray) -> np.ndarray:
    """How often class i was read as class j in each episode, int64 [E, K, K]."""
    kinds, numbers = probe.classes, np.unique(episode, return_inverse=True)[1]
    counts = np.zeros((numbers.max() + 1) * kinds * kinds, np.int64)
    for start in range(0, len(inputs), SCORED_AT_A_TIME):
        part = slice(start, start + SCORED_AT_A_TIME)
        heads, true = (inside(x, probe.margin) for x in (probe.read(inputs[part]), labels[part]))
        cells = (numbers[part, None, None] * kinds + true) * kinds + heads
        counts += np.bincount(cells.ravel(), minlength=len(counts))
    return counts.reshape(-1, kinds, kinds)


def f1_of(counts: np.ndarray) -> np.ndarray:
    """F1 of each class from a confusion matrix [K, K]."""
    hits, total = np.diag(counts), counts.sum(0) + counts.sum(1)
    return np.divide(2 * hits, total, out=np.zeros(len(counts)), where=total > 0)


def macro(counts: np.ndarray) -> float:
    """The mean F1 over the classes that occur or were read."""
    there = counts.sum(0) + counts.sum(1) > 0
    return float(f1_of(counts)[there].mean()) if there.any() else 0.0


def check_fit(probes: Sequence[Probe], shape: Shape) -> None:
    """Reject probes of a network with other layers."""
    for probe in probes:
        if probe.layer >= shape.depth or probe.weights.shape[2] != shape.state[-1]:
            raise ForesightError(
                f"a probe of layer {probe.layer + 1} with {probe.weights.shape[2]} channels does not fit this network, "
                f"which has {shape.depth} with {shape.state[-1]}: fit probes to it with `foresight probe`"
            )


def to_arrays(probes: list[Probe]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Probes as named arrays and plain values, for a file."""
    arrays = {f"{n}": probe.weights for n, probe in enumerate(probes)}
    return arrays, {"probes": [{k: v for k, v in asdict(probe).items() if k != "weights"} for probe in probes]}


def from_arrays(arrays: dict[str, np.ndarray], metadata: dict[str, Any], source: Any) -> list[Probe]:
    """The probes of a file; one that does not hold probes is rejected."""
    described = metadata.get("probes")
    if not isinstance(described, list) or set(arrays) != {f"{n}" for n in range(len(described))}:
        raise ForesightError(f"{source} holds no probes: not written by `foresight probe`")
    try:
        return [Probe(arrays[f"{n}"], **about) for n, about in enumerate(described)]
    except TypeError as error:
        raise ForesightError(f"{source} holds probes that are described in another way: {error}") from error


def choose(probes: list[Probe], concept: str, layer: int, kernel: int, of: str = "c") -> Probe:
    """The probe for a concept at a layer with a kernel; an error that says what there is where it is not there."""
    for probe in probes:
        if (probe.concept, probe.layer, probe.kernel, probe.of) == (concept, layer, kernel, of):
            return probe
    there = ", ".join(f"{p.concept} of {p.of} {p.layer} {p.kernel}x{p.kernel}" for p in probes)
    raise ForesightError(f"no probe for {concept} of {of} at layer {layer}, {kernel}x{kernel}; there are: {there}")
