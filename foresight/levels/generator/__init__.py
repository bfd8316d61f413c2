"""New Sokoban levels: rooms by a random walk, starts by reverse play, and how alike they are to published ones."""
