"""The lane primitives against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxids import lanes, layouts


@pytest.mark.parametrize("trailing", [(), (5,), (2, 3)])
@pytest.mark.parametrize("rows", [1, 31, 32, 33, 64, 1025, 3000])
def test_first_min_and_max_take_the_lowest_index_of_a_tie(rows, trailing, rng):
    values = rng.integers(-4, 5, (rows, *trailing)).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.inf
    values[rng.random(values.shape) < 0.1] = -np.inf
    least, most = jax.jit(lambda v: (lanes.first_min(v), lanes.first_max(v)))(values)
    for got, arg, extreme in ((least, np.argmin, np.min), (most, np.argmax, np.max)):
        np.testing.assert_array_equal(got.arg, arg(values, axis=0))
        np.testing.assert_array_equal(got.value, extreme(values, axis=0))


@pytest.mark.parametrize("rows", [1, 33, 1025])
def test_nothing_but_one_infinity_gives_index_zero(rows):
    infinity = np.array([np.inf, -np.inf], np.float32)
    for got in jax.jit(lambda v: (lanes.first_min(v), lanes.first_max(v)))(jnp.tile(infinity, (rows, 1))):
        np.testing.assert_array_equal(got.arg, 0)
        np.testing.assert_array_equal(got.value, infinity)


def test_first_min_finds_one_row_wherever_it_is():
    places = np.array([0, 31, 32, 999, 2999])
    values = np.ones((3000, len(places)), np.float32)
    values[places, np.arange(len(places))] = 0
    np.testing.assert_array_equal(jax.jit(lanes.first_min)(values).arg, places)


@pytest.mark.parametrize("trailing", [(), (5,)])
@pytest.mark.parametrize("rows", [1, 31, 33, 1025])
def test_the_least_of_a_function_of_rows_is_that_of_its_values(rows, trailing, rng):
    left, right = rng.integers(-4, 5, (2, rows, *trailing)).astype(np.float32)
    times = rng.integers(1, 4, trailing).astype(np.float32)
    got = jax.jit(lambda times, *both: lanes.least_of(lambda a, b: a - times * b, *both))(times, left, right)
    np.testing.assert_array_equal(got.arg, np.argmin(left - times * right, axis=0))
    np.testing.assert_array_equal(got.value, np.min(left - times * right, axis=0))


@pytest.mark.parametrize("trailing", [(), (5,)])
@pytest.mark.parametrize("rows", [1, 33, 1025])
def test_one_negative_value_of_a_function_of_rows_is_found_wherever_it_is(rows, trailing, dtype):
    found = jax.jit(lambda *both: lanes.negative_anywhere(lambda a, b: a - b, *both))
    for place in {0, rows // 2, rows - 1}:
        left, right = np.ones((2, rows, *trailing), dtype)
        assert not found(left, right)
        left[(place, *(2 for _ in trailing))] = np.nextafter(dtype.type(1), dtype.type(0))
        assert found(left, right)


def test_what_is_replaced_is_so_where_the_condition_holds(rng):
    new, old = rng.integers(0, 9, (2, 2, 100))
    where = rng.random(100) < 0.5
    for kind in (np.int32, np.float32):
        got = lanes.replaced(*map(jnp.asarray, (where, new.astype(kind), old.astype(kind))))
        assert got.dtype == kind
        np.testing.assert_array_equal(got, np.where(where, new, old))


@pytest.mark.parametrize("trailing", [(), (4,), (2, 3)])
@pytest.mark.parametrize("leading", [(), (2,), (3, 2)])
def test_pick_takes_one_entry_per_lane(leading, trailing, rng):
    values = rng.normal(size=(*leading, 7, *trailing)).astype(np.float32)
    index = rng.integers(0, 7, trailing).astype(np.int32)
    expected = np.empty((*leading, *trailing), np.float32)
    for lane in np.ndindex(*trailing):
        expected[(..., *lane)] = values[(..., index[lane], *lane)]
    np.testing.assert_array_equal(lanes.pick(jnp.asarray(values), jnp.asarray(index)), expected)


@pytest.mark.parametrize("trailing", [(), (4,), (2, 3)])
@pytest.mark.parametrize("size", [1, 20])
def test_dot_and_matvec_contract_the_leading_axes(size, trailing, rng):
    left, right = jnp.asarray(rng.normal(size=(2, size, *trailing)))
    matrix = jnp.asarray(rng.normal(size=(5, size, *trailing)))
    np.testing.assert_allclose(lanes.dot(left, right), np.einsum("i...,i...->...", left, right), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        lanes.matvec(matrix, right), np.einsum("ij...,j...->i...", matrix, right), rtol=1e-4, atol=1e-5
    )


def test_dot_broadcasts_the_other_axes(rng):
    theta, actions = jnp.asarray(rng.normal(size=(3, 4))), jnp.asarray(rng.normal(size=(3, 6, 4)))
    np.testing.assert_allclose(
        lanes.dot(theta[:, None], actions), np.einsum("dn,dkn->kn", theta, actions), rtol=1e-5, atol=1e-6
    )


def test_a_compensated_sum_does_not_drift_in_float32(rng):
    terms = rng.uniform(0.5e-6, 1.5e-6, 1_000_000).astype(np.float32)
    exact = 1.0 + np.sum(terms.astype(np.float64))

    @jax.jit
    def add_up(terms):
        def add(i, totals):
            return lanes.add(totals[0], terms[i]), totals[1] + terms[i]

        return lax.fori_loop(0, len(terms), add, (lanes.sum_from(jnp.float32(1)), jnp.float32(1)))

    total, plain = add_up(terms)
    assert total.value.dtype == jnp.float32
    assert abs(float(total.value) - exact) <= np.spacing(np.float32(exact))
    assert abs(float(plain) - exact) > 1e-4  # what the low part is there for


def test_a_compensated_sum_keeps_terms_below_the_spacing_of_its_value():
    total = lanes.sum_from(jnp.full(3, 2.0**24, jnp.float32))
    add = jax.jit(lanes.add)
    for _ in range(10):
        total = add(total, jnp.asarray([1.0, -0.25, 0.5], jnp.float32))
    exactly = np.asarray(total.value, np.float64) + np.asarray(total.low, np.float64)
    np.testing.assert_array_equal(exactly, 2.0**24 + np.array([10.0, -2.5, 5.0]))


@pytest.mark.parametrize("rows", [1, 5, 32, 33, 1000, 4096])
def test_one_entry_that_is_not_finite_is_found_wherever_it_is(rows, rng):
    values = jnp.asarray(1e38 * rng.uniform(-3, 3, (rows, 3)), jnp.float32)  # whose sum would overflow
    assert np.all(lanes.all_finite(values))
    for bad in (np.nan, np.inf, -np.inf):
        found = lanes.all_finite(values.at[rng.integers(rows), 1].set(bad))
        assert np.array_equal(found, [True, False, True])


@pytest.mark.parametrize("rows", [1, 5, 32, 33, 1000])
def test_one_entry_that_is_negative_or_not_finite_is_found_wherever_it_is(rows, rng):
    values = jnp.asarray(1e38 * rng.uniform(0, 3, (rows, 3)), jnp.float32).at[0].set(jnp.asarray([0.0, -0.0, 3e38]))
    assert np.all(lanes.none_negative(values))
    for bad in (-1e-37, -3e38, np.nan, np.inf, -np.inf):  # -1e-37: smaller ones are zero to a CPU that flushes them
        found = lanes.none_negative(values.at[rng.integers(rows), 1].set(bad))
        assert np.array_equal(found, [True, False, True])


def test_looking_for_what_is_not_finite_is_a_short_program():
    program = jax.make_jaxpr(lanes.all_finite)(jnp.zeros((4096, 2)))
    assert len(program.eqns) < 10 * lanes.UNROLL


def test_log1p_is_right_to_two_units_in_the_last_place(rng):
    edges = 2.0 ** np.arange(-126, 128) * np.array([[0.5], [0.75], [1.0], [1.5]])  # where the reduction turns
    x = np.concatenate([10 ** rng.uniform(-37, 38, 200_000), rng.uniform(0, 4, 200_000), edges.ravel()])
    x = np.append(x[(x > 2e-38) & (x < 3.4e38)], np.finfo(np.float32).max).astype(
        np.float32
    )  # smaller ones are zero to a CPU that flushes them
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), np.nextafter(x[:-1], np.float32(np.inf))])
    expected = np.log1p(x.astype(np.float64))

    def worst(found) -> float:
        return np.max(np.abs(found - expected) / np.spacing(expected.astype(np.float32)))

    assert worst(jax.jit(lanes.log1p)(x)) < 2
    assert worst(np.float32(1) * np.log(1 + x)) > 1000  # the control: the naive form


def test_log1p_of_what_is_no_number_and_its_derivative():
    x = jnp.asarray([0.0, jnp.inf, jnp.nan, 3.0], jnp.float32)
    np.testing.assert_allclose(lanes.log1p(x), [0, np.inf, np.nan, np.log(4)], rtol=1e-6)
    assert np.all(lanes.log1p(jnp.asarray([-1.5, -2.0, -1e-3], jnp.float32)) < 0)  # which faults are found by
    np.testing.assert_allclose(jax.vmap(jax.grad(lanes.log1p))(x[jnp.array([0, 3])]), [1, 0.25], rtol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(jax.grad(lanes.log1p)))(x[jnp.array([0, 3])]), [-1, -0.0625], rtol=1e-6
    )


def test_log1p_is_the_compilers_own_in_double_precision_and_off_the_cpu(x64):
    x = np.array([1e-300, 1e-9, 1.0, 1e300])
    np.testing.assert_allclose(lanes.log1p(jnp.asarray(x)), np.log1p(x), rtol=1e-15)
    with layouts.laid_out(layouts.ACCELERATOR):
        program = str(jax.make_jaxpr(lanes.log1p)(jnp.ones(3, jnp.float32)))
    assert "log1p" in program
    assert "bitcast" not in program
