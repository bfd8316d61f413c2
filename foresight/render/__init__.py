"""From an observation to a picture or to text. Numpy only."""
