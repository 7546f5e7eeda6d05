"""The simulator: against a naive loop on the same noise, bit for bit across batches, and compiled once for a sweep.

False alarms: the means of the two precisions, which draw different numbers, are compared at 4.5 standard errors: 7e-6.
"""

import dataclasses
import subprocess
import sys

import compilations
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import loop
from scale import at_scale

from jaxids import draws, policies, problems, ratio, simulate
from jaxids.simulator import recorded_steps

STEPS, KEY = 200, jax.random.key(3)
AT = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
BALL = problems.unit_ball(6, 2)
FIXED = problems.linear([[1, 0], [0, 0.9], [0.5, 0.5]], [0.6, 0.8], [0.3, 0.6, 1.0])


def run(problem, name, trials=300, steps=STEPS, **options):
    policy = policies.PAPER[name] if isinstance(name, str) else name
    return simulate(problem, policy, key=KEY, trials=trials, steps=steps, **options)


def action_of(step):
    return step.choice.action


def all_of(step):
    return step.choice, step.reward, step.instance._replace(features=None)


@pytest.fixture
def double():
    """Everything in float64, in every thread."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def own_inputs(problem, trial, steps):
    """The instance and the noise [steps] of a trial, by the keys it documents."""
    key = jax.random.fold_in(KEY, trial)
    words = draws.stream(jax.random.fold_in(key, 1))
    noise = jax.vmap(lambda t: problem.noise(draws.Stream(words, t)))(jnp.arange(steps, dtype=jnp.uint32))
    return problem.draw(jax.random.fold_in(key, 0)), noise


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", at_scale(["W-UCB", "DIDS-UCB", "DIDS-F"], ["DIDS-UCB"]))
def test_every_step_equals_a_naive_loop(name):
    problem = problems.unit_ball(6, 2)
    result = run(problem, name, trials=3, at=range(1, STEPS + 1), record=action_of)
    played = []
    for trial in range(3):
        instance, noise = jax.tree.map(np.asarray, own_inputs(problem, trial, STEPS))
        given = instance.features.T, instance.mean, instance.rho, instance.rho_bound
        played.append(loop.trial(name, *given, STEPS, np.random.default_rng(), noise))
    actions, regret = map(np.stack, zip(*played, strict=True))
    np.testing.assert_array_equal(result.recorded, actions)
    np.testing.assert_allclose(result.mean, regret.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.final, regret[:, -1], rtol=1e-12)
    assert all(len(np.unique(row)) > 1 for row in actions)


@pytest.mark.usefixtures("double")
def test_double_precision_agrees_in_the_mean():
    fine = run(problems.unit_ball(6, 2), "W-UCB", trials=512, at=range(1, STEPS + 1), record=action_of)
    jax.config.update("jax_enable_x64", False)
    coarse = run(BALL, "W-UCB", trials=512)
    assert (fine.final.dtype, coarse.final.dtype) == (np.float64, np.float32)
    assert abs(fine.mean[-1] - coarse.mean[-1]) < 4.5 * np.hypot(fine.stderr[-1], coarse.stderr[-1])


def test_double_precision_by_context():
    with jax.enable_x64(True):
        result = run(problems.unit_ball(6, 2), "W-UCB", trials=1, at=range(1, STEPS + 1), record=action_of)
    assert result.final.dtype == np.float64


@pytest.fixture(scope="module")
def recorded():
    return {name: run(BALL, name, trials=700, at=AT, record=all_of) for name in ("W-UCB", "IDS-UCB", "IDS-TS")}


@pytest.mark.parametrize("name", ["W-UCB", "IDS-UCB", "IDS-TS"])
@pytest.mark.parametrize("trials", [1, 37, 500])
def test_a_trial_is_the_same_among_any_number(recorded, name, trials):
    few, most = run(BALL, name, trials=trials, at=AT, record=all_of), recorded[name]
    assert len(np.unique(most.final)) == 700
    np.testing.assert_array_equal(few.final, most.final[:trials])
    jax.tree.map(lambda one, all_: np.testing.assert_array_equal(one, all_[:trials]), few.recorded, most.recorded)


ON_TWO_DEVICES = """
import jax, numpy as np
jax.config.update("jax_num_cpu_devices", 2)
from jaxids import policies, problems, simulate
problem = problems.linear([[1, 0], [0, 0.9], [0.5, 0.5]], [0.6, 0.8], [0.3, 0.6, 1.0])
for name in ("W-UCB", "IDS-UCB", "IDS-TS"):
    one, both = (simulate(problem, policies.PAPER[name], key=jax.random.key(0), trials=600, steps=100,
                          at=[50, 100], devices=devices) for devices in (jax.devices()[:1], jax.devices()))
    same = one.final.tobytes() == both.final.tobytes() and one.mean.tobytes() == both.mean.tobytes()
    print(name, len(jax.devices()), len(np.unique(both.final)) > 30, same)
