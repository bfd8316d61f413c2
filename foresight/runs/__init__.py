"""A run: its settings, its folder, the loop that trains, and what is loaded from it."""
