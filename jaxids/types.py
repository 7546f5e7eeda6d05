"""Names of array types that many modules share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Real

Number = Float[Array, "..."] | float
"""A number, or one for every trial; a leaf of a policy or problem, so that a sweep over it compiles once."""

PerAction = Real[Array, "K ..."] | Real[np.ndarray, "K ..."] | Sequence[Any]
"""Numbers for every action, [K] or [K, …]: an array of JAX or NumPy, or a sequence; whole ones will do."""

Point = Float[Array, "p"]
"""A point of a box, a ball or any set in p dimensions."""
