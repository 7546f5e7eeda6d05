"""Random streams: bitwise threefry, independence of the layout, and the distributions.

Statistical tests are Kolmogorov–Smirnov tests with fixed seeds that fail below p = 1e-4: each would raise a false alarm
for one seed in ten thousand.
"""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from jax.extend.random import threefry2x32_p
from scipy import stats

from jaxids import draws

FALSE_ALARM = 1e-4
SAMPLERS = (draws.centred, draws.uniform, draws.normal)


def test_threefry_is_jax_threefry_bitwise(rng):
    key, left, right = (jnp.asarray(rng.integers(0, 2**32, (2, 1000)), jnp.uint32) for _ in range(3))
    expected = threefry2x32_p.bind(key[0], key[1], left[0], right[0])
    for got, want in zip(draws.threefry(key, left[0], right[0]), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_words_are_threefry_of_step_and_site(rng):
    source = draws.child(oracles.streams(rng, 3, step=77), 5)
    counter = jnp.broadcast_to((5 << 16) + jnp.arange(4, dtype=jnp.uint32)[:, None], (4, 3))
    key = [jnp.broadcast_to(word, (4, 3)) for word in source.words]
    expected = threefry2x32_p.bind(*key, jnp.full((4, 3), 77, jnp.uint32), counter)
    np.testing.assert_array_equal(draws.words(source, 4), expected)


def test_keys_and_streams_are_those_of_jax_bitwise():
    key, numbers = jax.random.key(5), jnp.array([0, 1, 77, 2**32 - 1], jnp.uint32)
    keys = jax.vmap(partial(jax.random.fold_in, key))(numbers)
    np.testing.assert_array_equal(*map(jax.random.key_data, (draws.fold_in(key, numbers), keys)))
    for each in (key, keys, keys.reshape(2, 2)):
        bits = jax.vmap(lambda one: jax.random.bits(one, (2,), jnp.uint32), out_axes=-1)(each.ravel())
        np.testing.assert_array_equal(draws.stream(each), bits.reshape(2, *each.shape))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_lane_draws_the_same_whatever_runs_beside_it(sampler, dtype, rng):
    source = oracles.streams(rng, 6)
    draw = jax.jit(lambda words: sampler(replace(source, words=words), 5))
    together = np.asarray(draw(source.words))
    assert together.shape == (5, 6)
    assert together.dtype == dtype
    for lane in range(6):
        np.testing.assert_array_equal(draw(source.words[:, lane]), together[:, lane])
    np.testing.assert_array_equal(draw(source.words[:, 3:]), together[:, 3:])
    np.testing.assert_array_equal(draw(source.words.reshape(2, 2, 3)), together.reshape(5, 2, 3))


def test_every_place_has_its_own_numbers(dtype, rng):
    centred = jax.jit(lambda *place: draws.centred(draws.Stream(*place), 50))
    source = oracles.streams(rng, 4)
    places = [source, *(draws.child(source, i) for i in (1, 2, 255))]
    places += [draws.child(draws.child(source, i), j) for i in (1, 2) for j in (1, 2, 255)]
    places += [replace(source, step=jnp.uint32(step)) for step in (0, 1, 4, 2**32 - 1)]
    numbers = np.concatenate([np.ravel(centred(place.words, place.step, place.site)) for place in places])
    # 2800 numbers of at least 24 bits: float32 repeats 0.2 of them on average, more than 5 with probability below 1e-6
    assert len(numbers) - len(np.unique(numbers)) <= 5


def test_a_traced_site_gives_the_numbers_of_a_static_one(rng):
    source = oracles.streams(rng, 2)
    parent = draws.child(source, 3)
    traced = jax.jit(lambda site: draws.normal(draws.child(parent, site), 3))(9)
    np.testing.assert_array_equal(traced, jax.jit(lambda: draws.normal(draws.child(parent, 9), 3))())


@pytest.mark.parametrize("site", [0, -1, 256, 1000])
def test_child_refuses_a_site_out_of_range(site, rng):
    with pytest.raises(ValueError, match=f"site: got {site}"):
        draws.child(oracles.streams(rng), site)


def test_child_refuses_a_third_level(rng):
    with pytest.raises(ValueError, match="source: got a child of a child"):
        draws.child(draws.child(draws.child(oracles.streams(rng), 1), 1), 1)


@pytest.mark.parametrize(
    ("sampler", "distribution"),
    [(draws.centred, stats.uniform(-1, 2)), (draws.uniform, stats.uniform()), (draws.normal, stats.norm())],
)
def test_distributions(sampler, distribution, dtype, rng):
    many, one, steps = oracles.streams(rng, 50_000), oracles.streams(rng), jnp.arange(50_000, dtype=jnp.uint32)
    across_lanes = jax.jit(lambda: sampler(many, 2))()
    along_counters = jax.jit(lambda: sampler(one, 50_000))()
    along_steps = jax.jit(jax.vmap(lambda step: sampler(replace(one, step=step), 1)))(steps)
    for sample in (across_lanes[0], across_lanes[1], along_counters, along_steps):
        assert stats.kstest(np.ravel(sample).astype(float), distribution.cdf).pvalue > FALSE_ALARM


def test_numbers_of_one_draw_are_uncorrelated(dtype, rng):
    sample = np.asarray(jax.jit(draws.normal, static_argnums=1)(oracles.streams(rng, 40_000), 6), float)
    scores = np.corrcoef(sample)[np.triu_indices(6, 1)] * np.sqrt(40_000)
    assert np.max(np.abs(scores)) < stats.norm.isf(FALSE_ALARM / 2 / len(scores))


def test_the_ends_are_never_reached(dtype, monkeypatch, rng):
    """On the words that give the extremes and the middle: (−1, 1) and (0, 1) are open, zero is left out."""
    extremes = np.array([0x7FFFFFFF, 0x80000000, 0, 0xFFFFFFFF, 0x000000FF, 0xFFFFFF00], np.uint32)
    high, low = (jnp.asarray(v, jnp.uint32) for v in np.array(np.meshgrid(extremes, extremes)).reshape(2, -1))
    monkeypatch.setattr(draws, "words", lambda source, count: (high, low))
    source = oracles.streams(rng)
    centred, uniform, normal = (np.asarray(sampler(source, len(high)), float) for sampler in SAMPLERS)
    assert np.all((np.abs(centred) < 1) & (centred != 0))
    assert centred.min() == -centred.max()
    assert np.all(np.isfinite(normal) & (normal != 0))
    assert uniform.min() > 0
    assert uniform.max() < 1
