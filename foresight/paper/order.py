"""In which order the whole paper is made: breadth before length, and what takes hours for one number at the end."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A table or figure, or a part of one."""

    id: str
    agents: tuple[str, ...] = ()  # these alone; all where none are named
    rates: tuple[float, ...] = ()  # choose a learning rate among these
    steps: float | None = None  # where not those of the study
    seeds: int | None = None


RATES, BRIEF = (2e-4, 6e-4, 1.5e-3), 2e6  # what is tried for the rivals of DRC, and for how many steps
RIVALS = ("CNN", "VIN", "ATreeC", "LSTM(3,3)", "ResNet")
LONG = 1e8

ORDER = (
    Stage("T4"),
    Stage("T5"),
    Stage("F-levels"),
    Stage("F-domains"),
    Stage("T2", RIVALS, RATES, BRIEF, 1),
    Stage("T2", RIVALS),
    Stage("F-arch"),
    Stage("F-config"),
    Stage("F-memory"),
    Stage("F-ablations"),
    Stage("T1", ("DRC(3,3)", "CNN")),
    Stage("F-boxes"),
    Stage("F-think"),
    Stage("F-trainsize"),
    Stage("F-trainsize-bars"),
    Stage("F-gap"),
    Stage("F-boxworld"),
    Stage("F-boxworld-trainsize"),
    Stage("F-minipacman"),
    Stage("F-imitation"),
    Stage("F-atari"),
    Stage("T2"),
    Stage("F-rivals-sokoban"),
    Stage("T1"),
    Stage("F-rivals-gridworld"),
    Stage("F-config", ("DRC(1,1)", "DRC(2,2)", "DRC(9,1)"), steps=LONG),
    Stage("F-medium"),
    Stage("T3"),
    Stage("F-hard"),
    Stage("T2", ("ResNet", "CNN"), steps=LONG),
)
