"""Sokoban levels as data: text, packed sets, operations, generation."""

from foresight.levels.cells import LevelError as LevelError
from foresight.levels.naming import open_set as open_set
from foresight.levels.packed import read_set as read_set
from foresight.levels.packed import write_set as write_set
from foresight.levels.sets import LevelSet as LevelSet
