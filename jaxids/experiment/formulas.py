"""Formulas in experiment files: kernels as "rbf(0.2) + 0.5 * linear()", functions of a point as "0.1 + 0.4 * x1**2".

Calls as "ids(ucb, solver=pairs)", for policies, are taken apart here, and mean what `policy_names` says.

They are read as Python is, but only numbers, the names listed here and the operations listed here have a meaning.
Whether a text is one is known without JAX; its meaning is given by a vocabulary of functions.
"""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MOST = 200  # names, numbers and operations, so that nothing is nested too deeply; spaces and brackets do not count
KERNELS = ("rbf", "matern12", "matern32", "matern52", "linear", "polynomial")
FUNCTIONS = ("forrester", "branin", "ackley", "hartmann3", "motorcycle", "motorcycle_noise")
MATHS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs")
LARGEST = 1e30  # numbers are below
COORDINATE = re.compile(r"x([1-9])")
_OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
_SHAPE = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Load, ast.Call)


def is_kernel(text: Any) -> bool:
    """Whether a text is a sum of products of kernels and numbers."""
    nodes = _nodes(text)
    return any(isinstance(node, ast.Call) for node in nodes) and _is_made_of(
        nodes, (ast.Add, ast.Mult, ast.List), lambda name, call: name in KERNELS and call is not None
    )


def is_function(text: Any) -> bool:
    """Whether a text is the name of a test function, or a formula of the coordinates x1, x2, …."""
    return text in FUNCTIONS or _is_made_of(_nodes(text), tuple(_OPERATIONS), _is_variable)


def _is_variable(name: str, call: ast.Call | None) -> bool:
    """Whether a name is a coordinate, or a function of one number that is called."""
    return name in MATHS and len(call.args) == 1 if call else bool(COORDINATE.fullmatch(name))


def _is_made_of(
    nodes: list[ast.AST], operations: tuple[type, ...], is_known: Callable[[str, ast.Call | None], bool]
) -> bool:
    """Whether a formula has these operations, numbers and known names only, each name with the call of it, if any."""
    calls = {node.func: node for node in nodes if isinstance(node, ast.Call)}
    return bool(nodes) and all(
        isinstance(node, (*_SHAPE, *operations))
        or _is_number(node)
        or (isinstance(node, ast.Name) and is_known(node.id, calls.get(node)))
        for node in nodes
    )


class Call(NamedTuple):
    """A name with values by place and by name, each a number, a truth value, a name or a call."""

    name: str
    values: list[Any]
    named: dict[str, Any]


def call(text: Any) -> Call | None:
    """A text as a call, as "ids(ucb, solver=pairs)"; None if it is not one."""
    nodes = _parsed(text)
    try:
        found = _called(nodes[0].body) if nodes and _parts(nodes) <= MOST else None  # type: ignore[attr-defined]
    except ValueError:
        return None
    return found if isinstance(found, Call) else None


def _called(node: Any) -> Any:
    match node:
        case ast.Constant() | ast.UnaryOp(op=ast.USub()):
            if isinstance(number := ast.literal_eval(node), int | float) and abs(number) < LARGEST:
                return number
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id=name)):
            named = {str(keyword.arg): _called(keyword.value) for keyword in node.keywords if keyword.arg}
            if len(named) == len(node.keywords):
                return Call(name, list(map(_called, node.args)), named)
    raise ValueError("no call")


def written(text: str) -> str:
    """A formula in one way of writing it, so that spaces make no other experiment."""
    return ast.unparse(ast.parse(text.strip(), mode="eval"))


def dim(text: str) -> int:
    """How many coordinates a formula needs."""
    names = {node.id for node in _nodes(text) if isinstance(node, ast.Name)}
    return max((int(name[1:]) for name in names if COORDINATE.fullmatch(name)), default=0)


def value(text: str, vocabulary: Mapping[str, Any]) -> Any:
    """What a formula means, given what its names mean."""
    return _value(ast.parse(text, mode="eval").body, vocabulary)


def _value(node: Any, vocabulary: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=float() | int() as number):
            return float(number)
        case ast.Name():
            return vocabulary[node.id]
        case ast.List():
            return [_value(each, vocabulary) for each in node.elts]
        case ast.Call(func=ast.Name(id=name)):
            return vocabulary[name](*(_value(each, vocabulary) for each in node.args))
        case ast.UnaryOp():
            return _OPERATIONS[type(node.op)](_value(node.operand, vocabulary))
        case ast.BinOp():
            return _OPERATIONS[type(node.op)](_value(node.left, vocabulary), _value(node.right, vocabulary))
    raise ValueError(f"{ast.unparse(node)}: no formula")


def _parsed(text: Any) -> list[ast.AST]:
    """All parts of a text that reads as Python, itself first; none if it does not."""
    if not isinstance(text, str):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's on what is odd, as `1if`
            return list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _parts(nodes: list[ast.AST]) -> int:
    return sum(isinstance(node, (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp)) for node in nodes)


def _nodes(text: Any) -> list[ast.AST]:
    """All parts of a formula; none if it is not one."""
    nodes = _parsed(text)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    plain = all(isinstance(call.func, ast.Name) and not call.keywords for call in calls)
    return nodes if plain and _parts(nodes) <= MOST else []


def _is_number(node: ast.AST) -> bool:
    number: Any = getattr(node, "value", None)
    return isinstance(node, ast.Constant) and type(number) in (int, float) and number < LARGEST
