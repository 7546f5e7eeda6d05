"""Continuous action sets: what is known at any point, the best actions by gradient steps, and a simulator."""

from jaxids.continuous.bandit import Problem, problem
from jaxids.continuous.choices import choose
from jaxids.continuous.play import simulate
from jaxids.continuous.search import Pair, dids, ids, thompson, ucb
from jaxids.continuous.surface import Surface, about, about_ucb, f, fit, of_history, of_linear

__all__ = [
    "Pair",
    "Problem",
    "Surface",
    "about",
    "about_ucb",
    "choose",
    "dids",
    "f",
    "fit",
    "ids",
    "of_history",
    "of_linear",
    "problem",
    "simulate",
    "thompson",
    "ucb",
]
