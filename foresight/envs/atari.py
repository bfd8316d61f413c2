"""The paper's five Atari games through ale-py's vector environment (extra `atari`), set up as Mnih et al. 2015."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foresight.errors import ForesightError, MissingExtra
from foresight.types import Outcome, TimeStep

GAMES = {  # our name: the emulator's
    "alien": "alien",
    "asteroids": "asteroids",
    "breakout": "breakout",
    "mspacman": "ms_pacman",
    "upndown": "up_n_down",
}
ACTION_NAMES = (
    "no-op fire up right left down up-right up-left down-right down-left up-fire right-fire left-fire down-fire "
    "up-right-fire up-left-fire down-right-fire down-left-fire"
).split()
REPEAT = 4  # frames an action lasts
HEIGHT, WIDTH = 210, 160


@dataclass
class Atari:
    """A batch of one game on the host, keeping `HostEnv`; pictures are the raw colours, uint8 [B, 210, 160, 3]."""

    is_scored: ClassVar[bool] = True
    is_on_host: ClassVar[bool] = True
    takes_level_sets: ClassVar[bool] = False

    game: str  # one of GAMES
    batch: int
    clip_rewards: bool = True  # to -1, 0 or 1, for training; the outcome's score never is
    life_loss_ends: bool = False  # a lost life is reported as `terminated`, though the game goes on
    frame_cap: int = 108_000  # emulator frames of an episode: 30 minutes
    noop_starts: int = 30  # an episode begins with up to so many frames without action
    threads: int = 0  # of the emulators; 0: as many as there are cores

    finished: np.ndarray = field(init=False, repr=False)  # bool [B], whose games, not only lives, the last step ended

    def __post_init__(self):
        """Check what is asked for; the emulators start with the first games."""
        if str(self.game) not in GAMES:
            raise ForesightError(f"no Atari game '{self.game}'; there are: {', '.join(GAMES)}")
        if self.batch < 1:
            raise ForesightError(f"a batch of {self.batch} games cannot be played; expected at least 1")
        for name in ("clip_rewards", "life_loss_ends"):
            if not isinstance(getattr(self, name), bool):
                raise ForesightError(f"{name} is {getattr(self, name)!r}; {self.name} expects true or false")
        if type(self.noop_starts) is not int or self.noop_starts < 0:
            raise ForesightError(f"noop_starts is {self.noop_starts!r}; {self.name} expects a number of frames")
        self.vector_env = import_vector_env()
        self.scores = np.zeros(self.batch, np.float32)
        self.steps = np.zeros(self.batch, np.int32)
        self.frames = np.zeros(self.batch, np.int32)
        self.finished = np.zeros(self.batch, bool)
        self.is_started = False

    @cached_property
    def emulators(self) -> Any:
        """The vector environment, every default said aloud: many of ale-py's are others than the paper's."""
        from gymnasium.vector import AutoresetMode

        return self.vector_env(
            GAMES[self.game],
            self.batch,
            batch_size=0,
            num_threads=self.threads,
            max_num_frames_per_episode=self.frame_cap,
            repeat_action_probability=0.0,  # no sticky actions
            full_action_space=True,
            autoreset_mode=AutoresetMode.SAME_STEP,
            img_height=HEIGHT,
            img_width=WIDTH,
            grayscale=False,
            stack_num=1,
            frameskip=REPEAT,
            maxpool=True,  # each pixel is the brighter one of the last two frames: sprites flicker
            noop_max=self.noop_starts + 1,  # ale-py draws below it
            episodic_life=False,  # that would restart the game at each lost life
            life_loss_info=self.life_loss_ends,
            reward_clipping=False,  # we clip ourselves, since the score must not be
            use_fire_reset=False,
        )

    @property
    def name(self) -> str:
        """As in `atari/breakout`."""
        return f"atari/{self.game}"

    @property
    def action_names(self) -> tuple[str, ...]:
        """All 18 actions in the emulator's order."""
        return tuple(ACTION_NAMES)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(ACTION_NAMES)

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """The screen."""
        return HEIGHT, WIDTH, 3

    def reset(self, seed: int) -> np.ndarray:
        """Begin all games; the first pictures, uint8 [B, 210, 160, 3]."""
        pictures, info = self.emulators.reset(seed=int(seed))
        self.scores[:] = 0
        self.steps[:] = 0
        self.finished[:] = False
        self.frames = info["episode_frame_number"].copy()
        self.is_started = True
        return pictures[:, 0]

    def step(self, actions: np.ndarray) -> TimeStep:
        """One action, int [B], in each game, for four frames; where a game ends, the next one has begun."""
        actions = self.checked(actions)
        pictures, rewards, terminated, truncated, info = self.emulators.step(actions)
        terminated, truncated = terminated.copy(), truncated & ~terminated
        rewards = rewards.astype(np.float32)
        self.scores += rewards
        self.steps += 1
        outcome = Outcome(np.zeros(self.batch, bool), self.steps.copy(), self.scores.copy())
        observation = final = pictures[:, 0]
        ended = terminated | truncated
        if ended.any():
            final = np.where(ended[:, None, None, None], info["final_obs"][:, 0], observation)
        went_on = info["episode_frame_number"] > self.frames  # otherwise the count began again
        self.finished = truncated | (terminated & ~went_on) if self.life_loss_ends else ended
        self.frames = info["episode_frame_number"].copy()
        self.scores[self.finished] = 0
        self.steps[self.finished] = 0
        reward = np.sign(rewards) if self.clip_rewards else rewards
        return TimeStep(observation, reward, terminated, truncated, final, outcome)

    def checked(self, actions: np.ndarray) -> np.ndarray:
        """The actions as the emulator wants them, or an error."""
        if not self.is_started:
            raise ForesightError(f"{self.name} was stepped before `reset`")
        actions = np.asarray(actions)
        if actions.shape != (self.batch,) or not np.issubdtype(actions.dtype, np.integer):
            raise ForesightError(
                f"actions are {actions.dtype} {list(actions.shape)}; {self.name} expects {self.batch} integers"
            )
        if actions.min() < 0 or actions.max() >= self.actions:
            raise ForesightError(
                f"actions run from {actions.min()} to {actions.max()}; {self.name} has 0 to {self.actions - 1}"
            )
        return actions.astype(np.int64)

    def close(self) -> None:
        """Stop the emulators, if they were started."""
        if "emulators" in vars(self):
            self.emulators.close()
            del self.emulators
        self.is_started = False


def import_vector_env() -> Any:
    """The class of ale-py that plays batches, or an error that says what to install."""
    try:
        from ale_py.vector_env import AtariVectorEnv
    except ImportError as error:
        raise MissingExtra("Atari", "atari") from error
    return AtariVectorEnv
