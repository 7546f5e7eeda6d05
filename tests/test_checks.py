"""Errors name the argument, what it got and what it takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import checks


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (lambda v: checks.within("delta", v, 0, 1), [1e-9, 0.5], 1, r"delta: got 1; it takes a number in \(0, 1\)"),
        (lambda v: checks.within("delta", v, 0, 1), [0.5], [0.5, 0.1], r"delta: got shape \[2\]; it takes a number"),
        (lambda v: checks.positive("lam", v), [1e-9, 5], 0, r"lam: got 0; it takes a number > 0"),
        (lambda v: checks.positive("lam", v), [1], np.nan, r"lam: got nan; .*finite"),
        (lambda v: checks.positive("lam", v), [1], np.inf, r"lam: got inf; .*finite"),
        (lambda v: checks.positive("lam", v), [1], "big", r"lam: got 'big'; it takes a number > 0"),
        (lambda v: checks.noise_bounds("rho", v), [1, [1, 2]], [1.0, -3.0], r"rho: got -3; it takes numbers > 0"),
        (lambda v: checks.noise_bounds("rho", v), [[1, 2]], [1.0, np.nan], r"rho: got nan; .*finite"),
        (lambda v: checks.noise_bounds("rho", v), [1e-15], 1e-25, r"rho: got 1e-25; .* range of float32"),
        (lambda v: checks.positive("lam", v), [1e30], 1e39, r"lam: got 1e\+39; .* range of float32"),
        (lambda v: checks.positive("lam", v), [1], True, r"lam: got True; it takes a number > 0"),
        (lambda v: checks.positive("lam", v), [1], 1j, r"lam: got 1j; it takes a number > 0"),
        (lambda v: checks.not_negative("norm_bound", v), [0, 2.5], -1e-3, r"norm_bound: got -0.001; .* ≥ 0"),
        (lambda v: checks.count("trials", v), [1, np.int64(7)], 0, r"trials: got 0; it takes a whole number"),
        (lambda v: checks.count("trials", v), [2**31 - 1], 2**31, r"trials: got 2147483648;"),
        (lambda v: checks.count("trials", v), [3], 2.0, r"trials: got 2\.0;"),
        (lambda v: checks.count("trials", v), [3], True, r"trials: got True;"),
        (
            lambda v: checks.count("trials", v),
            [3],
            [10**5000],
            r"trials: got list, too large to show; it takes a whole",
        ),
        (lambda v: checks.count("trials", v), [3], np.ones((3, 3)), r"^trials: got array\(\[\[1., 1., 1.\], \[1.*; it"),
        (lambda v: checks.count("trials", v), [3], [1] * 999, r"^.{0,200}$"),
        (lambda v: checks.flag("weighted", v), [True, np.bool_(False)], "no", r"weighted: got 'no'; it takes True or"),
        (lambda v: checks.flag("weighted", v), [False], np.ones(2), r"weighted: got array"),
        (lambda v: checks.not_negatives("log_det", v), [0, [1.0, 2.0]], [1.0, -1.0], r"log_det: got -1; it takes"),
        (lambda v: checks.real("gap", v, "numbers"), [[1, 2], 2**31], "a", r"gap: got 'a'; it takes numbers"),
        (lambda v: checks.real("gap", v, "numbers"), [1.0], 1e39, r"gap: got inf; .* range of float32"),
        (
            lambda v: checks.floats("point", v, ("p",)),
            [[1, 2]],
            1.0,
            r"point: got float32 of shape \[\]; .* shape \[p\]",
        ),
        (lambda v: checks.floats("actions", v, ("d", "K", "…")), [np.ones((2, 3, 4))], [1.0], r"shape \[d, K, …\]"),
        (
            lambda v: checks.each("rho", v, 2),
            [1, np.float32(2), [1, 2]],
            [1.0, [2.0]],
            r"rho: got \[1.0, \[2.0\]\]; it",
        ),
        (
            lambda v: checks.each("rho", v, 2),
            [1],
            jax.random.key(0),
            r"rho: got Array.* it takes a number, or an array of",
        ),
        (lambda v: checks.key("key", v), [jax.random.key(1)], 0, r"key: got 0; it takes one threefry key"),
        (lambda v: checks.key("key", v), [jax.random.key(1)], jax.random.key(0, impl="rbg"), r"key: got "),
        (lambda v: checks.key("key", v), [jax.random.key(1)], jax.random.split(jax.random.key(0)), r"key: got "),
    ],
)
def test_good_values_pass_and_bad_ones_are_named(check, good, bad, message):
    for value in good:
        check(value)
    with pytest.raises(ValueError, match=message):
        check(bad)


def test_shape_fixes_numbers_and_leaves_names_free():
    np.testing.assert_array_equal(checks.shape("theta", [1, 2], ("d",)), [1.0, 2.0])
    assert checks.shape("actions", np.ones((4, 3)), ("K", 3)).shape == (4, 3)
    for bad in (np.ones((4, 2)), np.ones(3), np.ones((0, 3))):
        with pytest.raises(ValueError, match=r"actions: got shape .*; it takes an array of shape \[K, 3\]"):
            checks.shape("actions", bad, ("K", 3))
    with pytest.raises(ValueError, match="actions: "):
        checks.shape("actions", [[1, 2, 3], [1, 2]], ("K", 3))


def test_a_traced_value_passes_unseen():
    @jax.jit
    def negative(value):
        assert not checks.concrete({"value": value})
        checks.positive("value", value)
        return -value

    assert float(negative(jnp.float32(-2))) == 2
    assert checks.concrete((1.0, jnp.ones(2)))


def test_a_function_is_called_on_shapes_and_named_where_it_fails():
    point = jax.ShapeDtypeStruct((2,), jnp.float32)
    assert checks.returned("rho", lambda x: x[0], (point,), "a function").shape == ()
    for wrong in (lambda: 1.0, lambda x: "a", lambda x: x.no, 3):
        with pytest.raises(ValueError, match=r"^rho: got .*; it takes a function of a point$"):
            checks.returned("rho", wrong, (point,), "a function of a point")


def test_half_precision_is_kept():
    for kind in (jnp.float16, jnp.bfloat16):
        assert checks.real("gap", jnp.ones(2, kind), "numbers").dtype == kind
