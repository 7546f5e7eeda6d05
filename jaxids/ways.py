"""The plan of a run's loop over steps, by the platform that it runs on and by the shape of the problem."""

import jax

from jaxids import loops
from jaxids.problems import Instance, Problem


def chosen(problem: Problem, platform: str, steps: int) -> loops.Way:
    """Plan the loop over steps: up to each recorded point on a CPU, one loop of known length elsewhere.

    Args:
        problem: A problem whose instances tell whether actions are finitely many.
        platform: JAX's name of the kind of device.
        steps: Steps of the run.

    Returns:
        The plan. Steps on a box or ball are large, so that none are unrolled there.
    """
    if platform == "cpu":
        return loops.Way()
    finite = isinstance(jax.eval_shape(problem.draw, jax.random.key(0)), Instance)
    return loops.Way(platform, steps, loops.TURN if finite and steps >= loops.LONG else 1)
