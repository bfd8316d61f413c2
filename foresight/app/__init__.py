"""What a person touches: the command line, play, the page."""
