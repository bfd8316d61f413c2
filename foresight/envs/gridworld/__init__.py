"""Gridworld: the way to a goal among obstacles."""
