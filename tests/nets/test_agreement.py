"""A kernel that has just been built is trusted where it computes what the plain path does."""

import subprocess

import jax
import jax.numpy as jnp
import pytest

from foresight.nets.drc import agreement, build

JOB, TICKS = build.Job((4, 5), 2), 2


@pytest.fixture(scope="module")
def exact():
    """What the plain path gives, and what the kernel would give if it were as exact."""
    stack, memory, inputs = agreement.drawn(JOB, TICKS)
    results, cotangent, gradients = agreement.plainly(stack, memory, inputs)
    return (results, cotangent, gradients), ((results, results), gradients)


def said(monkeypatch, exact, change):
    """About a kernel whose results and gradients are the plain path's, but for a change."""
    plain, ours = exact
    monkeypatch.setattr(agreement, "plainly", lambda *given: plain)
    monkeypatch.setattr(agreement, "by_kernel", lambda *given: change(ours))
    return agreement.disagreement(JOB, TICKS)


def test_a_kernel_that_is_right_agrees(monkeypatch, exact):
    assert said(monkeypatch, exact, lambda ours: ours) is None


def test_every_number_of_a_kernel_counts(monkeypatch, exact):
    """Any array twice as large, or with a single number that is none, and the comparison names it."""
    leaves, structure = jax.tree.flatten(exact[1])
    wrong = [lambda x: 2 * x, lambda x: x.at[(0,) * x.ndim].set(jnp.nan)]
    for at, leaf in enumerate(leaves):
        if not leaf.any():  # no gradient: what the observation adds is given
            continue
        for change in wrong:
            changed = [change(x) if i == at else x for i, x in enumerate(leaves)]
            sentence = said(monkeypatch, exact, lambda _, changed=changed: structure.unflatten(changed))
            assert sentence.startswith("it differs from the plain path: ")
            assert sentence.count(" by ") == 1


def test_a_verdict_is_asked_for_once_and_kept_beside_the_library(monkeypatch, tmp_path, caplog):
    asked = []
    monkeypatch.setattr(
        build, "compared", lambda job: asked.append(job.modules) or {3: "agrees"}.get(job.modules, "no")
    )
    library = tmp_path / "drc-0123.so"
    for _ in range(2):
        assert build.verdict_on(library, build.Job((4, 5), 3)) is None
        assert build.verdict_on(library, build.Job((4, 5), 9)) == "it does not compute what the plain path does"
    assert asked == [3, 9]
    assert f"the CUDA core is not used: no (to compare again, delete {tmp_path}/drc-0123.9-modules.txt)" in caplog.text


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("print('drivers say this and that'); print('agrees')", "agrees"),
        ("raise SystemExit('no kernel image')", "no kernel image"),
        ("import os; os._exit(3)", "the comparison with the plain path ended with status 3"),
        ("while True: pass", "the comparison with the plain path took more than 1 seconds"),
    ],
)
def test_a_kernel_that_fails_or_never_ends_is_not_trusted(monkeypatch, program, verdict):
    run = subprocess.run
    monkeypatch.setattr(build, "PATIENCE", 1)
    monkeypatch.setattr(subprocess, "run", lambda command, **how: run([command[0], "-S", "-c", program], **how))
    assert build.compared(JOB) == verdict


@pytest.mark.parametrize("job", [build.Job((10, 10), 3), build.Job((7, 5), 9, "GatedConvRNN")])
def test_the_comparison_is_of_the_kernel_that_is_built_for_the_job(monkeypatch, capsys, job):
    """The command that is run in a process of its own says which."""
    loaded, commands = [], []
    monkeypatch.setattr(subprocess, "run", lambda command, **how: commands.append(command) or Said())
    monkeypatch.setattr(agreement, "load", loaded.append)
    monkeypatch.setattr(agreement, "disagreement", lambda job, ticks: "no" if job.modules > 3 else None)
    assert build.compared(job) == "said"
    (command,) = commands
    agreement.main(*command[3:])
    assert loaded == [job]
    assert capsys.readouterr().out == ("no\n" if job.modules > 3 else "agrees\n")


class Said:
    """What a process said."""

    returncode, stdout = 0, "said\n"
