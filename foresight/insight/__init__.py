"""The inside of an agent: what it holds at every tick, what it plans, and what happens when that is changed."""

from foresight.insight.edits import Edit as Edit
from foresight.insight.inside import look as look
from foresight.insight.labels import C_A as C_A
from foresight.insight.labels import C_B as C_B
from foresight.insight.labels import Concept as Concept
from foresight.insight.labels import label as label
from foresight.insight.playing import play as play
from foresight.insight.probes import FitSettings as FitSettings
from foresight.insight.probes import Probe as Probe
from foresight.insight.probes import fit as fit
from foresight.insight.probes import score as score
from foresight.insight.records import Episode as Episode
from foresight.insight.records import Keep as Keep
from foresight.insight.records import Player as Player
from foresight.insight.tracing import trace as trace
