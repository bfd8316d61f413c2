"""Named, reproducible runs: configuration, run folders, the host loop, figures."""
