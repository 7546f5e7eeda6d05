"""The notebooks run from top to bottom, and what they show comes from the code beside it."""

import re

import nbformat
import pytest
from notebook import FOLDER, PATHS, code_of, execute, faults, read

NAMES = ["bounds", "kernel_bandits", "paper", "quickstart", "ratio_surfaces", "your_own_policy"]
LARGEST = 3_000_000  # bytes of all of them, so that a clone stays small and a page opens at once


def test_all_are_there_and_small_enough():
    assert [path.stem for path in PATHS] == NAMES
    assert sum(path.stat().st_size for path in PATHS) < LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path):
    notebook = execute(read(path), small=True)
    assert faults(notebook) == ["it was run at reduced size"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_code(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert faults(notebook) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_reads_as_a_text_with_an_install_cell_first(path):
    notebook = read(path)
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert "%pip install --quiet jaxids" in code_of(notebook)[0].source
    assert "JAXIDS_SMALL" in code_of(notebook)[1].source
    linked = [name for cell in notebook.cells for name in re.findall(r"\]\(([\w.]+)\)", cell.source)]
    assert all((FOLDER / name).is_file() for name in linked)


def edited(notebook):
    code_of(notebook)[2].source += "\n# another"


def reordered(notebook):
    first, second = (notebook.cells.index(code_of(notebook)[i]) for i in (2, 3))
    notebook.cells[first], notebook.cells[second] = notebook.cells[second], notebook.cells[first]


def added(notebook):
    notebook.cells.append(nbformat.v4.new_code_cell("1 + 1"))


def taken(notebook):
    notebook.cells.remove(code_of(notebook)[-1])


def cleared(notebook):
    for cell in code_of(notebook):
        cell.outputs, cell.execution_count = [], None


def emptied(notebook):
    next(cell for cell in reversed(code_of(notebook)) if cell.outputs).outputs = []


def run_twice(notebook):
    code_of(notebook)[-1].execution_count += 1


def failed(notebook):
    code_of(notebook)[-1].outputs.append(nbformat.v4.new_output("error", ename="E", evalue="", traceback=[]))


def warned(notebook):
    code_of(notebook)[-1].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="careful"))


def local(notebook):
    code_of(notebook)[-1].outputs.append(nbformat.v4.new_output("stream", name="stdout", text="wrote /home/me/a.png"))


def reduced(notebook):
    notebook.metadata["jaxids"]["small"] = True


def unsigned(notebook):
    del notebook.metadata["jaxids"]


CHANGES = [edited, reordered, added, taken, cleared, emptied, run_twice, failed, warned, local, reduced, unsigned]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_not_from_a_run_of_the_code_is_refused(change):
    notebook = read(FOLDER / "quickstart.ipynb")
    change(notebook)
    assert faults(notebook)
    assert not faults(read(FOLDER / "quickstart.ipynb"))


def test_text_may_change_without_a_run():
    notebook = read(FOLDER / "quickstart.ipynb")
    notebook.cells[0].source += " And more."
    assert not faults(notebook)
