"""`foresight train`: from a domain, a network and levels to an agent, in a run folder that is never lost."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import FlagCreatePairsOff, Positional, arg

from foresight.app.parse import parse_options
from foresight.app.train_run import run
from foresight.errors import ForesightError
from foresight.plain import from_json
from foresight.runs.config import DeviceSettings, RunConfig
from foresight.runs.lock import check_free
from foresight.runs.presets import preset
from foresight.runs.tracking import TrackSettings, read_tracking

EXAMPLES = """Train an agent; progress is shown, and everything is kept in a run folder.

The same command again, or `foresight train --out RUN` alone, resumes the run where it stopped. Settings that are not
given come from the preset, or from the run that is resumed.

examples:
  foresight train sokoban --preset quick --out runs/quick
  foresight train sokoban --net drc --depth 3 --ticks 3 --levels unfiltered-train --steps 2e7 --seeds 3 --out runs/drc
  foresight train sokoban --levels unfiltered-train --eval-levels unfiltered-valid --eval-every 1e6 --out runs/drc
  foresight train sokoban --preset long --steps 1e9 --out runs/long
  foresight train gridworld --net vin --steps 1e7
  foresight train atari --env game=breakout --steps 5e7 --out runs/breakout
  foresight train mypackage.envs:Corridor --net mypackage.nets:Tiny --out runs/corridor
  foresight train --out runs/drc
  foresight train --out runs/drc --steps 1e8
  foresight train --resume-from drc.run --out runs/drc
  foresight train --config runs/drc/config.json --seed 3 --out runs/again"""


@dataclass(frozen=True)
class RunOptions:
    """Where the run is kept and what is reported of it."""

    out: Path | None = None
    """the run folder; runs/DOMAIN-NET-TIME where none is named"""
    preset: Literal["default", "long", "paper", "quick", "a3c"] | None = None
    """the settings that hold where no flag says otherwise: `default` (this project's recipe) where none is named;
    `long`, for 1e8 steps and more, goes on to medium levels and larger minibatches after a fifth of the run; `paper` is
    the paper's appendix read literally; `quick` learns small boards on a CPU; `a3c` learns on-policy"""
    config: Path | None = None
    """take those settings from the config.json of another run"""
    resume_from: Path | None = None
    """take up a run that `foresight export` wrote into this file, in a new folder; all episodes begin anew"""
    from_weights: str | None = None
    """start from the weights of this run folder, checkpoint, file or shipped agent"""
    save_every: float = 600.0
    """seconds between two checkpoints"""
    keep: int = 3
    """checkpoints that are kept, beside the best one and those of --checkpoint-at"""
    tensorboard: FlagCreatePairsOff[bool] = False
    """write event files for TensorBoard as well"""
    wandb: FlagCreatePairsOff[bool] = False
    """log to Weights & Biases as well"""
    quiet: FlagCreatePairsOff[bool] = False
    """show no progress"""

    def __post_init__(self) -> None:
        if self.preset and self.config:
            raise ForesightError("--preset and --config both say where settings come from: give one of them")
        if self.resume_from and (self.preset or self.config or self.from_weights):
            raise ForesightError("--resume-from brings its own settings and weights: give no other source of them")
        if self.resume_from and not self.out:
            raise ForesightError("--resume-from needs --out: the folder in which the run is taken up")
        if self.keep < 1:
            raise ForesightError(f"--keep must be at least 1, not {self.keep}")
        if not self.save_every > 0:
            raise ForesightError(f"--save-every must be a number of seconds above 0, not {self.save_every}")


@dataclass(frozen=True)
class Settings(RunConfig):
    """What defines a run; the domain comes first, without a flag."""

    domain: Annotated[str, Positional, arg(metavar="DOMAIN")] = "sokoban"
    """sokoban, boxworld, minipacman, gridworld, atari, or an environment of your own as package.module:Name"""


@dataclass(frozen=True)
class Train:
    """Everything that the command line says."""

    settings: Settings
    run: RunOptions = field(default_factory=RunOptions)
    tracking: TrackSettings = field(default_factory=TrackSettings)
    devices: DeviceSettings = field(default_factory=DeviceSettings)

    def __post_init__(self) -> None:
        if self.devices.coordinator and not self.run.out:
            raise ForesightError("--coordinator needs --out: all processes must name the same run folder")


def main(arguments: list[str]) -> int:
    """Train, and exit with 0 when done, 130 or 143 when a signal stopped it."""
    refuse_a_run_in_use(arguments)
    options = parse(arguments)
    return run(options.settings, options.run, options.tracking, options.devices, is_dtype_free(arguments))


def as_config(settings: Settings) -> RunConfig:
    """The settings of a run alone, without how they were said."""
    return RunConfig(**{each.name: getattr(settings, each.name) for each in fields(RunConfig)})


def refuse_a_run_in_use(arguments: list[str]) -> None:
    """Say at once, before anything slow is imported, that somebody else trains in this folder.

    Of several processes of one run only the first owns it: it finds out later.
    """
    out = said(arguments, "--out")
    if out and Path(out).exists() and not Path(out).is_dir():
        raise ForesightError(f"--out {out} is a file; expected a run folder, or a name for a new one")
    if out and not said(arguments, "--coordinator"):
        check_free(Path(out))


def parse(arguments: list[str]) -> Train:
    """The settings of a run: flags, over the settings they start from."""
    defaults = starting_point(arguments)
    default = Train(Settings(**vars(defaults)), tracking=tracked_before(arguments))
    options = parse_options(Train, arguments, "foresight train", EXAMPLES, default)
    settings = options.settings
    if settings.domain != defaults.domain and arguments[0] != settings.domain:
        raise ForesightError(f"give the domain first: foresight train {settings.domain} ...")
    if said(arguments, "--levels") and not settings.takes_level_sets:
        raise ForesightError(f"{settings.domain} makes its own levels: --levels is for sokoban")
    return replace(options, settings=as_config(settings))


def starting_point(arguments: list[str]) -> RunConfig:
    """The settings that hold where no flag says otherwise: of a stored run, or of a preset.

    They must be known before the flags can be read, so what they depend on is looked up first.
    """
    stored, out, name, moved = (said(arguments, flag) for flag in ("--config", "--out", "--preset", "--resume-from"))
    domain = arguments[0] if arguments and not arguments[0].startswith("-") else None
    if not {"-h", "--help"} & set(arguments):
        if stored:
            return stored_settings(Path(stored))
        if out and not name and (Path(out) / "config.json").exists():
            settings = stored_settings(Path(out))
            if domain not in (None, settings.domain):
                raise ForesightError(f"{out} holds a run of {settings.domain}: choose another --out for {domain}")
            return settings
        if moved:
            from foresight.runs.portable import read_portable

            return read_portable(Path(moved))[1]
    return preset(name or "default", domain, said(arguments, "--net"))


def tracked_before(arguments: list[str]) -> TrackSettings:
    """How the run that is resumed was evaluated along the way, and which checkpoints were kept for good."""
    out = said(arguments, "--out")
    return read_tracking(Path(out)) if out and not {"-h", "--help"} & set(arguments) else TrackSettings()


def said(arguments: list[str], flag: str) -> str | None:
    """What the command line gives for a flag, as `--flag VALUE` or `--flag=VALUE`; the last one counts."""
    value = None
    for word, following in zip(arguments, [*arguments[1:], None], strict=False):
        if word == flag:
            value = following
        elif word.startswith(f"{flag}="):
            value = word.removeprefix(f"{flag}=")
    return value


def stored_settings(path: Path) -> RunConfig:
    """The settings of the run at `path`, its folder or its config.json."""
    from foresight.runs.folder import read_run

    return from_json(RunConfig, read_run(path).config, f"{path}: config")


def is_dtype_free(arguments: list[str]) -> bool:
    """True for a new run that was not told what to compute in."""
    stored, out = said(arguments, "--config") or said(arguments, "--resume-from"), said(arguments, "--out")
    has_begun = out and not said(arguments, "--preset") and (Path(out) / "config.json").exists()
    return not (said(arguments, "--dtype") or stored or has_begun)
