"""Tiles on workers: asked for late, run one by one or together, and sums over all steps."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import compilations
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import loops, nodes, policies, problems, simulate, tiles, widths, workers

KEY = jax.random.key(3)
BALL = problems.unit_ball(6, 2)


@pytest.mark.parametrize("indices", [[1], [-1], [0, 5]])
def test_a_tile_that_is_not_there_is_refused(indices):
    with pytest.raises(ValueError, match=r"^indices: got .*; it takes tiles from 0 to 0"):
        list(workers.run(BALL, policies.ucb(), key=KEY, trials=10, at=np.array([5]), indices=indices))


def test_totals_are_sums_over_all_steps():
    def played(step):
        taken = jnp.arange(BALL.actions)[:, None] == step.choice.action
        return {"pulls": taken.astype(jnp.int32), "reward": step.reward}

    at, policy = range(1, 41), policies.PAPER["IDS-TS"]
    summed = simulate(BALL, policy, key=KEY, trials=300, steps=40, at=[7], total=played).totals
    each = simulate(BALL, policy, key=KEY, trials=300, steps=40, at=at, record=played).recorded
    assert np.array_equal(summed["pulls"], each["pulls"].sum(axis=1))
    assert np.allclose(summed["reward"], each["reward"].astype(float).sum(axis=1), atol=1e-5)
    assert summed["pulls"].dtype == np.int32


def test_a_long_total_does_not_drift():
    """0.1 added 200,000 times: a plain float32 sum is off by 0.4 %."""
    small = problems.linear([[1.0], [0.5]], [1.0], 0.5)
    tenth = lambda step: jnp.full_like(step.reward, 0.1)  # noqa: E731
    totals = simulate(small, policies.ucb(), key=KEY, trials=2, steps=200_000, at=[1], total=tenth).totals
    assert np.allclose(totals, 20_000, rtol=1e-6)


def test_a_total_without_trials_on_its_last_axis_is_refused():
    with pytest.raises(ValueError, match=r"^total: got an array of shape \[\]; it takes trials on the last axis"):
        simulate(BALL, policies.ucb(), key=KEY, trials=3, steps=2, total=lambda step: step.reward.sum())
    with pytest.raises(ValueError, match=r"^total: got 3; it takes a function"):
        simulate(BALL, policies.ucb(), key=KEY, trials=3, steps=2, total=3)


def test_tiles_are_asked_for_shortly_before_they_run_and_stopping_waits_for_none():
    asked = []

    def indices():
        for index in range(1000):
            asked.append(index)
            yield index

    run = workers.run(BALL, policies.ucb(), key=KEY, trials=10**6, at=np.array([5]), indices=indices())
    assert [next(run).index for _ in range(3)] == [0, 1, 2]
    assert len(asked) <= 3 + workers.AHEAD * workers.cores()
    run.close()


def test_tiles_can_be_run_one_by_one():
    together = list(workers.run(BALL, policies.ucb(), key=KEY, trials=600, at=np.array([5, 200])))
    alone = list(workers.run(BALL, policies.ucb(), key=KEY, trials=600, at=np.array([5, 200]), indices=[2]))
    assert [tile.index for tile in alone] == [2]
    assert alone[0].series["regret"].shape == (2, 600 - 512)
    np.testing.assert_array_equal(alone[0].series["regret"], together[2].series["regret"])


@pytest.mark.parametrize(
    "problem", [BALL, pytest.param(problems.contextual(num_actions=4, dim=2, rho=(0.1, 1.0)), marks=pytest.mark.slow)]
)
def test_a_tile_in_two_programs_is_the_tile(problem):
    """To the bit; and a second policy begins its trials with the program of the first."""
    at, policy, static = np.array([5, 60], np.int32), policies.PAPER["W-TS"], {"width": 256, "way": loops.Way()}
    hooks = {"series": (), "record": None, "total": None}
    (tile,) = workers.run(problem, policy, key=KEY, trials=200, at=at)
    series, _, _, _ = tiles.compiled("cpu")(*workers.placed((problem, policy, KEY), None), 0, at, **static, **hooks)
    assert np.array_equal(tile.series["regret"], series["regret"][:, :200])
    before = compilations.count()
    list(workers.run(problem, policies.greedy(), key=KEY, trials=200, at=at))
    assert compilations.count() == before + 1


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_threads_that_ask_at_once_compile_once(factor):
    barrier, x = threading.Barrier(4), jnp.arange(3.0)

    @jax.jit
    def _rest(x):
        return jax.lax.fori_loop(0, 5, lambda _, y: factor * jnp.sin(y), x)

    def ask(_):
        barrier.wait()
        return workers._compile(_rest, x)

    before = compilations.count()
    with ThreadPoolExecutor(4) as pool:
        found = [program(x).tolist() for program in pool.map(ask, range(4))]
    assert compilations.count() == before + 1
    assert found == 4 * [_rest(x).tolist()]


def test_the_width_of_a_tile_is_found_once_for_problems_of_one_shape():
    asked, right = [], widths.tile_width.__wrapped__
    width = nodes.cached_by_shape(lambda *given: asked.append(given) or right(*given))
    small, wide = (problems.unit_ball(actions, 3, (0.1, 1.0)) for actions in (30, 3000))
    assert width(small, "cpu") == width(problems.unit_ball(30, 3, (0.2, 0.9)), "cpu") == 256
    assert len(asked) == 1
    assert width(wide, "cpu") == 64
    assert width(small, "gpu") == 16384
    assert len(asked) == 3
    few, many = (problems.linear(np.ones((count, 3)), np.ones(3), 0.5) for count in (30, 3000))  # one structure
    assert [width(each, "cpu") for each in (few, many, few)] == [256, 64, 256]
    with jax.enable_x64(True):
        width(few, "cpu")
    assert len(asked) == 6


def test_a_run_and_its_problem_are_forgotten_with_it():
    """Without waiting for the collector of cycles, which a large sweep runs seldom."""
    run = workers.prepared(
        problems.unit_ball(3, 2), policies.PAPER["UCB"], key=jax.random.key(0), trials=2, at=np.array([2], np.int32)
    ).compile()
    list(run.tiles())
    known = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert known() is None
    finally:
        gc.enable()
