"""Programs that run once are compiled in a hurry."""

from functools import partial

import jax

in_a_hurry = partial(
    jax.jit, compiler_options={"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
)
