"""Names of array types that many modules share."""

from jaxtyping import Array, Float

__all__ = ["Number", "Point"]

Number = Float[Array, "..."] | float
"""A number, or one for every trial; a leaf of a policy or problem, so that a sweep over it compiles once."""

Point = Float[Array, "p"]
"""A point of a box, a ball or any set in p dimensions."""
