from dataclasses import replace

import pytest

from foresight.errors import ForesightError
from foresight.learning.settings import LearnSettings
from foresight.runs.build import build_env
from foresight.runs.config import EnvSettings, NetSettings, RunConfig
from foresight.runs.presets import LEARNING, PRESETS, preset


def test_whole_chunks_cover_the_steps():
    learn = LearnSettings(num_envs=4, minibatch=4, unroll=5)  # 20 frames an iteration
    assert RunConfig(steps=1, iterations_per_call=3, learn=learn).iterations == 3
    assert RunConfig(steps=60, iterations_per_call=3, learn=learn).iterations == 3
    assert RunConfig(steps=61, iterations_per_call=3, learn=learn).iterations == 6


def test_the_learning_rate_falls_until_the_end_of_the_run_unless_said_otherwise():
    learn = LearnSettings(num_envs=4, minibatch=4, unroll=5)
    assert (
        RunConfig(steps=61, iterations_per_call=3, learn=learn).schedule.anneal_steps == 120
    )  # as many as there are in whole calls
    assert RunConfig(steps=5e6, learn=LearnSettings(anneal_steps=1e9)).schedule.anneal_steps == 1e9


def test_only_what_is_said_of_a_network_is_passed_on():
    assert NetSettings().keywords() == {"dtype": "float32"}
    said = NetSettings(depth=2, ticks=4, net_set=("hidden=8",)).keywords()
    assert said == {"dtype": "float32", "depth": 2, "ticks": 4, "hidden": 8}


def test_networks_are_named_as_in_the_paper():
    assert NetSettings(depth=3, ticks=2).label == "DRC(3,2)"
    assert NetSettings(net="vin", depth=10).label == "VIN(10)"
    assert NetSettings(net="resnet").label == "ResNet"


def test_a_preset_for_another_network_or_domain_keeps_how_it_learns():
    quick = PRESETS["quick"]()
    other = preset("quick", "boxworld", "resnet")
    assert other.learn == quick.learn
    assert (other.net, other.env.env) == (NetSettings(net="resnet"), ())
    assert preset("quick", "sokoban", "drc") == quick


def test_the_paper_preset_holds_the_numbers_of_the_appendix():
    paper = PRESETS["paper"]()
    learn = paper.learn
    assert (learn.minibatch, learn.unroll, learn.discount, learn.td_lambda) == (32, 20, 0.97, 0.97)
    assert (learn.learning_rate, learn.beta1, learn.beta2, learn.epsilon) == (4e-4, 0.9, 0.999, 1e-4)
    assert (learn.entropy_weight, learn.logit_l2, learn.head_weight_l2) == (0.01, 1e-3, 1e-5)
    assert (paper.steps, paper.env.max_episode_steps) == (1e9, (120, 120))


def test_atari_has_the_papers_cap_and_sizes_that_fit_games_on_the_host():
    paper = preset("paper", "atari")
    assert paper.env == EnvSettings(levels="", max_episode_steps=(27_000, 27_000))
    assert (paper.learn, paper.net) == (PRESETS["paper"]().learn, PRESETS["paper"]().net)
    usual = preset("default", "atari")
    assert usual.learn == replace(PRESETS["default"]().learn, num_envs=128)
    for config in (paper, usual):
        assert 5_000 < config.iterations_per_call * config.learn.steps_per_iteration <= 10_000
    assert [preset("default", domain).is_on_host for domain in ("atari", "minipacman")] == [True, False]


def test_gridworlds_default_leaves_gradients_their_length_and_other_presets_and_domains_are_as_they_were():
    usual, sokoban = preset("default", "gridworld"), PRESETS["default"]().learn
    assert (usual.learn.max_gradient_norm, usual.learn.regularisation_decay) == (0, 0.01)
    assert (
        replace(usual.learn, **{name: getattr(sokoban, name) for name in LEARNING["default", "gridworld"]}) == sokoban
    )
    assert preset("default", "boxworld").learn == sokoban
    assert preset("paper", "gridworld").learn == PRESETS["paper"]().learn


def test_the_a3c_preset_learns_from_each_unroll_once_at_once():
    learn = PRESETS["a3c"]().learn
    assert learn.gradient_steps_per_iteration == 1
    assert learn.td_lambda == 1


@pytest.mark.parametrize(("steps", "switch"), [(1e9, 200_089_600), (1e8, 20_070_400)])
def test_the_long_preset_goes_on_to_medium_levels_and_larger_minibatches_after_a_fifth_of_any_run(steps, switch):
    first, second = replace(PRESETS["long"](), steps=steps).plan
    assert (first.levels, second.levels, second.steps_before) == (None, "medium-train", switch)
    sizes = [(phase.settings.num_envs, phase.settings.minibatch, phase.settings.discount) for phase in (first, second)]
    assert sizes == [(256, 32, 0.99), (1024, 128, 0.99)]


def test_the_long_preset_in_other_domains_names_no_levels_and_on_the_host_has_one_phase():
    sizes = "num_envs=1024 minibatch=128"
    assert preset("long", "gridworld").phases == ("until=20%", sizes)
    assert preset("long", "sokoban").phases == ("until=20%", f"{sizes} levels=medium-train")
    assert preset("long", "atari").phases == ()


@pytest.mark.parametrize("change", [{"steps": float("inf")}, {"iterations_per_call": 0}, {"seed": -1}])
def test_a_run_that_cannot_be_is_refused(change):
    with pytest.raises(ForesightError, match=f"`{next(iter(change))}` must be"):
        replace(RunConfig(), **change)


def test_caps_must_rise():
    with pytest.raises(ForesightError, match="`max_episode_steps`"):
        EnvSettings(max_episode_steps=(5, 4))


@pytest.mark.parametrize(("domain", "known"), [("sokoban", False), ("boxworld", True)])
def test_an_unknown_setting_of_a_domain_lists_those_that_can_be_given_there(domain, known):
    config = RunConfig(domain=domain, env=EnvSettings(levels="builtin/mini-train", env=("caps=[1, 2]",)))
    with pytest.raises(ForesightError, match=rf"there is no setting of {domain} 'caps'.*; there are: ") as raised:
        build_env(config)
    listed = str(raised.value).partition("there are: ")[2].split(", ")
    assert ("levels" in listed) == known
    for name in listed:
        with pytest.raises(ForesightError) as rejected:
            build_env(replace(config, env=replace(config.env, env=(f"{name}=[[]]",))))
        assert "setting of its own" not in str(rejected.value)


def test_numbers_that_are_each_in_range_and_too_large_together_are_rejected():
    with pytest.raises(ForesightError, match=r"come to 8,388,608,000,000 steps in whole calls, expected at most 100,0"):
        RunConfig(learn=LearnSettings(num_envs=1 << 22, minibatch=1 << 22, unroll=100_000))


def test_weights_are_not_averaged_over_more_steps_than_there_are():
    small = RunConfig(steps=2e7, learn=LearnSettings(average_steps=1e6))
    with pytest.raises(ForesightError, match=r"`average_steps` 100,000,000 is more than the run's 20,\d+"):
        replace(small, learn=LearnSettings(average_steps=1e8))
