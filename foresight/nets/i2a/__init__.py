"""I2A, the imagination-augmented agent, and the environment model it imagines with."""
