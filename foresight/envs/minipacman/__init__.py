"""MiniPacman: eat the food, mind the ghosts."""
