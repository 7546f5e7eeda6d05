"""A tile is the same trials whichever way it runs: on a CPU, as an accelerator's loop, or inside a kernel."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import (
    agreement,
    fused,
    information,
    kernels,
    layouts,
    loops,
    planes,
    policies,
    problems,
    ratio,
    special,
    tiles,
    ways,
    workers,
)

KEY, AT = jax.random.key(5), np.array([10, 300], np.int32)
AT_ALL = np.array([100, 5000], np.int32)  # of a run
BALL = problems.unit_ball(6, 2)
HOOKS = {"series": (), "record": None, "total": None}
LOOP, KERNEL = loops.Way("gpu", steps=300), loops.Way("gpu", kernel=True, interpreted=True)


def regrets(policy, way, problem=BALL, width=256, at=AT):
    found, _, _, fault = tiles.compiled("cpu")(problem, policy, KEY, 0, at, width=width, way=way, **HOOKS)
    assert not np.any(fault.kind)
    return np.asarray(found["regret"])


def apart(one, other):
    """Why the regrets of two ways do not agree, or nothing."""
    outcomes = [agreement.Outcome(*regrets, np.zeros(regrets.shape[1])) for regrets in (one, other)]
    return "; ".join(agreement.reasons([agreement.compare(*outcomes)])[0])


@pytest.fixture(scope="module")
def plain():
    """The regrets of the CPU's own program, by policy."""
    return {name: regrets(policy, loops.Way()) for name, policy in policies.PAPER.items()}


@pytest.mark.parametrize("name", policies.PAPER)
def test_every_policy_is_itself_inside_a_kernel(name, plain):
    """After 10 steps every trial is the same to 1e-4; after 300 at most 2 % went apart, at a near-tie."""
    inside = regrets(policies.PAPER[name], KERNEL)
    np.testing.assert_allclose(inside[0], plain[name][0], atol=1e-4)
    assert np.mean(np.abs(inside[1] - plain[name][1]) > 1e-3) <= 0.02
    assert apart(inside, plain[name]) == ""


@pytest.mark.parametrize("name", ["UCB", "W-TS", "IDS-F", "IDS-UCB", "DIDS-TS", "IDS-E"])
def test_an_accelerators_loop_is_the_same_program(name, plain):
    found = regrets(policies.PAPER[name], LOOP)
    np.testing.assert_allclose(found[0], plain[name][0], atol=1e-4)
    assert apart(found, plain[name]) == ""


@pytest.mark.parametrize("name", ["W-UCB", "IDS-TS"])
def test_two_axes_of_lanes_on_a_tpu(name):
    policy = policies.PAPER[name]
    wide = regrets(policy, loops.Way(), width=1024)
    for way in (loops.Way("tpu", steps=300, folded=True), KERNEL._replace(platform="tpu")):
        assert apart(regrets(policy, way, width=1024), wide) == ""


def test_points_are_written_where_they_belong():
    at = np.array([1, 2, 7, 8, 40], np.int32)
    policy = policies.PAPER["W-UCB"]
    plain = regrets(policy, loops.Way(), at=at)
    for way in (loops.Way("gpu", steps=40), KERNEL):
        np.testing.assert_allclose(regrets(policy, way, at=at), plain, atol=1e-4)


@pytest.mark.parametrize("other", ["UCB", "W-TS"])
def test_another_policy_does_not_agree(other, plain):
    assert "trials differ after the first steps" in apart(plain[other], plain["W-UCB"])


def test_a_kernel_that_is_slightly_wrong_does_not_agree(plain, monkeypatch):
    right = special.erf_inv
    monkeypatch.setitem(planes.EXPANDED, "erf_inv", lambda x: 1.02 * right(x))
    assert "differ" in apart(regrets(policies.ts(scale=1.0), KERNEL), plain["W-TS"])


class Device:
    """Tiles of an accelerator, here on a CPU; which ways were tried."""

    def __init__(self, policy, problem=BALL, fails=None):
        self.policy, self.problem, self.fails, self.tried = policy, problem, fails, []

    def __call__(self, at, way, **hooks):
        self.tried.append(way)
        if way.kernel and self.fails:
            raise self.fails
        way = way._replace(interpreted=way.kernel)
        return tiles.compiled("cpu")(self.problem, self.policy, KEY, 0, at, width=256, way=way, **hooks)

    def trace(self, at, **given):
        return tiles.compiled("cpu").trace(self.problem, self.policy, KEY, 0, at, width=256, **given)

    def chosen(self, platform="gpu", **hooks):
        return ways.chosen(self.problem, self.policy, platform, AT_ALL, hooks, partial(self, **{**HOOKS, **hooks}))


@pytest.fixture(autouse=True)
def _untried(monkeypatch):
    monkeypatch.setattr(ways, "_tried", {})
    monkeypatch.delenv(ways.VARIABLE, raising=False)


def test_a_kernel_that_agrees_is_tried_once_and_used(capsys):
    device = Device(policies.PAPER["W-UCB"])
    for _ in range(2):
        assert device.chosen() == loops.Way("gpu", kernel=True)
    assert [way.kernel for way in device.tried] == [False, True]
    assert capsys.readouterr().err == ""


def test_a_kernel_that_does_not_agree_is_left_out_in_one_line(capsys, monkeypatch):
    right = special.erf_inv
    monkeypatch.setitem(planes.EXPANDED, "erf_inv", lambda x: -right(x))
    device = Device(policies.ts(scale=1.5))
    assert device.chosen() == loops.Way("gpu", steps=5000)
    (line,) = capsys.readouterr().err.splitlines()
    assert "do not agree" in line
    assert "JAXIDS_KERNEL=0" in line


