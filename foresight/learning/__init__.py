"""From play to better weights, all on the accelerator."""
