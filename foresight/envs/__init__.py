"""The planning domains: rules for one instance, batched by `vmap`."""