def test_a_kernel_that_does_not_compile_is_left_out_in_one_line(capsys):
    device = Device(policies.PAPER["W-UCB"], fails=RuntimeError("no such\ninstruction"))
    assert device.chosen() == loops.Way("gpu", steps=5000)
    (line,) = capsys.readouterr().err.splitlines()
    assert "does not run here (RuntimeError: no such instruction)" in line


class Clock:
    """A rule with one memory for all trials."""

    def init(self, band):
        return jnp.int32(0)

    def __call__(self, band, source, memory):
        return policies.Choice(jnp.zeros(band.rho.shape[1:], jnp.int32) + memory % 2)

    def update(self, memory, band, choice, reward):
        return memory + 1


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (policies.PAPER["IDS-UCB"], problems.gp(np.linspace(0, 1, 40)[:, None], kernels.matern12(0.1), 0.3)),
        (policies.ids(information.ucb, solver=ratio.pairs), BALL),
        (policies.PAPER["W-UCB"], problems.contextual(6, 2)),
        (policies.Policy(Clock()), BALL),
        (policies.PAPER["W-UCB"], problems.unit_ball(256, 2)),
    ],
    ids=[
        "a large root",
        "a scan over rows",
        "new actions at every step",
        "a shared memory",
        "as many actions as lanes",
    ],
)
def test_what_cannot_be_a_kernel_is_a_loop_without_a_try(policy, problem, capsys):
    device = Device(policy, problem)
    assert device.chosen().steps == 5000
    assert not device.tried
    assert capsys.readouterr().err == ""


def test_only_gpus_and_tpus_have_kernels():
    device = Device(policies.PAPER["W-UCB"])
    assert device.chosen("METAL") == loops.Way("METAL", steps=5000)
    assert not device.tried


def twice_in_a_kernel(step):
    return step.regret * (2 if layouts.current() == layouts.KERNEL else 1)


@pytest.mark.parametrize(("hook", "trusted"), [(twice_in_a_kernel, False), (lambda step: step.band.beta, True)])
def test_what_is_recorded_must_agree_too(hook, trusted, capsys):
    device = Device(policies.PAPER["W-UCB"])
    assert device.chosen(record=hook).kernel == trusted
    assert ("what is recorded differs" in capsys.readouterr().err) != trusted


class Claimed(NamedTuple):
    """A device that says what it is."""

    platform: str


def test_a_run_asks_for_its_way_with_its_own_first_tile(monkeypatch):
    """An accelerator's part of a run, on a CPU that says it is one: a kernel is traced, refused, and the loop runs."""
    asked = []

    def refused(step, trials, carry, platform):
        asked.append(platform)
        raise planes.Unsupported("today")

    monkeypatch.setattr(fused, "program", refused)
    monkeypatch.setattr(workers, "compiled", lambda platform: tiles.compiled("cpu"))
    device = Claimed("gpu")
    monkeypatch.setattr(workers, "placed", lambda tree, device: jax.tree.map(workers._default_precision, tree))
    run = partial(workers.run, BALL, policies.PAPER["W-UCB"], key=KEY, trials=300, at=np.array([5, 20], np.int32))
    (tile,) = run(devices=[device])
    assert asked == ["gpu"]
    plain = np.concatenate([each.series["regret"] for each in run()], axis=-1)
    np.testing.assert_allclose(tile.series["regret"], plain, atol=1e-4)


def test_the_environment_leaves_kernels_out(monkeypatch):
    monkeypatch.setenv(ways.VARIABLE, "0")
    device = Device(policies.PAPER["W-UCB"])
    assert device.chosen() == loops.Way("gpu", steps=5000)
    assert not device.tried
    assert ways.setting("gpu") == {"kernel": False}
    assert ways.setting("cpu") == {}
    monkeypatch.setenv(ways.VARIABLE, "yes")
    with pytest.raises(ValueError, match="JAXIDS_KERNEL: got 'yes'; it takes 1"):
        device.chosen()


def test_a_cpu_goes_by_points():
    assert ways.chosen(BALL, policies.PAPER["W-UCB"], "cpu", AT_ALL, {}, None) == loops.Way()


def test_layouts_hold_inside_and_no_longer():
    assert layouts.current() == layouts.CPU
    with layouts.laid_out(layouts.KERNEL):
        assert layouts.current() == layouts.KERNEL
    assert layouts.current() == layouts.CPU


def program(policy, problem):
    trials = tiles.begun(problem, KEY, jnp.arange(128, dtype=jnp.uint32))
    carry = tiles._started(problem, policy, trials)._replace(series={})
    step = lambda *given: tiles._step(problem, policy, tiles._Hooks((), None, None), *given)  # noqa: E731
    return fused.program(step, trials._replace(contexts=()), carry, "gpu")


def test_a_step_too_large_for_a_kernel_is_refused():
    with pytest.raises(planes.Unsupported, match="a kernel takes 8000"):
        program(policies.PAPER["IDS-UCB"], problems.unit_ball(60, 5))


def test_the_papers_size_has_room_in_a_kernel_for_every_policy():
    problem = problems.unit_ball(30, 3)
    sizes = [planes.operations(program(policy, problem).jaxpr, 128) for policy in policies.PAPER.values()]
    assert 1200 < min(sizes) < max(sizes) < 6200
