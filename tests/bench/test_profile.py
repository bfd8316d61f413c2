"""Where the time goes: traces drawn by hand, and one that the profiler really made."""

import gzip
import json

import pytest

from foresight.analysis.device_trace import (
    Work,
    busy_time,
    device_work,
    kind_of,
    own_times,
    read_trace,
    summary,
)
from foresight.app import bench_profile as command
from foresight.errors import ForesightError
from foresight.runs.config import EnvSettings, RunConfig
from tests.app.small_runs import status_of, use_linear_networks, write_levels

GPU, HOST = 1, 2
COMPUTE, COPIES, OPS = 10, 11, 12


def named(kind, process, name, thread=None):
    event = {"ph": "M", "pid": process, "name": kind, "args": {"name": name}}
    return event if thread is None else event | {"tid": thread}


def span(process, thread, begin, duration, name, **about):
    return {"ph": "X", "pid": process, "tid": thread, "ts": begin, "dur": duration, "name": name, "args": about}


ON_GPU = {
    "traceEvents": [
        named("process_name", GPU, "/device:GPU:0"),
        named("process_name", HOST, "/host:CPU"),
        named("thread_name", GPU, "Stream #7(Compute)", COMPUTE),
        named("thread_name", GPU, "Stream #8(MemcpyD2D)", COPIES),
        named("thread_name", GPU, "XLA Ops", OPS),
        span(GPU, COMPUTE, 100, 40, "void (anonymous namespace)::forward<true>(ForwardArgs)", hlo_op="custom-call.1"),
        span(GPU, COMPUTE, 150, 10, "loop_convert_fusion_3"),
        span(GPU, COPIES, 155, 15, "MemcpyD2D"),
        span(GPU, COMPUTE, 180, 20, "sm90_xmma_fprop_implicit_gemm_bf16"),
        span(GPU, OPS, 100, 100, "custom-call.1", hlo_op="custom-call.1"),
        span(HOST, 5, 0, 1000, "python", hlo_op="custom-call.1"),
        {"ph": "C", "pid": GPU, "name": "a counter"},
        {},
    ]
}
ON_CPU = {
    "traceEvents": [
        named("process_name", HOST, "/host:CPU"),
        named("thread_name", HOST, "tf_XLAPjRtCpuClient/1", COMPUTE),
        span(HOST, COMPUTE, 0, 100, "while.5", hlo_op="while.5"),
        span(HOST, COMPUTE, 0, 30, "dot.1", hlo_op="dot.1"),
        span(HOST, COMPUTE, 40, 50, "call.2", hlo_op="call.2"),
        span(HOST, COMPUTE, 50, 20, "dot.1", hlo_op="dot.1"),
        span(HOST, COMPUTE, 0, 500, "ThunkExecutor::Execute"),
    ]
}


def test_of_a_gpu_the_streams_count_and_nothing_else():
    works = device_work(ON_GPU)
    assert [work.duration for work in works] == [40, 10, 15, 20]
    assert {work.line for work in works} == {(GPU, COMPUTE), (GPU, COPIES)}


def test_of_a_cpu_the_compiled_operations_count_each_less_what_is_within():
    assert sorted(own_times(device_work(ON_CPU))) == [("call.2", 30), ("dot.1", 20), ("dot.1", 30), ("while.5", 20)]


def test_things_on_different_lines_are_not_within_each_other():
    works = [Work("a", (0, 0), 0, 10), Work("b", (0, 1), 2, 3)]
    assert sorted(own_times(works)) == [("a", 10), ("b", 3)]


def test_of_two_that_overlap_a_little_the_first_loses_the_overlap_alone():
    works = [Work("a", (0, 0), 0, 10), Work("b", (0, 0), 9, 8)]
    assert sorted(own_times(works)) == [("a", 9), ("b", 8)]


