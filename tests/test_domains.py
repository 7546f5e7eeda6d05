"""Boxes and balls: even points, projections, and what is inside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

from jaxids import domains


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_points_are_more_even_than_random_ones(dim, rng):
    assert qmc.discrepancy(domains.even(256, dim)) < 0.5 * qmc.discrepancy(rng.random((256, dim)))


def test_domains_hold_their_points_and_project_onto_themselves(rng):
    box, ball = domains.box([0.0, -1.0], [1.0, 3.0]), domains.ball([1.0, 2.0], 0.5)
    for domain, inside in (
        (box, lambda x: (x >= box.low) & (x <= box.high)),
        (ball, lambda x: jnp.linalg.norm(x - ball.centre) <= 0.5 + 1e-6),
    ):
        points = domain.spread(300)
        assert np.all(jax.vmap(inside)(points))
        assert np.allclose(jax.vmap(domain.project)(points), points, atol=1e-6)
        far = jnp.asarray(rng.normal(size=(50, 2)) * 10, jnp.float32)
        assert np.all(jax.vmap(inside)(jax.vmap(domain.project)(far)))
        assert np.all(np.isfinite(jax.jacobian(domain.project)(points[0])))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: domains.box([0.0], [0.0]), r"high: got \[0\]; it takes numbers > low"),
        (lambda: domains.box([0.0], [1.0, 2.0]), r"high: got shape \[2\]"),
        (lambda: domains.box([float("nan")], [1.0]), "low: got nan"),
        (lambda: domains.ball([0.0], 0.0), "radius: got 0; it takes a number > 0"),
        (lambda: domains.ball([]), "centre: got shape"),
        (lambda: domains.ball([1e39]), "centre: got inf; it takes numbers within the range of float32"),
        (lambda: domains.box([0.0], [1e39]), "high: got inf"),
        (lambda: domains.box([-3e38], [3e38]), "high: got inf; it takes numbers within the range of float32"),
        (lambda: domains.ball([0.0], 3e38), "radius: got inf; it takes numbers within the range of float32"),
        (lambda: domains.box([1.0], [1 + 1e-12]), r"high: got \[1\]; it takes numbers > low"),
        (
            lambda: domains.box([0, 0], [1, 1]).check(np.array([[0.5, 1], [1.2, 0]])),
            r"points: got \[1.2, 0\] at 1, outs",
        ),
        (
            lambda: domains.ball([1.0, 1.0], 0.5).check(np.array([[0.5, 0.5]])),
            r"points: got \[0.5, 0.5\] at 0, outside",
        ),
    ],
)
def test_bad_domains_are_refused(make, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        make()


def test_points_on_a_boundary_are_inside():
    domains.box([0.1, 0.0], [0.7, 1.0]).check(np.array([[0.1, 0.0], [0.7, 1.0]]))
    domains.ball([0.3, 1000.1], 0.7).check(np.array([[1.0, 1000.1], [0.3, 1000.8]]))


@pytest.mark.parametrize("domain", [domains.box([0.0, -1.0], [1.0, 3.0]), domains.ball([1.0, 2.0], 0.5)])
def test_uniform_points_fill_a_domain_evenly(domain):
    """Of 20,000 points the share in the smaller copy about the centre, at 4.5 standard errors: 1e-5 false alarms."""
    numbers = jax.random.uniform(jax.random.key(0), (20_000, 3), minval=1e-6)
    points = np.asarray(jax.vmap(domain.uniform)(numbers))
    domain.check(points)
    centre = np.asarray(domain.spread(4096)).mean(axis=0)
    inside = np.asarray(jax.vmap(domain.project)(jnp.asarray(centre + 2 * (points - centre))))
    share = np.mean(np.all(np.abs(inside - (centre + 2 * (points - centre))) < 1e-5, axis=1))
    assert abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 20_000) + 0.005
