"""Search for solutions of Sokoban levels: breadth-first, Levin tree search with a learned policy, plain play."""
