"""Which form the linear belief takes: chosen here, by the static shape of the actions.

In few dimensions all variances from the root are the fastest, and what a step reads is little. In more, what is kept
of every action saves a factor of d. Actions that change from step to step leave nothing to keep.
"""

from typing import Any

from jaxids.beliefs import kept, linear, shared

FEW = 13  # dimensions below which nothing is kept


def is_linear(belief: Any) -> bool:
    """Whether a belief is some form of weighted least squares on features."""
    return belief in (linear, kept, shared)


def suited(belief: Any, shape: tuple[int, ...], *, same: bool) -> Any:
    """The form of a belief for fixed actions [d, K], the same in all trials or not; of another kind, the belief."""
    if not is_linear(belief):
        return belief
    if len(shape) != 2 or shape[0] < FEW:
        return linear
    return shared if same else kept
