"""The example notebook runs from top to bottom, at a tiny size."""

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "inside_the_agent.ipynb"


def test_the_notebook_runs_from_top_to_bottom(monkeypatch, capsys):
    monkeypatch.setenv("FORESIGHT_EXAMPLE_EPISODES", "1")
    monkeypatch.setenv("FORESIGHT_EXAMPLE_STEPS", "2")
    notebook, names = json.loads(NOTEBOOK.read_text()), {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are not kept: they would grow old"
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, {cell['id']}", "exec"), names)
    output = capsys.readouterr().out
    assert "c: time-steps, ticks, modules, rows, columns, channels = (2, 3, 3, 10, 10, 32)" in output
    assert output.count("layer") >= 3
    assert "early cycles in 1 episodes" in output
