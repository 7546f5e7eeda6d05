"""Functions in place of a compiler's own, against double precision."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import layouts, special


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

    assert worst(jax.jit(special.log1p)(x)) < 2
    assert worst(np.float32(1) * np.log(1 + x)) > 1000  # the control: the naive form


def test_log1p_of_what_is_no_number_and_its_derivative():
    x = jnp.asarray([0.0, jnp.inf, jnp.nan, 3.0], jnp.float32)
    np.testing.assert_allclose(special.log1p(x), [0, np.inf, np.nan, np.log(4)], rtol=1e-6)
    assert np.all(special.log1p(jnp.asarray([-1.5, -2.0, -1e-3], jnp.float32)) < 0)  # which faults are found by
    np.testing.assert_allclose(jax.vmap(jax.grad(special.log1p))(x[jnp.array([0, 3])]), [1, 0.25], rtol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(jax.grad(special.log1p)))(x[jnp.array([0, 3])]), [-1, -0.0625], rtol=1e-6
    )


def test_log1p_is_the_compilers_own_in_double_precision_and_off_the_cpu(x64):
    x = np.array([1e-300, 1e-9, 1.0, 1e300])
    np.testing.assert_allclose(special.log1p(jnp.asarray(x)), np.log1p(x), rtol=1e-15)
    with layouts.laid_out(layouts.KERNEL):
        program = str(jax.make_jaxpr(special.log1p)(jnp.ones(3, jnp.float32)))
    assert "log1p" in program
    assert "bitcast" not in program  # which kernels do not have
