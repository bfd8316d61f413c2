"""Real processes that train the toy, to be killed: forked from one that has done its imports, so that they start fast.

As a program it is that parent. It reads orders from standard input, a line of JSON each, and forks a trainer for each;
it answers with the trainer's process id at once and with its exit status when it has ended.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


class Parent:
    """The test's side of the parent process."""

    def __init__(self) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "tests.runs.processes"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.answer()

    def answer(self) -> int:
        return int(self.process.stdout.readline())

    def begin(self, folder: Path, **order: object) -> int:
        """Start a trainer on `folder`; its process id."""
        self.process.stdin.write(json.dumps({"folder": str(folder)} | order) + "\n")
        self.process.stdin.flush()
        trainer = self.answer()
        assert trainer > 1, "the parent answers something else than a process id"  # 0 would signal all of us
        return trainer

    def end(self) -> int:
        """Wait for the trainer; its exit status, negative for the signal that killed it."""
        return self.answer()

    def train(self, folder: Path, **order: object) -> int:
        """Start a trainer and wait for it."""
        self.begin(folder, **order)
        return self.end()


@contextmanager
def parent_process() -> Iterator[Parent]:
    parent = Parent()
    yield parent
    parent.process.stdin.close()
    parent.process.wait()
    parent.process.stdout.close()


def compile_for_long() -> None:
    """Seconds in the compiler, which does not listen to anybody."""
    import jax
    import jax.numpy as jnp

    def tower(x):
        for _ in range(400):
            x = jnp.sin(x @ x)
        return jnp.sum(x) * os.getpid()  # which no cache of compiled programs has seen

    jax.jit(jax.grad(tower)).lower(jnp.ones((64, 64))).compile()


def ordered_disk(order: dict):
    """The disk that kills or signals the trainer at an operation, if the order says so."""
    from tests.faults import deadly_disk, failing

    if order.get("kill_at") is not None:
        return deadly_disk(order["kill_at"])
    if order.get("signal_at") is None:
        return None
    at, number, times = order["signal_at"]

    def interrupt(name, arguments):
        for _ in range(times):
            os.kill(os.getpid(), number)
            time.sleep(0.1 * (times - 1))  # long enough to be left in, if anybody wanted to

    return failing(at, interrupt, half=False)


def obey(order: dict) -> int:
    """In the trainer: train, as told.

    `kill_at`: the disk kills at that operation; `signal_at`: it sends [operation, signal, how often]; `slow`: seconds
    that a call takes; `compile`: the first call compiles for long; `evaluate`: seconds after each call. Of the last
    two the file FOLDER.busy tells when they have begun.
    """
    import jax

    from foresight.errors import ForesightError
    from foresight.runs.loop import SaveOptions, train_loop
    from foresight.storage import files
    from tests.runs import toy

    jax.config.update("jax_compilation_cache_dir", order["cache"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    files.disk = ordered_disk(order) or files.disk
    busy = Path(order["folder"] + ".busy")

    def call(state):
        time.sleep(order.get("slow", 0))
        if order.get("compile"):
            busy.touch()
            compile_for_long()
        return toy.call(state)

    def evaluate(state, records):
        if order.get("evaluate"):
            busy.touch()
            time.sleep(order["evaluate"])

    functions = toy.FUNCTIONS | {"call": call}
    options = SaveOptions(iterations=order.get("save", 3), keep=2, best="loss")
    try:
        outcome = train_loop(
            order["folder"], {}, **functions, total_iterations=order["iterations"], options=options, on_call=evaluate
        )
    except ForesightError as error:
        print(error, file=sys.stderr)
        return 2
    print(outcome.message, file=sys.stderr)
    return outcome.exit_code


def main() -> None:
    import tests.runs.toy  # noqa: F401

    print(os.getpid(), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            with open(order["folder"] + ".log", "a") as log:
                os.dup2(log.fileno(), 2)
            code = obey(order)
            sys.stderr.flush()
            os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
