"""How programs are compiled in tests: fast, rather than to run fast."""

from importlib.metadata import version

QUICKLY = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=1"
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):  # later ones do not know these, and compile slower
    QUICKLY += " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
