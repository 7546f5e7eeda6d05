"""Pictures of surfaces: each function takes what one of `surfaces` gave, and axes if it should not make its own.

Without axes a figure is made beside pyplot, which knows nothing of it: `draw.plane(found).figure.savefig("plane.png")`.
Dark is good: colours are those of viridis, which readers of any colour vision can read, on a scale of logarithms.
"""

from jaxids.surfaces.draw.maps import between, pairs, phases, simplex
from jaxids.surfaces.draw.planes import along, plane

__all__ = ["along", "between", "pairs", "phases", "plane", "simplex"]
