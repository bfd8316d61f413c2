"""`foresight agents`: scores and cards, the folder layout there and back, and fetching by digest."""

import json
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from foresight.errors import ForesightError
from foresight.runs.agents import config_of, find_model, shipped_names
from foresight.runs.cards import SHIPPED, agent_file, read_card
from foresight.runs.config import NetSettings, RunConfig
from foresight.runs.exchange import digest, download, fetch_agent, read_manifest
from foresight.runs.train import run_training
from foresight.runs.weights import load_weights
from tests.app.small_runs import status_of, use_linear_networks, write_levels
from tests.runs.small_run import CONFIG
from tests.runs.test_agents import write_weights


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORESIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "agents"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The bytes of a small agent's file."""
    use_linear_networks(monkeypatch)
    levels = write_levels(tmp_path)
    config = RunConfig(env=RunConfig().env.__class__(levels=levels), net=NetSettings())
    write_weights(tmp_path / "small.safetensors", config)
    return (tmp_path / "small.safetensors").read_bytes()


def document(capsys, *words: str):
    assert status_of(["agents", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_agent_has_a_card_that_agrees_with_its_file(name):
    path = SHIPPED / f"{name}.safetensors"
    card, weights = read_card(path), load_weights(path)
    config = config_of(weights)
    assert (card.name, card.domain, card.network) == (name, config.domain, config.net.label)
    assert card.steps == weights.steps
    assert card.scores
    assert all(score.ci95[0] <= score.value <= score.ci95[1] for score in card.scores)
    assert all((score.solved_percent is None) == config.is_scored for score in card.scores)
    assert all(name in score.command for score in card.scores)
    assert card.limits


def test_agents_are_listed_with_their_scores(capsys):
    rows = document(capsys)
    assert rows == document(capsys, "list")
    assert [row["name"] for row in rows] == shipped_names()
    for row in rows:
        assert {"name", "domain", "steps", "scores"} <= set(row)
        what = "score_mean" if row["domain"] == "minipacman" else "solved_percent"
        assert all(set(score) == {"levels", "think", what, "ci95"} for score in row["scores"])
    assert status_of(["agents"]) == 0
    table = capsys.readouterr().out
    assert "unfiltered-valid 97.4 %" in table
    assert "minipacman 661.4\n" in table
    assert "[:" not in table, "of parts of sets the cards tell"
    assert max(map(len, table.splitlines())) < 160


def test_a_card_is_shown(capsys):
    assert status_of(["agents", "show", "drc33-100m"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# drc33-100m\n")
    assert "| hard | 3,332 | 8 | 28.51 | 27.00 to 30.07 |" in text
    assert "## Limits" in text
    assert document(capsys, "show", "drc33-100m")["steps"] == 100_352_000


def test_a_card_of_a_game_without_solutions_has_mean_scores(capsys):
    assert status_of(["agents", "show", "drc33-minipacman"]) == 0
    text = capsys.readouterr().out
    assert "| levels | episodes | thinking steps | mean score | interval |" in text
    assert "| minipacman | 512 | 0 | 661.36 | 646.24 to 676.49 |" in text
    assert "solved %" not in text
    assert "solved_percent" not in document(capsys, "show", "drc33-minipacman")["scores"][0]


def test_an_agent_goes_out_and_comes_back_under_another_name(tmp_path, capsys, cache):
    assert status_of(["agents", "export", "drc33-100m", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    readme = (tmp_path / "out" / "README.md").read_text()
    assert readme.startswith("---\nlibrary_name: foresight\n")
    assert "# drc33-100m" in readme
    assert status_of(["agents", "import", str(tmp_path / "out"), "--name", "mine"]) == 0
    assert find_model("mine") == cache / "mine.safetensors"
    assert (cache / "mine.safetensors").read_bytes() == agent_file("drc33-100m").read_bytes()
    card = read_card(cache / "mine.safetensors")
    assert (card.name, card.scores[0].command[:24]) == ("mine", "foresight evaluate mine ")
    capsys.readouterr()
    assert [row["name"] for row in document(capsys)] == [*shipped_names(), "mine"]


def test_an_agent_of_ones_own_goes_out_from_its_run_and_its_checkpoints(tmp_path, monkeypatch, capsys, cache):
    use_linear_networks(monkeypatch)
    config = replace(CONFIG, env=replace(CONFIG.env, levels=write_levels(tmp_path)), seeds=2)
    run_training(config, tmp_path / "drc.v2", say=lambda text: None)
    for model, name in ((f"{tmp_path}/drc.v2", "drc.v2"), (f"{tmp_path}/drc.v2@480", "drc.v2-12")):
        assert status_of(["agents", "export", model, str(tmp_path / "out" / name)]) == 0
        assert "license" not in (tmp_path / "out" / name / "README.md").read_text()
        assert status_of(["agents", "import", str(tmp_path / "out" / name)]) == 0
        assert equal(load_weights(cache / f"{name}.safetensors"), load_weights(tmp_path / "drc.v2"))
    capsys.readouterr()
    assert [row["name"] for row in document(capsys)][-2:] == ["drc.v2-12", "drc.v2"]


def equal(one, other):
    return {n: a.tobytes() for n, a in one.arrays.items()} == {n: a.tobytes() for n, a in other.arrays.items()}


def with_score(config, **changes):
    first, *others = config["card"]["scores"]
    return config["card"] | {"scores": [first | changes, *others]}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda config: config | {"steps": 1}, "differ in 'steps'"),
        (lambda config: config | {"run": config["run"] | {"seed": 7}}, "differ in 'run'"),
        (lambda config: config | {"model_type": "bert"}, "is not of a foresight agent"),
        (lambda config: config | {"card": {"name": 3}}, "is not a model card"),
        (lambda config: [], "is not of a foresight agent"),
        (lambda config: config | {"card": config["card"] | {"summary": {"x": "y"}}}, "its 'summary' is not a text"),
        (lambda config: config | {"card": config["card"] | {"steps": True}}, "its 'steps' is not a number"),
        (lambda config: config | {"card": config["card"] | {"training": ["x"]}}, "its 'training' is not texts by name"),
        (lambda config: config | {"card": config["card"] | {"limits": [3]}}, "its 'limits' holds something else than"),
        (lambda config: config | {"card": config["card"] | {"summary": "\x1b[2J"}}, "its 'summary' holds something"),
        (lambda config: config | {"card": with_score(config, count=[])}, "its 'count' is not a number"),
        (lambda config: config | {"card": with_score(config, score_mean=5.0)}, "either 'solved_percent'"),
        (lambda config: config | {"card": with_score(config, solved_percent="x")}, "'solved_percent' is not a number"),
    ],
)
def test_a_folder_that_does_not_fit_together_is_rejected(spoil, message, tmp_path, capsys, cache):
    assert status_of(["agents", "export", "drc33-100m", str(tmp_path / "out")]) == 0
    path = tmp_path / "out" / "config.json"
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    assert status_of(["agents", "import", str(tmp_path / "out"), "--name", "mine"]) == 2
    assert message in capsys.readouterr().err
    assert not cache.exists()


def test_what_is_there_is_not_written_over(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    assert status_of(["agents", "export", "drc33-100m", str(tmp_path / "out")]) == 2
    assert "is there and not an empty folder" in capsys.readouterr().err
    assert status_of(["agents", "export", "drc33-100m", str(tmp_path / "new")]) == 0
    for name, message in (("drc33-100m", "comes with the package"), ("../up", "cannot be called")):
        assert status_of(["agents", "import", str(tmp_path / "new"), "--name", name]) == 2
        assert message in capsys.readouterr().err


def write_manifest(folder, address: str, content: bytes, **changes):
    entry = {"name": "far", "url": address, "sha256": digest(content), "size": len(content)} | changes
    (folder / "manifest.json").write_text(json.dumps({"agents": [entry]}))
    return folder / "manifest.json"


def test_an_agent_is_fetched_from_a_server_once_and_verified(tmp_path, small, cache, capsys):
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        manifest = write_manifest(tmp_path, f"http://127.0.0.1:{server.server_port}/small.safetensors", small)
        assert status_of(["agents", "fetch", "far", "--manifest", str(manifest)]) == 0
        server.shutdown()
    assert (cache / "far.safetensors").read_bytes() == small
    assert fetch_agent("far", manifest) == cache / "far.safetensors", "it is here: no server is asked"
    capsys.readouterr()
    (far,) = [row for row in document(capsys) if row["name"] == "far"]
    assert (far["domain"], far["shipped"], far["scores"]) == ("sokoban", False, [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": 64 * "0"}, "its digest is not the one published"),
        ({"size": 10}, "is longer than the 10 bytes"),
        ({"size": 1 << 40}, "expected at most"),
        ({"url": "ftp://nowhere/x"}, "expected an address that starts with https://"),
        ({"url": "file:///nowhere/at/all"}, "cannot download"),
        ({"url": "http://127.0.0.1:1/x"}, "cannot download"),
        ({"card": {"name": "far"}}, "card of 'far' is not a model card"),
        ({"name": "other"}, "there is no agent to fetch 'far'; there are: other"),
    ],
)
def test_what_is_not_the_agent_is_not_kept(changes, message, tmp_path, small, cache):
    manifest = write_manifest(tmp_path, (tmp_path / "small.safetensors").as_uri(), small, **changes)
    with pytest.raises(ForesightError, match=message):
        fetch_agent("far", manifest)
    assert not cache.exists()


def test_what_comes_with_the_package_is_not_fetched_and_no_agents_are_none(tmp_path):
    with pytest.raises(ForesightError, match="nothing to fetch: 'drc33-100m' is here"):
        fetch_agent("drc33-100m")
    (tmp_path / "manifest.json").write_text('{"agents": []}')
    with pytest.raises(ForesightError, match="there is no agent to fetch 'far'; there are: none"):
        fetch_agent("far", tmp_path / "manifest.json")


def test_a_local_file_is_fetched_and_the_progress_reported(tmp_path, small):
    manifest = write_manifest(tmp_path, (tmp_path / "small.safetensors").as_uri(), small)
    seen = []
    assert download(read_manifest(manifest)["far"], seen.append) == small
    assert seen[-1] == len(small)


def test_the_packages_manifest_is_whole():
    assert all(len(remote.sha256) == 64 for remote in read_manifest().values())


@pytest.mark.parametrize("text", ["[", "{}", '{"agents": [3]}', '{"agents": [{"name": "x"}]}'])
def test_a_manifest_that_is_none_is_rejected(text, tmp_path):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ForesightError, match=r"m\.json is not"):
        read_manifest(tmp_path / "m.json")


@pytest.mark.parametrize("wrong", [{"name": ["far"]}, {"url": 5}, {"sha256": None}, {"size": "x"}])
def test_a_list_of_agents_with_entries_of_other_kinds_is_rejected(wrong, tmp_path):
    manifest = write_manifest(tmp_path, "http://127.0.0.1:9/x", b"", **wrong)
    with pytest.raises(ForesightError, match="is not a list of agents"):
        read_manifest(manifest)
