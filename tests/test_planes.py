"""A program taken apart into planes gives what it gave on arrays, whatever it is made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxids import planes, rows, special

LANES = 37


def apart(function, *arrays):
    """What a function gives, on planes."""
    closed = jax.make_jaxpr(function)(*arrays)
    count = planes.operations(closed.jaxpr, LANES)

    def run(*arrays):
        given = [rows.filled((*a.shape[:-1], 1), iter(a.reshape(-1, LANES))) for a in arrays]
        found = planes.evaluate(closed.jaxpr, [planes._constant(c) for c in closed.consts], given, LANES)
        return [jnp.stack([planes.block(entry, (LANES,)) for entry in each.flat]) for each in found]

    wanted = jax.tree.leaves(jax.jit(function)(*arrays))
    return count, [part.reshape(want.shape) for part, want in zip(jax.jit(run)(*arrays), wanted, strict=True)], wanted


def moves(x, y):
    first = lax.slice_in_dim(y, 0, 2)
    both = jnp.concatenate([lax.slice_in_dim(x, 0, 4, 2), first], axis=0)
    turned = lax.rev(jnp.swapaxes(x[:, None] * first[None], 0, 1), (0,))
    padded = lax.pad(y, jnp.float32(2), [(1, 2, 0), (0, 0, 0)])
    return both, turned.reshape(-1, x.shape[-1]), padded, jnp.arange(4)[:, None] * x, jnp.squeeze(first[:1], 0)


def rows_of(x, y):
    top, *rest = x
    return jnp.stack([top, *rest[::-1]]) + y, jnp.stack([x, y], axis=1)


def reductions(x, y):
    return x.sum(0), jnp.max(x, axis=0), jnp.min(y, axis=0), jnp.any(x > 1, axis=0), jnp.all(y > -9, axis=0)


def loops(x, y):
    def turn(state):
        total, _, count = state
        return total + x, jnp.sum(total, axis=0) < 30, count + 1

    some, _, turns = lax.while_loop(lambda s: jnp.any(s[1]) & (s[2] < 50), turn, (x, x[0] < 9, 0))
    added = lax.fori_loop(0, 5, lambda i, s: s + i * y, jnp.zeros_like(y))
    rare = lax.cond(jnp.any(x > 3), lambda: y * 2, lambda: y)
    return some, added, rare, turns + x[0]


def functions(x, y):
    safe = jnp.abs(x[:3]) + 0.1
    values = jnp.log1p(safe), jnp.sqrt(safe), safe**2, jnp.isfinite(1 / (y - y)), lax.erf_inv(jnp.tanh(0.9 * x))
    return *values, jnp.where(x > 0, x, 1), jnp.clip(x, -1, 1), (x * 1e3).astype(jnp.int32) >> 2, jnp.sign(y)


@pytest.mark.parametrize("function", [moves, rows_of, reductions, loops, functions])
def test_a_program_on_planes_is_the_program_on_arrays(function, rng):
    x, y = jnp.asarray(rng.normal(size=(4, LANES)), jnp.float32), jnp.asarray(rng.normal(size=(4, LANES)), jnp.float32)
    count, found, wanted = apart(function, x, y)
    assert count > 0
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - jnp.mean(x, axis=-1, keepdims=True),
        lambda x: jnp.sort(x, axis=0),
        lambda x: x[jnp.argmax(x[:, 0])],
        lambda x: jnp.max(x),
        lambda x: lax.scan(lambda c, row: (c + row, None), x[0], x)[0],
        lambda x: lax.rev(x, (1,)),
        lambda x: x + x[:, :1],
        lambda x: x * jnp.arange(LANES),
        lambda x: x.T.sum(0),
        lambda x: jnp.concatenate([x[:, 1:], x[:, :1]], axis=1),
        lambda x: jnp.full((LANES, LANES), 2.0) @ x[0] + x,
        lambda x: lax.pad(x, x[0, 0], [(1, 0, 0), (0, 0, 0)]),
    ],
)
def test_what_looks_across_lanes_or_up_by_an_index_is_refused(function):
    with pytest.raises(planes.Unsupported):
        apart(function, jnp.ones((4, LANES)))


def test_what_nobody_reads_is_not_computed(rng):
    x = jnp.asarray(rng.normal(size=(4, LANES)), jnp.float32)

    def wasteful(x):
        _ = jnp.sort(x, axis=0)
        return x + 1

    assert apart(wasteful, x)[0] == 4


@pytest.mark.parametrize("block", [(128,), (8, 128)])
def test_rows_are_packed_and_unpacked(block, rng):
    shapes = {(3, 5): np.float32, (): np.int32, (2,): np.uint32, (7,): np.float32, (1,): np.int32}
    arrays = [jnp.asarray(rng.integers(0, 99, (*shape, 2048)), kind) for shape, kind in shapes.items()]
    packed = rows.pack(arrays, block)
    assert len(packed.values) == 3
    for got, want in zip(rows.unpack(packed, block), arrays, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    with pytest.raises(planes.Unsupported, match="bool in a kernel"):
        rows.pack([jnp.zeros((2, 1024), bool)], block)


def test_the_inverse_error_function_is_that_of_scipy():
    from scipy.special import erfinv

    x = np.concatenate([np.linspace(-0.999999, 0.999999, 20001), [0.0, 1e-7, 1 - 2.0**-24]]).astype(np.float32)
    np.testing.assert_allclose(special.erf_inv(jnp.asarray(x)), erfinv(x.astype(float)), rtol=5e-6, atol=1e-9)


def test_infinities_and_nan_are_not_finite():
    assert np.array_equal(special.is_finite(jnp.asarray([1.0, np.inf, -np.inf, np.nan])), [True, False, False, False])
