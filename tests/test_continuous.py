"""Continuous action sets: on fine grids of the same domain, nothing better than what gradient steps find."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

from jaxids import beliefs, continuous, domains, kernels, ratio

POSTERIORS = 50  # of each of four kinds


def rho(x):
    return 0.1 + 0.4 * jnp.sum(x**2)


def wavy(x):
    return 0.05 + 0.9 * jnp.sin(8 * x[0]) ** 2


def kernel_surface(kernel, noise, key, dim, count=15):
    """A kernel belief after observations of a random function at random points."""
    of_points, of_rewards = jax.random.split(key)
    points, rewards = jax.random.uniform(of_points, (count, dim)), jax.random.normal(of_rewards, (count,))
    state, seen = beliefs.history.init(kernel, dim, count), (points, rewards, jax.vmap(noise)(points) ** 2)
    state = jax.lax.scan(lambda s, one: (beliefs.history.update(s, *one), None), state, seen)[0]
    return continuous.of_history(state, 2.0, noise)


def linear_surface(key, dim, count=12):
    """A linear belief after observations at random points."""
    of_points, of_rewards = jax.random.split(key)
    points = jax.random.uniform(of_points, (count, dim), minval=-1.0) / jnp.sqrt(dim)
    state, rewards = beliefs.linear.init(points.T, 1.0), jax.random.normal(of_rewards, (count,))
    for k in range(count):
        state = beliefs.linear.update(state, jnp.int32(k), rewards[k], rho(points[k]) ** 2)
    return continuous.of_linear(state, 2.0, rho)


def unit_grid(dim, per_side):
    side = np.linspace(0, 1, per_side)
    return jnp.asarray(np.stack(np.meshgrid(*[side] * dim), axis=-1).reshape(-1, dim), jnp.float32)


def ball_grid(dim, per_side):
    points = 2 * unit_grid(dim, per_side) - 1
    return points[jnp.linalg.norm(points, axis=1) <= 1]


CASES = {
    "kernel, interval": (
        partial(kernel_surface, kernels.matern12(0.2), wavy),
        1,
        domains.box([0.0], [1.0]),
        unit_grid(1, 2001),
    ),
    "kernel, square": (
        partial(kernel_surface, kernels.rbf(0.3), rho),
        2,
        domains.box([0.0, 0.0], [1.0, 1.0]),
        unit_grid(2, 61),
    ),
    "linear, ball": (linear_surface, 3, domains.ball([0.0, 0.0, 0.0]), ball_grid(3, 25)),
    "linear, box": (linear_surface, 2, domains.box([-0.7, -0.7], [0.7, 0.7]), 1.4 * unit_grid(2, 61) - 0.7),
}


@pytest.fixture(scope="module", params=CASES)
def searched(request):
    """For every posterior: what was found on the domain, and the best of a fine grid."""
    make, dim, domain, grid = CASES[request.param]

    @jax.jit
    def search(key):
        surface = make(key, dim)
        top = continuous.ucb(surface, domain)
        found = {"ucb": surface.upper(top)}
        best = {"ucb": jnp.max(jax.vmap(surface.upper)(grid))}
        for name, information in {"F": continuous.f, "UCB": continuous.about_ucb}.items():
            gain = jax.vmap(information(surface, top))(grid)
            gap = surface.upper(top) - jax.vmap(lambda x: surface.mean(x) - surface.radius(x))(grid)
            pair, single = continuous.ids(surface, domain, information), continuous.dids(surface, domain, information)
            found |= {f"IDS-{name}": pair.value, f"DIDS-{name}": single.value, f"points {name}": pair[:2]}
            best |= {f"IDS-{name}": ratio.exact(gap, gain).value, f"DIDS-{name}": jnp.min(gap**2 / gain)}
        return found, best

    keys = jax.random.split(jax.random.key(len(request.param)), POSTERIORS)
    return domain, jax.lax.map(search, keys)


@pytest.mark.parametrize("name", ["IDS-F", "IDS-UCB", "DIDS-F", "DIDS-UCB"])
def test_the_ratio_is_at_most_one_per_cent_above_the_grid_s(searched, name):
    _, (found, best) = searched
    assert np.all(np.isfinite(found[name]))
    assert np.max(found[name] / best[name]) < 1.01


def test_the_ucb_point_is_at_least_as_high_as_the_grid_s(searched):
    _, (found, best) = searched
    assert np.min(found["ucb"] / best["ucb"]) > 0.995


def test_actions_are_inside(searched):
    domain, (found, _) = searched
    for points in (*found["points F"], *found["points UCB"]):
        assert np.allclose(jax.vmap(domain.project)(points), points, atol=1e-6)


def test_mixing_is_never_worse_than_one_action(searched):
    _, (found, _) = searched
    for name in ("F", "UCB"):
        assert np.all(found[f"IDS-{name}"] <= found[f"DIDS-{name}"] * (1 + 1e-3))  # rounding


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
