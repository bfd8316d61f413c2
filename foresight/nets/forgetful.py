"""A network whose memory starts afresh at every time-step."""

from jax import Array

from foresight.nets.net import Features, Net
from foresight.types import Memory


class Forgetful(Net):
    """Another network, deprived of what it remembers: as the paper filtered its medium levels."""

    net: Net

    def initial_memory(self) -> Memory:
        """Nothing."""
        return ()

    def encode(self, picture: Array) -> Features:
        """As the other network."""
        return self.net.encode(picture)

    def core(self, memory: Memory, features: Features) -> tuple[Memory, Features]:
        """One time-step from the first memory; nothing is remembered."""
        return memory, self.net.core(self.net.initial_memory(), features)[1]

    def heads(self, features: Features, core_output: Features) -> tuple[Array, Array]:
        """As the other network."""
        return self.net.heads(features, core_output)

    def head_weights(self) -> list[Array]:
        """Those of the other network."""
        return self.net.head_weights()
