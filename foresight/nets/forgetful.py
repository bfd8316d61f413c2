"""A network whose memory starts afresh at every time-step."""

import equinox as eqx
from jax import Array

from foresight.nets.net import Features, Net
from foresight.types import Memory, Picture, Tiles


class Forgetful(Net):
    """Another network, deprived of what it remembers: as the paper filtered its medium levels."""

    net: Net
    looks: int = eqx.field(static=True, default=1)  # times it sees each picture

    @property
    def takes_tiles(self) -> bool:
        """As the other network."""
        return self.net.takes_tiles

    def prepared(self, tiles: Tiles | None) -> "Forgetful":
        """The other network, ready for many steps."""
        return Forgetful(self.net.prepared(tiles), self.looks)

    def initial_memory(self) -> Memory:
        """Nothing."""
        return ()

    def encode(self, picture: Picture) -> Features:
        """As the other network."""
        return self.net.encode(picture)

    def core(self, memory: Memory, features: Features) -> tuple[Memory, Features]:
        """From the first memory, a time-step for each look; nothing is remembered."""
        inner = self.net.initial_memory()
        for _ in range(self.looks):
            inner, core_output = self.net.core(inner, features)
        return memory, core_output

    def heads(self, features: Features, core_output: Features) -> tuple[Array, Array]:
        """As the other network."""
        return self.net.heads(features, core_output)

    def head_weights(self) -> list[Array]:
        """Those of the other network."""
        return self.net.head_weights()
