"""Formulas in experiment files: what is one, what it means, and that nothing else is ever run."""

import math

import pytest

from jaxids import kernels, problems
from jaxids.experiment import formulas, meanings, read
from jaxids.problems import functions

FORMULAS = {
    "0.1 + 0.4 * x1**2": lambda x: 0.1 + 0.4 * x[0] ** 2,
    "exp(-(x1 - x2)**2) / (1 + abs(x2))": lambda x: math.exp(-((x[0] - x[1]) ** 2)) / (1 + abs(x[1])),
    "sqrt(x1) + log(x2) - sin(x1)*cos(x2) + tanh(3)": lambda x: (
        math.sqrt(x[0]) + math.log(x[1]) - math.sin(x[0]) * math.cos(x[1]) + math.tanh(3)
    ),
    "-x1": lambda x: -x[0],
    "2": lambda x: 2.0,
}
NO_FORMULAS = [
    "",
    "x0",
    "x10",
    "y",
    "x1 +",
    "x1; x2",
    "exp",
    "exp(1, 2)",
    "exp(x=1)",
    "x1.real",
    "__import__('os')",
    "().__class__",
    "[x1]",
    "x1 if x1 else 2",
    "lambda: 1",
    "x1 == 1",
    "True",
    "1e40",
    "'a'",
    "1j",
    "sin(cos)",
    "rbf(1)",
    "branin + 1",
    "x1\0",
    "(" * 300,
    "-" * 200 + "x1",
    "x1" + " + x1" * 100,
    "-" * 100_000 + "x1",
    "x1" + " + x1" * 100_000,
    7,
    None,
    ["x1"],
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_mean_what_python_means(text, x64):
    point = [0.3, 0.7]
    assert formulas.is_function(text)
    assert not formulas.is_kernel(text)
    function = meanings.function("rho", text, 2)
    assert float(function(point)) == pytest.approx(FORMULAS[text](point), rel=1e-12)
    assert formulas.value(formulas.written(text), {"x1": 0.3, "x2": 0.7} | meanings.MATHS) == function(point)


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_nothing_else_is_a_formula(text):
    assert not formulas.is_function(text)
    assert not formulas.is_kernel(text) or text == "rbf(1)"


@pytest.mark.parametrize(
    "text", ["1e15" + "+1e15" * 99, "-" * 199 + "x1", "x1" + "**-x1" * 66, "(" * 99 + "x1" + ")" * 99]
)
def test_what_is_a_formula_is_one_when_it_is_written_anew(text):
    """The limit counts names, numbers and operations, whose writing may be longer than what the user wrote."""
    assert formulas.is_function(text)
    assert formulas.is_function(formulas.written(text))
    assert formulas.written(formulas.written(text)) == formulas.written(text)


def test_a_long_formula_serves_in_a_grid_and_one_too_long_is_told_the_limit(tmp_path):
    path, long = tmp_path / "some.toml", "0.1" + "+1e-9" * 39
    assert len(formulas.written(long)) > 200
    text = "policies = ['UCB']\nproblem.kind = 'gp'\ngrid.rho = ['{}']"
    path.write_text(text.format(long))
    assert read.read(path).cells[0].setting["problem"]["rho"] == formulas.written(long)
    path.write_text(text.format("0.1" + "+1e-9" * 100))
    with pytest.raises(ValueError, match=r"rho: got .*, at most 200 names, numbers and operations"):
        read.read(path)


def test_a_formula_is_written_in_one_way_and_knows_its_coordinates():
    assert formulas.written(" 0.1+x2 *3") == formulas.written("0.1 + x2*3")
    assert formulas.dim("x1 + sin(x3)") == 3
    assert formulas.dim("2") == 0


def test_test_functions_are_known_by_name(x64):
    known = {
        name for name, value in vars(functions).items() if callable(value) and value.__module__ == functions.__name__
    }
    assert set(formulas.FUNCTIONS) == {name for name in known if not name.startswith("_")} - {"grid", "on_grid"}
    assert meanings.function("rho", "branin", 2) is functions.branin


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("rbf(0.2)", kernels.rbf(0.2)),
        ("matern12(0.2) + 0.5 * linear()", kernels.matern12(0.2) + 0.5 * kernels.linear()),
        ("2 * rbf([0.1, 0.4]) * polynomial(2)", 2 * kernels.rbf([0.1, 0.4]) * kernels.polynomial(2)),
        ("matern32() + matern52(1) + 0.1", kernels.matern32() + kernels.matern52(1.0) + 0.1),
        ("polynomial(3, 0.5)", kernels.polynomial(3, 0.5)),
    ],
)
def test_kernels_mean_what_the_module_s_names_mean(text, kernel, x64, rng):
    assert formulas.is_kernel(text)
    x, y = rng.random((2, 2))
    assert float(meanings.kernel(text, 2)(x, y)) == pytest.approx(float(kernel(x, y)), rel=1e-6)
    assert problems.norm(problems.rkhs([x, y], [1.0, 0.5], 0.1, meanings.kernel(text, 2))) > 0


@pytest.mark.parametrize(
    "text",
    ["rbf", "rbf(0.2) - linear()", "2", "rbf(x1)", "rbf(scale=1)", "rbf(rbf)", "of(1)", "kernels.rbf(1)", "sin(1)", 3],
)
def test_nothing_else_is_a_kernel(text):
    assert not formulas.is_kernel(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rbf(0)", "kernel: got 'rbf.0.'; scale: got 0; it takes numbers > 0"),
        ("rbf(1, 2)", "kernel: got 'rbf.1, 2.'; .*argument"),
        ("polynomial(1.5)", r"kernel: got .*degree: got 1.5; it takes a whole number"),
        ("polynomial()", "kernel: got .*argument"),
        ("[1] + rbf(1)", "kernel: got "),
        ("rbf([])", "kernel: got "),
        ("rbf(rbf(1))", "kernel: got "),
        ("polynomial(rbf(1))", "kernel: got "),
    ],
)
def test_kernels_that_cannot_be_are_refused(text, said):
    assert formulas.is_kernel(text)
    with pytest.raises(ValueError, match=rf"^{said}"):
        meanings.kernel(text, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 / 0", "^rho: got .*, which has division by zero"), ("9**9**9", "^rho: got .*, which has a number too large")],
)
def test_numbers_that_cannot_be_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        meanings.function("rho", text, 1)([0.5])


def test_a_function_needs_its_coordinates():
    with pytest.raises(ValueError, match=r"^rho: got 'x1 \+ x2'; with dim = 1 it takes no coordinate beyond x1"):
        meanings.function("rho", "x1 + x2", 1)
