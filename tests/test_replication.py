"""Claims on many instances: which trials meet which, how often a claim holds, and what the page says of it."""

import dataclasses
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from curves import claim, curve, panel
from pages import rendered

from jaxids import cli, domains, kernels, policies, problems, simulate, tiles
from jaxids.experiment import load
from jaxids.plot import replication as pictured
from jaxids.report import page as pages
from jaxids.report import repeated, replication
from jaxids.report.verdicts import FAILS, HOLDS, OPEN, VACUOUS, verdicts

KEY, PAPER = jax.random.key(3), Path(__file__).parents[1] / "experiments" / "paper"


def first_mean(step):
    return step.instance.mean[0] + 0 * step.regret


@pytest.mark.slow
def test_trials_meet_the_first_instances_in_turn():
    ball = problems.unit_ball(5, 2)
    options = {"key": KEY, "steps": 3, "record": {"mean": first_mean}}
    fresh = simulate(ball, policies.ucb(), trials=7, **options)
    several = simulate(problems.several(ball, 7), policies.ucb(), trials=300, **options)
    means = several.series["mean"].final
    assert np.array_equal(means, fresh.series["mean"].final[np.arange(300) % 7])
    assert len(np.unique(means)) == 7
    assert np.array_equal(several.final[:7], fresh.final)
    assert len(np.unique(several.final.round(4))) > 7  # the noise is each trial's own


def test_instances_are_in_turn_beyond_the_whole_numbers_of_float32():
    trials = np.arange(2**24 - 3, 2**24 + 9, dtype=np.uint32)
    several = dataclasses.replace(FEW, count=jnp.float32(7))  # as the numbers of a program are
    of_several = jax.jit(tiles.instance_keys)(several, KEY, trials)
    assert jnp.array_equal(of_several, tiles.trial_keys(KEY, jnp.asarray(trials % 7))[0])


def test_other_numbers_of_instances_compile_once(caplog):
    ball = problems.unit_ball(5, 2)
    simulate(problems.several(ball, 3), policies.ucb(), key=KEY, trials=5, steps=4)
    with jax.log_compiles(True):
        simulate(problems.several(ball, 4), policies.ucb(), key=KEY, trials=5, steps=4)
    assert not [record for record in caplog.records if "_run_tile" in record.getMessage()]