"""


def test_a_trial_is_the_same_on_any_device():
    done = subprocess.run([sys.executable, "-c", ON_TWO_DEVICES], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name} 2 True True" for name in ("W-UCB", "IDS-UCB", "IDS-TS")]


def test_mean_and_standard_error_are_those_of_the_trials():
    result = run(BALL, "W-UCB", trials=700, steps=2 * STEPS)
    for step in (STEPS, 3 * STEPS // 2, 2 * STEPS):
        (at,) = np.flatnonzero(result.steps == step)
        final = run(BALL, "W-UCB", trials=700, steps=step).final.astype(float)
        np.testing.assert_allclose(result.mean[at], final.mean(), rtol=1e-6)
        np.testing.assert_allclose(result.stderr[at], final.std(ddof=1) / np.sqrt(700), rtol=1e-6)
    assert np.all(np.diff(result.mean) >= 0)


def test_one_trial_has_no_standard_error():
    result = run(BALL, "W-UCB", trials=1)
    assert np.all(np.isnan(result.stderr))
    assert result.mean[-1] == result.final[0]


def test_one_compilation_serves_a_sweep():
    ball, fixed = BALL, FIXED
    run(ball, policies.ucb())
    run(fixed, policies.ucb())
    before, finals = compilations.count(), []
    for numbers in ({"delta": 0.2}, {"lam": 3.0}, {"norm_bound": 2.0}, {"delta": 1e-4, "lam": 2}):
        finals += [run(problem, policies.ucb(**numbers)).final for problem in (ball, fixed)]
    finals.append(run(problems.unit_ball(6, 2, rho=(0.3, 0.4), theta=[0.0, 1.0]), policies.ucb()).final)
    finals.append(run(problems.linear([[1, 0], [0, 1], [0.1, 0]], [1, 0.5], 0.2, rho_bound=3), policies.ucb()).final)
    finals += [run(ball, policies.ucb(), trials=n, steps=t).final for n, t in ((1, 200), (300, 333), (600, 200))]
    assert compilations.count() == before
    assert len({final.tobytes() for final in finals}) == len(finals)


def test_the_hook_sees_trials_first_and_steps_second(recorded):
    result = recorded["IDS-UCB"]
    choice, reward, instance = result.recorded
    assert result.steps.tolist() == AT
    assert choice.action.shape == reward.shape == choice.mix.weight.shape == (700, 11)
    assert choice.gap.shape == choice.gain.shape == instance.mean.shape == (700, 11, 6)
    assert recorded["W-UCB"].recorded[0].mix is None


def test_recorded_choices_hang_together(recorded):
    choice, _, _ = recorded["IDS-UCB"].recorded
    first, second, weight, value = choice.mix
    probs = np.eye(6)[first] * (1 - weight)[..., None] + np.eye(6)[second] * weight[..., None]
    psi = ratio.psi(*(jnp.moveaxis(jnp.asarray(array), -1, 0) for array in (probs, choice.gap, choice.gain)))
    np.testing.assert_allclose(value, psi, rtol=1e-5)
    assert np.all((choice.action == first) | (choice.action == second))
    assert np.all(value <= np.min(choice.gap**2 / choice.gain, axis=-1) * (1 + 1e-5))
    mixed = (weight > 0.01) & (weight < 0.99) & (first != second)
    taken = (choice.action == second)[mixed]
    assert mixed.sum() > 50
    assert abs(taken.sum() - weight[mixed].sum()) < 4.5 * np.sqrt((weight * (1 - weight))[mixed].sum())


def test_two_policies_meet_the_same_instances_and_noise(recorded):
    noise, actions = [], []
    ours = [recorded[name].recorded for name in ("W-UCB", "IDS-UCB")]
    for choice, reward, instance in ours:
        mean, rho = (np.take_along_axis(v, choice.action[..., None], -1)[..., 0] for v in (instance.mean, instance.rho))
        noise.append((reward - mean) / rho)
        actions.append(choice.action)
    jax.tree.map(np.testing.assert_array_equal, ours[0][2], ours[1][2])
    np.testing.assert_allclose(*noise, atol=1e-5)
    assert np.mean(actions[0] != actions[1]) > 0.1
    np.testing.assert_allclose(noise[0][2], own_inputs(BALL, 2, 144)[1][np.array(AT) - 1], atol=1e-5)


def test_default_steps():
    for steps in (1, 7, 199, 200, 201, 999, 5000):
        at = recorded_steps(steps)
        assert len(at) == min(steps, 200)
        assert (at[0], at[-1]) == (1, steps)
        assert np.all(np.diff(at, prepend=0) >= 1)
        assert set(np.linspace(0, steps, min(steps, 100) + 1)[1:].round()) <= set(at)  # even in time
        early = np.geomspace(1, steps, min(steps, 100) + 1)[:-1]
        assert set(early.round()) <= set(at)  # even in log time
        assert np.array_equal(recorded_steps(steps, 200), at)
    assert recorded_steps(1000, 1).tolist() == [1000]
    assert recorded_steps(1000, np.int64(6)).tolist() == [1, 10, 100, 333, 667, 1000]
    assert run(BALL, "UCB", at=4).steps.tolist() == recorded_steps(STEPS, 4).tolist()
    with pytest.raises(ValueError, match="at: got 0; it takes a whole number from 1"):
        recorded_steps(1000, 0)
    with pytest.raises(ValueError, match="at: got True; it takes increasing whole numbers"):
        recorded_steps(1000, True)


@pytest.mark.parametrize(
    ("name", "noisier"),
    at_scale([("IDS-UCB", 0), ("IDS-TS", 0), ("W-UCB", 1), ("W-TS", 1)], [("IDS-UCB", 0), ("W-UCB", 1)]),
)
def test_ids_never_takes_the_noisier_copy(name, noisier):
    """The noisier copies come first and ties go to them: policies that look at means and variances take no others.

    No two actions are orthogonal: one that tells nothing of the target has the same ratio with either noise. Of the
    targets of IDS-TS one now and then is nearly so under the posterior, and the ratio the same to rounding.
    """
    oblique = problems.linear([[1, 0.2], [0.3, 0.9], [0.5, 0.5]], [0.6, 0.8], [0.3, 0.6, 1.0])
    actions = run(problems.low_high(oblique), name, at=range(1, STEPS + 1), record=action_of).recorded
    assert actions.shape == (300, STEPS)
    assert abs(np.mean(actions < 3) - noisier) <= (1e-3 if name == "IDS-TS" else 0)


def test_ids_takes_either_copy_of_an_action_that_tells_nothing():
    """Orthogonal to the target, both copies have gain 0 and one gap: a tie, and the first one wins it."""
    actions = run(problems.low_high(FIXED), "IDS-UCB", at=range(1, STEPS + 1), record=action_of).recorded
    assert 0 < np.mean(actions < 3) < 0.01


@pytest.mark.parametrize(("name", "uses"), [("IDS-F", True), ("IDS-UCB", True), ("UCB", False)])
def test_probes_are_for_those_who_look_for_information(name, uses):
    problem = problems.probes(FIXED, scale=0.3)
    actions = run(problem, name, at=range(1, STEPS + 1), record=action_of).recorded
    share = np.mean(np.any(actions >= 3, axis=1))
    assert share == (1 if uses else 0)


def wrong():
    for name in ("trials", "steps"):
        yield from ((name, {name: bad}) for bad in (0, -1, 2.0, True, "many", None))
    for bad in ([], [0, 5], [5, 2], [2, 2], [1, 11], [[1, 2]], 0, "all", [1, np.nan], [-1], [1.5, 3], [2**40]):
        yield "at", {"at": bad}
    for name, values in {
        "delta": (0.0, 1.0, -0.1, np.nan, "small", None, np.array([0.1, 0.2])),
        "lam": (0.0, -1.0, np.inf, np.nan, None, np.ones(2)),
        "norm_bound": (-1.0, np.nan, np.inf, None, np.ones(2)),
    }.items():
        yield from ((name, {"policy": dataclasses.replace(policies.ucb(), **{name: bad})}) for bad in values)
    yield "problem", {"problem": None}
    yield "policy", {"policy": "UCB"}
    yield from (("devices", {"devices": bad}) for bad in ([], "cpu", 1, [1]))
    yield "rho", {"problem": dataclasses.replace(BALL, rho=(1.0, 0.1))}
    yield "rho", {"problem": dataclasses.replace(BALL, rho=(0.0, 0.1))}


@pytest.mark.parametrize(("name", "bad"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(wrong())])
def test_a_wrong_argument_is_named_before_anything_compiles(name, bad):
    before = compilations.count()
    good = {"problem": BALL, "policy": policies.ucb(), "key": KEY, "trials": 10, "steps": 10}
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
        simulate(**(good | bad))
    assert compilations.count() == before


@pytest.mark.parametrize("wrap", [jax.jit, jax.vmap, jax.grad])
def test_a_traced_call_is_told_to_be_made_outside(wrap):
    policy = policies.ucb()

    def final(rho):
        problem = problems.low_high(BALL, 0.1, rho)
        return simulate(problem, policy, key=KEY, trials=1, steps=1).final.sum()

    said = "got a traced value; simulate compiles by itself and takes a call outside jit, vmap and grad"
    with pytest.raises(ValueError, match=rf"^problem: {said}"):
        wrap(final)(jnp.ones(1) if wrap is jax.vmap else 1.0)
    with pytest.raises(ValueError, match=rf"^key: {said}"):
        jax.jit(lambda key: simulate(BALL, policy, key=key, trials=1, steps=1).final)(KEY)
    with pytest.raises(ValueError, match=r"^simulate: got a call inside jit; it compiles by itself and takes a call"):
        jax.jit(lambda: simulate(BALL, policy, key=KEY, trials=1, steps=1).final)()


@pytest.mark.parametrize("record", [lambda step: jnp.float32(1), lambda step: step.instance.mean.T])
def test_a_hook_that_loses_the_trials_is_refused(record):
    with pytest.raises(ValueError, match=r"^record: got an array of shape .*; it takes trials on the last axis"):
        run(BALL, "W-UCB", trials=4, steps=3, record=record)


@pytest.mark.parametrize("hook", [lambda: 1.0, lambda step: "a", lambda step: step.rewards, int])
@pytest.mark.parametrize("name", ["record", "total"])
def test_a_hook_that_fails_is_named(name, hook):
    with pytest.raises(ValueError, match=rf"^{name}: got .*, which (fails: |gives ).*; it takes a function of a step"):
        run(BALL, "W-UCB", trials=4, steps=3, **{name: hook})


def test_a_rule_that_gives_no_choice_is_refused():
    policy = dataclasses.replace(policies.ucb(), rule=lambda band, source: band.ucb)
    with pytest.raises(ValueError, match=r"^policy: got a rule that returns .*; it takes one that returns a Choice"):
        simulate(BALL, policy, key=KEY, trials=4, steps=3)


def test_recorded_regret_is_that_of_every_trial():
    result = run(BALL, "W-UCB", at=[10, STEPS], record=lambda step: step.regret)
    np.testing.assert_array_equal(result.recorded[:, -1], result.final)
    np.testing.assert_allclose(result.recorded.mean(axis=0), result.mean, rtol=1e-6)


def test_the_last_step_is_final_wherever_recording_stops():
    early, late = run(BALL, "W-UCB", at=[2]), run(BALL, "W-UCB", at=[2, STEPS])
    assert early.steps.tolist() == [2]
    np.testing.assert_array_equal(early.final, late.final)
    np.testing.assert_array_equal(early.mean, late.mean[:1])


PEAK = """
import re, jax
from pathlib import Path
from jaxids import policies, problems, simulate
def peak():
    print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
for trials in (20_000, 500_000):
    found = simulate(problems.unit_ball(5, 2), policies.ucb(), key=jax.random.key(0), trials=trials, steps=10)
    peak()
held = bytearray(b"x") * (300 << 20)  # a control
peak()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="where a process tells its peak")
def test_memory_does_not_grow_with_trials_but_for_the_finals():
    """480,000 more trials: 2 MB of finals; whole tiles of 10 points would be 19 MB."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    few, many, control = (int(line) / 1024 for line in done.stdout.split())
    assert many - few < 8
    assert control - many > 100
