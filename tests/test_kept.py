"""The linear belief in many dimensions, which keeps what is known at every action, against the normal equations."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from jax import lax
from scale import at_scale

import jaxids
from jaxids import beliefs, compiler, lanes, layouts, policies, problems
from jaxids.beliefs import kept, linear, shared

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-11}
compiled = partial(jax.jit, compiler_options=compiler.options("cpu"))


def unit(rng, dim, count):
    x = rng.normal(size=(dim, count))
    return x / np.linalg.norm(x, axis=0)


def observed(belief, features, played, rewards, rho, lam=1.0):
    """The state after observations [steps] or [steps, lanes] of actions [d, K] or [d, K, lanes]."""

    def step(state, seen):
        action, reward, own = seen
        return belief.update(state, belief.at(features, action), reward, own**2), None

    jit = compiled if features.ndim > 2 else jax.jit  # as tiles are, or with nothing but JAX
    return jit(lambda seen: lax.scan(step, belief.init(features, lam), seen)[0])((played, rewards, rho))


def trial(rng, dim, count, steps, dtype, rho=(0.1, 1.0)):
    features, own = unit(rng, dim, count).astype(dtype), rng.uniform(*rho, count).astype(dtype)
    played = rng.integers(0, count, steps).astype(np.int32)
    return jnp.asarray(features), played, rng.normal(size=steps).astype(dtype), own[played]


@pytest.mark.parametrize("belief", [kept, shared])
@pytest.mark.parametrize(("dim", "count", "steps", "lam"), [(1, 1, 3, 1.0), (3, 7, 30, 0.1), (20, 130, 40, 2.0)])
def test_every_verb_solves_the_normal_equations(belief, dim, count, steps, lam, dtype, rng):
    features, played, rewards, rho = trial(rng, dim, count, steps, dtype)
    state = observed(belief, features, played, rewards, rho, lam)
    truth = oracles.posterior(features, played, rewards, rho.astype(float), lam)
    cov, tolerance = oracles.covariance(truth.precision, features), 4 * TOLERANCE[dtype]
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {dtype, np.dtype("int32")}
    close = partial(np.testing.assert_allclose, rtol=tolerance, atol=tolerance * cov.max())
    close(belief.mean(state), truth.theta @ np.asarray(features, float), rtol=10 * tolerance)
    close(belief.var(state), np.diag(cov), atol=0)
    close(belief.log_det(state), truth.log_det)
    for action in range(min(count, 9)):
        index = jnp.int32(action)
        close(belief.cov_with(state, None, belief.at(None, index)), cov[action])
        close(belief.var_given(state, None, index), np.diag(cov) - cov[action] ** 2 / cov[action, action])


def test_before_any_observation(dtype, rng):
    features = jnp.asarray(rng.normal(size=(3, 5)).astype(dtype))
    state = kept.init(features, 4.0)
    np.testing.assert_array_equal(kept.mean(state), 0)
    np.testing.assert_allclose(kept.var(state), np.sum(features**2, axis=0) / 4, rtol=TOLERANCE[dtype])
    assert float(kept.log_det(state)) == 0


def test_a_sample_is_that_of_the_linear_belief(rng):
    features, *seen = trial(rng, 20, 50, 30, np.dtype("float32"))
    spread = oracles.spread(features, 4)
    lanes_of = [np.repeat(each[:, None], 4, axis=1) for each in seen]
    source = oracles.streams(rng, 4)
    draws = [
        belief.sample(observed(belief, spread, *lanes_of), spread, source, 1.7) for belief in (linear, kept, shared)
    ]
    for drawn in draws[1:]:
        np.testing.assert_allclose(drawn, draws[0], rtol=1e-4, atol=1e-5)


CASES = [(rho, how) for rho in (1.0, 0.1, 0.01, "mixed") for how in ("mostly", "alone", "all")]


def lanes_of_cases(rng, dim, count, steps):
    """A lane for each bound of the noise and each way to play: one action mostly, only after a while, or any."""
    features = np.stack([unit(rng, dim, count) for _ in CASES], axis=-1).astype(np.float32)
    features[:, count // 2 :: 2] = features[:, 1 : 1 + len(range(count // 2, count, 2))]  # copies, and near ones
    features[0, count // 2 :: 4] += 1e-3
    explored = rng.integers(0, count, steps)
    ways = {
        "mostly": np.where(rng.random(steps) < 0.9, 0, explored),
        "alone": np.where(np.arange(steps) < 5 * dim, explored, 0),
        "all": explored,
    }
    played = np.stack([ways[how] for _, how in CASES], axis=1).astype(np.int32)
    mixed = 10 ** rng.uniform(-2, 0, count)
    rho = np.stack([mixed if r == "mixed" else np.full(count, r) for r, _ in CASES], axis=1).astype(np.float32)
    rho = np.take_along_axis(rho, played, axis=0)
    mean = np.einsum("d,dkn->kn", rng.normal(size=dim) / np.sqrt(dim), features)
    rewards = np.take_along_axis(mean, played, axis=0) + rho * rng.normal(size=played.shape)
    return features, played, rewards.astype(np.float32), rho


@pytest.mark.parametrize(
    ("dim", "count", "steps"), [(20, 60, 10_000), pytest.param(100, 150, 2_000, marks=pytest.mark.slow)]
)
def test_variances_do_not_drift_in_float32(dim, count, steps, rng):
    """At any time; without what is taken anew from the root the same differences are off by far more."""
    features, played, rewards, rho = lanes_of_cases(rng, dim, count, steps)
    errors = {"kept": 0.0, "differences": 0.0}
    for until in (7, dim, 4 * dim, steps):
        seen = played[:until], rewards[:until], rho[:until]
        state = observed(kept, jnp.asarray(features), *seen)
        naive = differences(jnp.asarray(features), *seen)
        for lane in range(len(CASES)):
            own = [each[:, lane].astype(float if each.dtype != np.int32 else int) for each in seen]
            truth = oracles.posterior(features[..., lane], *own, 1.0)
            exact = np.diag(oracles.covariance(truth.precision, features[..., lane]))
            np.testing.assert_allclose(state.var[:, lane], exact, rtol=2e-4)
            np.testing.assert_allclose(kept.log_det(state)[lane], truth.log_det, rtol=2e-6)
            error = np.abs(kept.mean(state)[:, lane] - truth.theta @ features[..., lane])
            assert np.all(error < 0.01 * np.sqrt(exact) + 1e-6)
            for name, var in {"kept": state.var, "differences": naive}.items():
                errors[name] = max(errors[name], np.max(np.abs(var[:, lane] / exact - 1)))
    assert errors["differences"] > 0.1 > 100 * errors["kept"]


def differences(features, played, rewards, rho):
    """σ² by rank-one steps alone."""

    def step(carry, seen):
        state, var = carry
        action, reward, own = seen
        state, learnt = linear.learn(state, linear.at(features, action), reward, own**2)
        return (state, var - lanes.dot(learnt.direction, features) ** 2 / learnt.total), None

    start = linear.init(features, 1.0)
    return compiled(lambda seen: lax.scan(step, (start, linear.var(start, features)), seen)[0][1])(
        (played, rewards, rho)
    )


def test_a_variance_is_never_negative(rng):
    """Ten thousand nearly noiseless rewards of two nearly parallel actions leave no variance, and no less."""
    actions = jnp.asarray([[1.0, 1.0, 0.0], [0.0, 1e-4, 0.0]], jnp.float32)
    played = jnp.asarray(rng.integers(0, 2, 10_000), jnp.int32)

    def step(state, action):
        state = kept.update(state, action, jnp.float32(0), jnp.float32(1e-8))
        return state, state.var

    variances = np.asarray(jax.jit(lambda: lax.scan(step, kept.init(actions, 1.0), played))()[1])
    assert np.all(np.isfinite(variances) & (variances >= 0))
    np.testing.assert_array_equal(variances[:, 2], 0)  # the zero vector
    assert variances[-1, 0] < 1e-8


def test_a_trial_does_not_feel_those_beside_it(rng):
    """To the bit: where another trial's actions fell, and its own did not, it keeps what it had."""
    dim, count, steps, width = 20, 90, 60, 8
    features = np.stack([unit(rng, dim, count)] * width, axis=-1).astype(np.float32)
    features[:, 40:80] = features[:, :40] * np.float32(1.001)  # copies, which fall together
    played = rng.integers(0, count, (steps, width)).astype(np.int32)
    rewards, quiet = rng.normal(size=(steps, width)).astype(np.float32), np.full((steps, width), 1.0, np.float32)
    loud = quiet.copy()
    loud[:, 1:] = 0.01
    one, other = (observed(kept, jnp.asarray(features), played, rewards, rho) for rho in (quiet, loud))
    assert float(jnp.min(other.var[:, 1:])) < 1e-3  # they did fall
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(left[..., 0], right[..., 0])


