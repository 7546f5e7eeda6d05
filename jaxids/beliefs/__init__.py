"""Least-squares estimates of the mean reward, as pure states that share their verbs."""

from jaxids.beliefs import history, kept, kernel, linear, shared
from jaxids.beliefs.forms import is_linear, suited
from jaxids.beliefs.protocol import Belief

__all__ = ["Belief", "history", "is_linear", "kept", "kernel", "linear", "shared", "suited"]
