"""Pytrees whose structures know their classes, so that no program is taken for another's."""

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import jax
import numpy as np

from jaxids import knowledge, nodes, policies, problems, workers


@partial(nodes.register, data_fields=("x",), meta_fields=("name",))
@dataclass(frozen=True)
class One:
    """A class with a number and a name."""

    x: float
    name: str


@partial(nodes.register, data_fields=("x",), meta_fields=("name",))
@dataclass(frozen=True)
class Other:
    """The same fields."""

    x: float
    name: str


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=())
@dataclass(frozen=True)
class First:
    """A rule of somebody else's, registered by JAX."""

    def __call__(self, band, source):
        """The first action."""
        return policies.Choice(0 * band.ucb)


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=())
@dataclass(frozen=True)
class Second:
    """Another."""

    def __call__(self, band, source):
        """The second action."""
        return policies.Choice(0 * band.ucb + 1)


def test_classes_with_the_same_fields_have_structures_of_their_own():
    structure = jax.tree.structure
    assert structure(One(1.0, "a")) == structure(One(2.0, "a"))
    assert structure(One(1.0, "a")) != structure(One(1.0, "b"))
    assert structure(One(1.0, "a")) != structure(Other(1.0, "a"))
    assert structure(knowledge.known) != structure(knowledge.bounded)
    for one, other in combinations(policies.PAPER.values(), 2):
        assert structure(one) != structure(other)


def test_a_dataclass_comes_back_as_it_was():
    paths, structure = jax.tree_util.tree_flatten_with_path({"a": One(1.5, "name")})
    assert [jax.tree_util.keystr(path) for path, _ in paths] == ["['a'].x"]
    assert jax.tree.unflatten(structure, [leaf for _, leaf in paths]) == {"a": One(1.5, "name")}
    assert jax.tree.map(lambda x: 2 * x, One(1.5, "name")) == One(3.0, "name")


def test_rules_that_jax_registered_are_told_apart(monkeypatch):
    """By what programs are asked for with, those of how trials begin as well."""
    asked = []
    monkeypatch.setattr(workers, "_compile", lambda jitted, *given, **static: asked.append(static["kinds"]))
    problem = problems.unit_ball(3, 2)
    for rule in (First, Second):
        given = {"key": jax.random.key(0), "trials": 2, "at": np.array([3], np.int32)}
        workers.prepared(problem, policies.Policy(rule()), **given).compile()
    begin, first, again, second = asked
    assert begin == again == nodes.kinds(problem)
    assert First in first
    assert Second in second
    assert First not in second


def test_a_function_is_compiled_for_each_class_and_once():
    traced = []

    @nodes.jitted
    def called(rule, x):
        traced.append(type(rule))
        return x + (1 if isinstance(rule, First) else 2)

    assert [int(called(rule, 1)) for rule in (First(), Second(), First(), Second())] == [2, 3, 2, 3]
    assert traced == [First, Second]