def test_what_is_left_of_a_near_copy_is_exact(rng):
    """A difference of σ² would be all rounding: of the copy 1e-3 away about 1e-6 is left."""
    features = unit(rng, 20, 40)
    features[:, 1] = features[:, 0] + 1e-3 * features[:, 2]
    features = features.astype(np.float32)
    state = kept.init(jnp.asarray(features), 1.0)
    exact = features.astype(float)
    along = exact[:, 0] @ exact / (exact[:, 0] @ exact[:, 0])
    left = np.sum((exact - along * exact[:, :1]) ** 2, axis=0)
    found = kept.var_given(state, None, jnp.int32(0))
    assert found[0] == 0
    np.testing.assert_allclose(found[1:], left[1:], rtol=2e-4)


def test_without_loops_all_comes_from_the_root(rng):
    features, *seen = trial(rng, 20, 50, 30, np.dtype("float32"))
    with layouts.laid_out(layouts.ACCELERATOR):
        state = observed(kept, features, *seen)
    np.testing.assert_allclose(state.var, linear.var(state.estimate, features), rtol=1e-6)
    np.testing.assert_allclose(kept.mean(state), linear.mean(state.estimate, features), rtol=1e-5, atol=1e-6)


def test_the_form_follows_the_shape():
    assert problems.unit_ball(30, 3).belief is linear
    assert problems.unit_ball(30, 60).belief is kept
    fixed = problems.linear(np.eye(60), np.ones(60), 0.1)
    assert fixed.belief is shared
    assert problems.several(problems.unit_ball(30, 60), 3).belief is kept
    assert problems.contextual(30, 60).belief is linear
    assert problems.contextual(base=fixed).belief is linear
    assert problems.low_high(fixed).belief is shared
    assert problems.probes(fixed, rho=0.01).belief is shared
    assert beliefs.suited(beliefs.kernel, (60, 1000), same=True) is beliefs.kernel


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("name", at_scale(["W-UCB", "W-TS", "IDS-UCB"], ["IDS-UCB"]))
def test_policies_play_as_with_the_linear_belief(name, fixed, monkeypatch):
    """The same draws and nearly the same numbers: nearly all trials play the same actions, to the last."""
    problem = problems.unit_ball(40, 18, rho=(0.05, 1.0))
    if fixed:
        problem = problems.Fixed(problem.draw(jax.random.key(5)))
    run = partial(jaxids.simulate, policy=policies.PAPER[name], key=jax.random.key(0), trials=64, steps=60)
    ours = run(problem)
    monkeypatch.setattr(beliefs.forms, "FEW", 100)
    theirs = run(problems.Fixed(problem.instance) if fixed else problems.unit_ball(40, 18, rho=(0.05, 1.0)))
    assert np.mean(np.isclose(ours.final, theirs.final, rtol=1e-4)) > 0.9


