"""Least-squares estimates of the mean reward, as pure states that share their verbs."""

from jaxids.beliefs import history, kernel, linear

__all__ = ["history", "kernel", "linear"]
