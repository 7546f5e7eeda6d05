"""Least-squares estimates of the mean reward, as pure states that share their verbs."""

from jaxids.beliefs import linear

__all__ = ["linear"]