@pytest.mark.parametrize(
    ("base", "count", "said"),
    [
        (3, 5, "base: got 3; it takes a problem that draws"),
        (problems.contextual(), 5, "base: got .*; it takes a problem that draws"),
        (problems.unit_ball(), 0, "count: got 0"),
        (problems.unit_ball(), 2.5, "count: got 2.5"),
        (problems.unit_ball(), 2**24 + 1, "count: got 16777217; it takes at most 16,777,216 instances"),
    ],
)
def test_what_cannot_be_is_refused(base, count, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        problems.several(base, count)


FEW = problems.several(problems.unit_ball(4, 2), 3)


@pytest.mark.parametrize(
    "outer",
    [
        problems.low_high,
        problems.probes,
        lambda base: problems.several(base, 2),
        lambda base: problems.contextual(base=base),
    ],
)
def test_several_comes_last(outer):
    """Inside another problem every trial would meet an instance of its own."""
    with pytest.raises(ValueError, match=r"^base: got several\(…\); it takes the problem "):
        outer(FEW)


def test_instances_on_a_box_are_refused():
    box = problems.continuous(domains.box([0.0], [1.0]), lambda x: x[0], 0.5, kernels.rbf(0.3), maximum=1.0)
    with pytest.raises(ValueError, match=r"^base: got one that draws Landscape; it takes one with finitely many"):
        problems.several(box, 3)


def on_instances(label, effects, rng, each=60):
    """A curve whose regret on instance i is 10 plus its effect, and noise; trials meet them in turn."""
    count = len(effects)
    final = 10 + np.tile(effects, each) + rng.normal(0, 1, count * each)
    one = curve(label, final)
    return dataclasses.replace(one, setting=one.setting | {"problem": {"actions": 3, "instances": count}})


@pytest.fixture
def half(rng, monkeypatch):
    """One policy is better by 3 on the first half of 40 instances, worse by 3 on ten more, and as good on the rest."""
    effects = np.repeat([-3.0, 3.0, 0.0], [20, 10, 10])
    noise = {"noise": -effects + rng.normal(0, 0.1, 40), "gap": rng.normal(size=40)}
    monkeypatch.setattr(replication, "_features", lambda setting, count: noise)
    one, other = on_instances("one", effects, rng), on_instances("other", np.zeros(40), rng)
    return panel(one, other, claims=[claim("less", one, other)])


def test_a_claim_is_decided_on_every_instance(half):
    (found,) = replication.replicated(half)
    assert np.all(found.verdicts[:20] == HOLDS)
    assert np.all(found.verdicts[20:30] == FAILS)
    assert np.mean(found.verdicts[30:] == OPEN) >= 0.7
    assert found.share(HOLDS) >= 0.5
    assert np.allclose(found.effects[:20], 0.7, atol=0.08)
    assert found.telling[0] == "noise"
    assert found.telling[1] < -0.8
    assert found.median("noise", HOLDS) == pytest.approx(3, abs=0.2)
    assert found.median("noise", FAILS) == pytest.approx(-3, abs=0.2)


def test_trials_that_share_instances_are_not_taken_for_independent_ones(half):
    assert verdicts([half]) == [[]]


def test_verdicts_on_one_instance_are_wrong_as_rarely_as_stated(rng, monkeypatch):
    """Equal policies on 1000 instances: 50 verdicts are expected, more than 85 have probability 1e-6."""
    monkeypatch.setattr(replication, "_features", lambda setting, count: {"noise": rng.normal(size=count)})
    one, other = (on_instances(name, np.zeros(1000), rng, each=40) for name in ("one", "other"))
    (found,) = replication.replicated(panel(one, other, claims=[claim("less", one, other)]))
    assert 20 < np.sum(found.verdicts != OPEN) <= 85


def test_the_page_says_on_which_share_it_holds(half):
    found = replication.replicated(half)
    text, (first, second) = rendered("replication", repeated.section(half, found)), repeated.lines(found)
    assert "on 40 random instances, with 60 trials or more on each" in text
    assert re.search(r"noise: median (2.9|3.0)\d where it holds", text)
    assert text.count("<tr>") == 2
    assert first == "so"
    assert second.strip().startswith("holds on 5")
    assert second.endswith("(final regret over that of the other; it takes at most 1.00)")


def test_a_claim_whose_control_holds_too_tells_nothing(rng, monkeypatch):
    """On the first ten of thirty instances the control is lower as well."""
    monkeypatch.setattr(replication, "_features", lambda setting, count: {"noise": rng.normal(size=count)})
    effects = {"one": np.full(30, -3.0), "other": np.zeros(30), "control": np.repeat([-3.0, 3.0], [10, 20])}
    curves = [on_instances(name, effect, rng) for name, effect in effects.items()]
    made = panel(*curves, claims=[claim("less", *curves[:2], control=["control", "other"])])
    (found,) = replication.replicated(made)
    assert np.all(found.verdicts[:10] == VACUOUS)
    assert np.all(found.verdicts[10:] == HOLDS)
    assert "<th>tells nothing</th>" in rendered("replication", repeated.section(made, [found]))
    assert "tells nothing on 33%" in list(repeated.lines([found]))[1]


def less_run(one, kept):
    """The same curve with some of its trials."""
    series = {"regret": one.series["regret"]._replace(final=one.final[kept])}
    read = {"regret": one.regret[kept]}.get
    return dataclasses.replace(one, trials=one.trials[kept], series=series, read=read)


def test_instances_that_were_not_run_are_left_out(half):
    """Of one curve there are no trials on the last ten instances, and few on the first."""
    one, other = half.curves
    kept = (one.trials % 40 < 30) & ((one.trials % 40 > 0) | (one.trials < 40 * 7))
    some = dataclasses.replace(half, curves=[less_run(one, kept), other])
    (found,) = replication.replicated(some)
    assert len(found.verdicts) == len(found.effects) == len(found.features["noise"]) == 30
    assert found.share(FAILS) == pytest.approx(1 / 3)
    text = rendered("replication", repeated.section(some, [found]))
    assert "with 7 trials or more (on 10 some policies were not run) on each" in text
    assert "<th>tells nothing</th>" not in text


def test_a_claim_on_curves_that_were_not_run_is_not_open(half):
    alone = dataclasses.replace(half, curves=half.curves[:1], missing=["other"])
    found = replication.replicated(alone)
    assert found[0].share(OPEN) == 0
    assert list(repeated.lines(found))[1].strip() == "not run"
    assert pictured.figure(found)


def test_features_are_of_distinct_means():
    """Copies of the best are not its second, and a single action has none."""
    rho, mean = np.array([[1.0, 1.0, 0.5, 0.5]]), np.array([[0.3, 0.8, 0.3, 0.8]])
    found = replication.described(rho, mean)
    assert found["the gap to the second"] == pytest.approx(0.5)
    assert found["ρ(x*), the noise of the best action"] == found["the noise of the second"] == 0.5
    assert "the gap to the second" not in replication.described(rho[:, :1], mean[:, :1])


def test_only_a_feature_that_goes_with_the_effect_is_named(half, rng):
    (found,) = replication.replicated(half)
    assert found._replace(features={"x": np.arange(40) % 2.0, "y": np.ones(40)}).telling is None
    assert found._replace(effects=np.ones(40)).telling is None
    few = found._replace(verdicts=found.verdicts[:3], effects=np.arange(3.0), features={"x": np.arange(3.0)})
    assert few.telling is None  # three fall into line by chance in one of three cases
    assert "nothing that was looked at" in rendered("replication", repeated.section(half, [few]))
    chance = [found._replace(features={str(i): rng.normal(size=40) for i in range(5)}).telling for _ in range(200)]
    assert sum(each is not None for each in chance) <= 27  # 10 are expected, more have probability 1e-6


@pytest.mark.parametrize(
    ("test", "numbers", "borders"), [("less", {"factor": 2}, [0.5]), ("same", {"margin": 0.2}, [0.8, 1.2])]
)
def test_the_figure_has_the_border_of_the_claim(test, numbers, borders, half):
    made = dataclasses.replace(half, table=half.table | {"claims": [claim(test, *half.curves, **numbers)]})
    _, effects, feature = pictured.figure(replication.replicated(made)).axes
    assert [line.get_xdata()[0] for line in effects.lines] == pytest.approx(borders)
    assert [line.get_ydata()[0] for line in feature.lines[-len(borders) :]] == pytest.approx(borders)


def test_a_run_over_instances_has_a_page_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = ["--set", 'policies=["IDS-UCB", "W-UCB", "UCB"]', "--steps", "20", "--trials", "6"]
    command = ["run", str(PAPER / "fig1b.toml"), "--instances", "5", *few]
    calls, right = [], pages.replicated
    monkeypatch.setattr(pages, "replicated", lambda panel: calls.append(panel.stem) or right(panel))
    assert cli.main(command) == 0
    assert calls == ["fig1b"]  # once for the figure, the page and the lines
    said = capsys.readouterr().out
    assert "of 5 instances; effect" in said
    (one,) = load.load(tmp_path / "instances").panels
    assert one.instances == 5
    assert all(len(each.trials) == 30 for each in one.curves)
    page = (tmp_path / "instances" / "report.html").read_text()
    assert "instances = 5" in page
    assert "<table class='replication'>" in page or 'class="replication"' in page
    assert (tmp_path / "instances" / "fig1b" / "fig1b-instances.png").stat().st_size > 10_000
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "instances").rglob("*") if path.is_file()}
    assert cli.main(command) == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", 'kind="linear"'], "instance"),
        (["--instances", "0"], "instances"),
        (["--set", "contexts=true"], "instances: got 5 together with contexts = true"),
    ],
)
def test_instances_that_cannot_be_are_named(more, said, tmp_path, capsys):
    command = ["run", str(PAPER / "fig1b.toml"), "--instances", "5", "--out", str(tmp_path / "out"), *more]
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(cli.main(command))
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
