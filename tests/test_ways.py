"""A tile is the same trials whether its loop is that of a CPU or that of an accelerator, here run on a CPU."""

from functools import cache, partial
from typing import NamedTuple

import jax
import numpy as np
import pytest
from scale import at_scale

from jaxids import doctor, domains, layouts, loops, policies, problems, tiles, ways, workers

KEY, STEPS = jax.random.key(5), 300
AT = np.array([1, 2, 7, 8, 10, STEPS], np.int32)
BALL = problems.unit_ball(6, 2)
PLANS = {"cpu": ways.chosen(BALL, "cpu", STEPS), "gpu": ways.chosen(BALL, "gpu", STEPS)}


@cache
def regrets(name, platform):
    """Regrets [points, trials] of a policy by the loop of a platform: one program for all tests."""
    hooks = {"series": (), "record": None, "total": None}
    run = partial(tiles.compiled("cpu"), BALL, policies.PAPER[name], KEY, 0, AT, width=256)
    found, _, _, fault = run(way=PLANS[platform], **hooks)
    assert not np.any(fault.kind)
    return np.asarray(found["regret"])


def apart(one, other):
    """Why the regrets of two ways do not agree, or nothing."""
    return doctor.disagreement(other[-2:], one[-2:])


@pytest.mark.parametrize("name", at_scale(["UCB", "W-TS", "IDS-F", "IDS-UCB", "DIDS-TS", "IDS-E"], ["W-TS"]))
def test_an_accelerators_loop_is_the_same_program(name):
    found, plain = regrets(name, "gpu"), regrets(name, "cpu")
    np.testing.assert_allclose(found[-2], plain[-2], atol=1e-4)
    assert apart(found, plain) == ""


def test_points_are_written_where_they_belong():
    found, plain = regrets("W-TS", "gpu"), regrets("W-TS", "cpu")
    assert np.all(np.diff(plain.mean(axis=1)) > 0.01)  # no two points are alike
    np.testing.assert_allclose(found[:-1], plain[:-1], atol=1e-4)


@pytest.mark.parametrize("other", ["UCB", "W-TS"])
def test_another_policy_does_not_agree(other):
    assert "trials differ after the first steps" in apart(regrets(other, "cpu"), regrets("IDS-UCB", "cpu"))


def test_a_loop_is_planned_by_platform_length_and_problem():
    box = problems.continuous(domains.box([0.0], [1.0]), lambda x: x[0], 0.3)
    assert ways.chosen(BALL, "cpu", 5000) == loops.Way()
    assert ways.chosen(BALL, "gpu", 5000) == loops.Way("gpu", 5000, loops.TURN)
    assert ways.chosen(BALL, "tpu", loops.LONG - 1) == loops.Way("tpu", loops.LONG - 1, 1)
    assert ways.chosen(problems.contextual(6, 2), "METAL", 5000) == loops.Way("METAL", 5000, loops.TURN)
    assert ways.chosen(box, "gpu", 5000) == loops.Way("gpu", 5000, 1)


class Claimed(NamedTuple):
    """A device that says what it is."""

    platform: str


def test_a_run_takes_the_loop_of_its_device(monkeypatch):
    """An accelerator's part of a run, on a CPU that says it is one."""
    asked = []
    monkeypatch.setattr(workers, "compiled", lambda platform: asked.append(platform) or tiles.compiled("cpu"))
    monkeypatch.setattr(workers, "placed", lambda tree, device: jax.tree.map(workers._default_precision, tree))
    run = partial(workers.run, BALL, policies.PAPER["W-UCB"], key=KEY, trials=300, at=np.array([5, 20], np.int32))
    (tile,) = run(devices=[Claimed("gpu")])
    assert set(asked) == {"gpu"}
    plain = np.concatenate([each.series["regret"] for each in run()], axis=-1)
    np.testing.assert_allclose(tile.series["regret"], plain, atol=1e-4)


def test_layouts_hold_inside_and_no_longer():
    assert layouts.current() == layouts.CPU
    with layouts.laid_out(layouts.ACCELERATOR):
        assert layouts.current() == layouts.ACCELERATOR
    assert layouts.current() == layouts.CPU