def test_busy_is_the_time_in_which_anything_runs():
    works = [Work("a", (0, 0), 0, 10), Work("b", (0, 1), 2, 3), Work("c", (0, 1), 8, 4), Work("d", (0, 0), 20, 1)]
    assert busy_time(works) == 13


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void (anonymous namespace)::forward<false>(ForwardArgs)", "recurrent core, forward"),
        ("(anonymous namespace)::backward(BackwardArgs)", "recurrent core, backward"),
        ("_ZN66_GLOBAL__N__8backwardE12BackwardArgs", "recurrent core, backward"),
        ("sm90_xmma_wgrad_implicit_gemm_bf16", "convolution"),
        ("nvjet_hsh_128x64_TNN", "matrix product"),
        ("gemm_fusion_dot_17_0", "matrix product"),
        ("loop_convert_fusion", "element-wise"),
        ("input_reduce_fusion_2", "reduction"),
        ("MemcpyD2D", "copy"),
        ("loop_dynamic_update_slice_fusion", "copy"),
        ("RepeatBufferKernel", "other"),
    ],
)
def test_kernels_are_sorted_by_name(name, kind):
    assert kind_of(name) == kind


def test_the_summary_is_per_update_with_the_largest_first():
    output = summary(device_work(ON_GPU), gradient_steps=2)
    assert output["span_ms_per_gradient_step"] == 0.05
    assert output["idle_percent"] == 20.0  # 140..150 and 170..180 of 100..200
    assert output["count_per_gradient_step"] == 2
    forward = {
        "kind": "recurrent core, forward",
        "ms_per_gradient_step": 0.02,
        "percent": 47.1,
        "count_per_gradient_step": 0.5,
    }
    assert output["kinds"][0] == forward
    assert [row["kind"] for row in output["kernels"]] == [
        "recurrent core, forward",
        "convolution",
        "copy",
        "element-wise",
    ]


def test_a_trace_without_device_is_refused():
    with pytest.raises(ForesightError, match="saw nothing"):
        summary(device_work({"traceEvents": []}), 1)


def test_the_newest_trace_is_read_and_a_missing_one_named(tmp_path):
    with pytest.raises(ForesightError, match="wrote no trace"):
        read_trace(tmp_path)
    for day, events in (("2026_11_14", []), ("2026_11_15", [1])):
        folder = tmp_path / "plugins" / "profile" / day
        folder.mkdir(parents=True)
        (folder / "host.trace.json.gz").write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    assert read_trace(tmp_path) == {"traceEvents": [1]}


@pytest.fixture
def small(monkeypatch, tmp_path):
    use_linear_networks(monkeypatch)
    env = EnvSettings(levels=write_levels(tmp_path), max_episode_steps=(5, 9), env=("view=planes",))
    monkeypatch.setattr(command, "base_config", lambda: RunConfig(env=env))


def test_the_command_profiles_a_real_program(tmp_path, capsys, small):
    out = tmp_path / "p.json"
    assert status_of(f"bench profile --case xla:4:2:3:1 --frames 24 --out {out} --top 3".split()) == 0
    document, output = json.loads(out.read_text()), capsys.readouterr()
    assert (document["path"], document["levels"], document["minibatch"]) == ("xla", 4, 2)
    assert document["ms_per_gradient_step"] > 0
    assert sum(row["percent"] for row in document["kinds"]) == pytest.approx(100, abs=1)
    assert len(document["kernels"]) > 3
    assert document["kernels"][2]["name"][:90] in output.out
    assert document["kernels"][3]["name"][:90] not in output.out.split("kernel\n")[1]
    assert "tracing" in output.err


def test_what_cannot_be_profiled_is_refused(capsys):
    for words, message in [
        ("--case cuda:256:32:20", "--case cuda:256:32:20: expected path:levels:minibatch:unroll:seeds"),
        ("--case gpu:256:32:20:1", "such as cuda:256:32:20:1"),
        ("--top 0", "--top must be at least 1"),
        ("--case cuda:4:2:3:1", "cannot profile cuda:4:2:3:1: the CUDA core cannot run"),
    ]:
        assert status_of(["bench", "profile", *words.split()]) == 2
        assert message in capsys.readouterr().err
