"""Kernels against formulas in NumPy, against other libraries' own, and their arithmetic and derivatives."""

import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import threadpoolctl
import tinygp
from sklearn.gaussian_process import kernels as theirs

from jaxids import blas, kernels

SCALES = np.array([0.3, 0.7])
OURS = {
    "rbf": (kernels.rbf(SCALES), theirs.RBF(SCALES)),
    "matern12": (kernels.matern12(SCALES), theirs.Matern(SCALES, nu=0.5)),
    "matern32": (kernels.matern32(SCALES), theirs.Matern(SCALES, nu=1.5)),
    "matern52": (kernels.matern52(SCALES), theirs.Matern(SCALES, nu=2.5)),
    "linear": (kernels.linear(), theirs.DotProduct(sigma_0=0.0)),
    "polynomial": (kernels.polynomial(3, 0.5), theirs.DotProduct(sigma_0=0.5**0.5) ** 3),
}


@pytest.fixture
def points(rng):
    return rng.uniform(-1, 1, (7, 2))


@pytest.mark.parametrize("name", OURS)
def test_a_kernel_is_that_of_scikit_learn(name, points, x64):
    ours, other = OURS[name]
    assert np.allclose(kernels.gram(ours, points), other(points), atol=1e-12)
    assert np.allclose(kernels.gram(ours, points[:3], points), other(points[:3], points), atol=1e-12)


@pytest.mark.parametrize(
    ("ours", "other"),
    [
        (kernels.rbf(0.4), tinygp.kernels.ExpSquared(0.4)),
        (kernels.matern32(0.4), tinygp.kernels.Matern32(0.4, distance=tinygp.kernels.distance.L2Distance())),
        (kernels.matern52(0.4), tinygp.kernels.Matern52(0.4, distance=tinygp.kernels.distance.L2Distance())),
    ],
)
def test_kernels_of_tinygp_serve_as_they_are(ours, other, points, x64):
    assert np.allclose(kernels.gram(ours, points), kernels.gram(kernels.of(other), points), atol=1e-12)
    assert np.allclose(kernels.gram(ours, points), other(jnp.asarray(points), jnp.asarray(points)), atol=1e-12)
    mixed = 2.0 * ours + other
    assert np.allclose(kernels.gram(mixed, points), 3 * kernels.gram(ours, points), atol=1e-12)


def test_kernels_add_and_multiply(points, x64):
    one, other = kernels.rbf(0.5), kernels.linear()
    grams = [np.asarray(kernels.gram(kernel, points)) for kernel in (one, other)]
    assert np.allclose(kernels.gram(one + other, points), grams[0] + grams[1])
    assert np.allclose(kernels.gram(one * other, points), grams[0] * grams[1])
    assert np.allclose(kernels.gram(0.5 * one + 2, points), 0.5 * grams[0] + 2)
    assert np.allclose(
        kernels.gram(one + (lambda x, y: jnp.exp(x[0] + y[0])), points)[0, 1],
        grams[0][0, 1] + np.exp(points[0, 0] + points[1, 0]),
    )


@pytest.mark.parametrize("name", OURS)
def test_derivatives_are_finite_where_points_meet(name):
    slope = jax.grad(OURS[name][0])(jnp.ones(2), jnp.ones(2))
    assert np.all(np.isfinite(slope))


def test_length_scales_are_leaves(points):
    traced = []

    @jax.jit
    def matrix(kernel):
        traced.append(kernel)
        return kernels.gram(kernel, jnp.asarray(points))

    for scale in (0.1, 0.2, 0.3):
        matrix(kernels.rbf(scale) + 0.5 * kernels.linear())
    assert len(traced) == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kernels.rbf(0.0), "scale: got 0; it takes numbers > 0"),
        (lambda: kernels.matern12([0.1, -1.0]), "scale: got -1; it takes numbers > 0"),
        (lambda: kernels.rbf(float("nan")), "scale: got nan"),
        (lambda: kernels.polynomial(0), "degree: got 0; it takes a whole number"),
        (lambda: kernels.polynomial(2, -1.0), "bias: got -1; it takes a number ≥ 0"),
        (lambda: kernels.of("rbf"), "kernel: got 'rbf'; it takes a function"),
        (lambda: kernels.rbf([1.0, [2.0]]), r"scale: got \[1.0, \[2.0\]\]; it takes numbers > 0"),
        (lambda: kernels.check(lambda x, y: 1j, 2), "kernel: got one that returns .*complex64.*; it takes"),
        (lambda: kernels.check(kernels.rbf(), 0), "dim: got 0; it takes a whole number"),
        (lambda: kernels.gram(3.0, [[0.0], [None]]), r"rows: got \[\[0.0\], \[None\]\]; it takes points"),
        (lambda: kernels.gram("rbf", jnp.zeros((2, 1))), "kernel: got 'rbf'; it takes a function of two points"),
        (lambda: kernels.rbf(1.0) * -2.0, "kernel: got -2; it takes a number ≥ 0"),
    ],
)
def test_bad_kernels_are_refused(make, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        make()


@pytest.mark.parametrize(("rows", "columns"), [((4, 2), (4, 1)), ((4, 2), (2,)), ((4,), (4,)), ((4, 1), (3, 2))])
def test_points_of_different_dimensions_are_refused(rows, columns):
    with pytest.raises(ValueError, match=r"(rows|columns): got shape .*; it takes points \[n, p\]"):
        kernels.gram(kernels.rbf(), jnp.zeros(rows), jnp.zeros(columns))


def threads():
    return max(each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas")


def unlocked():
    return threadpoolctl.threadpool_limits(1, user_api="blas")


def test_a_root_of_a_gram_matrix_does_not_depend_on_the_threads_of_linear_algebra():
    """Dask gives its workers one; 81 points are enough to round differently on two."""
    code = (
        "import hashlib, numpy as np; from jaxids import kernels; from jaxids.kernels import points\n"
        "grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 15)] * 2), -1).reshape(-1, 2)\n"
        "print(hashlib.sha256(points.root_of_gram(grid, kernels.rbf(0.2))[1].tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        found.add(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout)
    assert len(found) == 1


@pytest.mark.parametrize(("context", "right"), [(blas.one_thread, True), (unlocked, False)])
def test_threads_take_turns_with_linear_algebra_on_one_thread(context, right):
    """The second to enter has one thread when the first has left; with the limit alone, the control, it has not."""
    if (before := threads()) == 1:
        pytest.skip("linear algebra has one thread here")
    entered, left, found = threading.Event(), threading.Event(), []

    def second():
        with context():
            entered.set()
            left.wait(10)
            found.append(threads())

    thread = threading.Thread(target=second)
    with context():
        thread.start()
        entered.wait(0.5)  # without turns it is there at once
    left.set()
    thread.join()
    assert (found == [1]) == right
    assert not right or threads() == before
