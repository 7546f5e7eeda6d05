"""What is known on boxes and balls: a band whose actions are points."""

from jaxids.fields.data import fit, kernel_on, noise_function
from jaxids.fields.field import Field, of

__all__ = ["Field", "fit", "kernel_on", "noise_function", "of"]
