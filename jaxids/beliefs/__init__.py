"""Least-squares estimates of the mean reward, as pure states that share their verbs."""

from jaxids.beliefs import kernel, linear

__all__ = ["kernel", "linear"]