def test_functions_of_users_are_looked_at_with_shared_actions():
    def explained(band, stream):
        return band.var / (band.var + band.rho**2)

    problem = problems.linear(np.eye(20), np.ones(20), 0.5)
    policy = policies.ids(explained)
    assert jaxids.simulate(problem, policy, key=jax.random.key(0), trials=3, steps=4).final.shape == (3,)
    mixing = policies.ids(lambda band, stream: band.var + band.mean.sum() ** 2)
    with pytest.raises(ValueError, match="gain"):
        jaxids.simulate(problem, mixing, key=jax.random.key(0), trials=3, steps=4)


@partial(jax.tree_util.register_dataclass, data_fields=("base",), meta_fields=("turns", "kind"))
@dataclass(frozen=True)
class Turned:
    """A problem of one's own on one of ours, whose features differ from trial to trial if it turns."""

    base: Any
    turns: bool
    kind: Any = None

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.kind or self.base.belief)

    def draw(self, key):
        drawn = self.base.draw(key)
        sign = jnp.where(self.turns & jax.random.bernoulli(key), -1.0, 1.0)
        return drawn._replace(features=sign * drawn.features, mean=sign * drawn.mean)

    def check(self):
        self.base.check()


def test_features_that_differ_are_not_taken_for_shared_ones(rng):
    base = problems.linear(unit(rng, 16, 20).T, np.ones(16) / 4, 0.3)
    assert base.belief is shared

    def run(turns, kind=None):
        problem = Turned(base, turns, kind)
        return jaxids.simulate(problem, policies.PAPER["W-UCB"], key=jax.random.key(1), trials=8, steps=60).final

    with pytest.raises(ValueError, match=r"^belief: got beliefs.shared, .*; it takes beliefs.kept"):
        run(True)
    np.testing.assert_allclose(run(True, kept), run(True, linear), rtol=1e-3)
    np.testing.assert_allclose(run(False), run(False, kept), rtol=1e-3)
