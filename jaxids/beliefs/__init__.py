"""Least-squares estimates of the mean reward, as pure states that share their verbs."""

from jaxids.beliefs import history, kernel, linear
from jaxids.beliefs.protocol import Belief

__all__ = ["Belief", "history", "kernel", "linear"]
