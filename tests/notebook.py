"""The notebooks: run at full size to keep what they show, and told whether what is kept belongs to the code beside it.

    python tests/notebook.py [NAME …]

runs all notebooks, or those named, from top to bottom, and writes them with their outputs and a digest of their code.
"""

import ast
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
LOCAL = re.compile(r"(?<![\w.:/])/(?:tmp|home|root|usr|opt|var|work|Users)/")  # of one machine, not of a reader's


def read(path):
    return nbformat.read(path, as_version=4)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def digest(notebook):
    """Of the sources of all code cells, in their order."""
    return hashlib.sha256(json.dumps([cell.source for cell in code_of(notebook)]).encode()).hexdigest()[:16]


def execute(notebook, small=False):
    """Run all cells in a fresh kernel; a cell that raises raises here."""
    environment = {name: value for name, value in os.environ.items() if name != "JAXIDS_SMALL"}
    environment |= {"JAXIDS_SMALL": "1"} if small else {}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"  # XLA complains of a slow compiler where a machine is busy
    where = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, timeout=1200, resources=where, record_timing=False, coalesce_streams=True).execute(
        env=environment
    )
    notebook.metadata["jaxids"] = {"digest": digest(notebook), "small": small}
    return notebook


def faults(notebook):
    """Why the outputs are not what a run of the cells at full size shows; nothing if they are."""
    found, cells, kept = [], code_of(notebook), notebook.metadata.get("jaxids", {})
    if kept.get("digest") != digest(notebook):
        found.append("the code has changed since it was run")
    if kept.get("small") is not False:
        found.append("it was run at reduced size")
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        found.append("the cells were not run once each, from top to bottom")
    for number, cell in enumerate(cells, 1):
        found += [f"cell {number} {wrong}" for wrong in _shown_wrong(cell)]
    return found


def _shown_wrong(cell):
    text = json.dumps([{**output, "metadata": None} for output in cell.outputs if output.output_type != "error"])
    if any(output.output_type == "error" for output in cell.outputs):
        yield "ended with an error"
    if any(output.get("name") == "stderr" for output in cell.outputs):
        yield "printed a warning"
    if LOCAL.search(re.sub(r'"image/png": "[^"]*"', "", text)):
        yield "shows a path of the machine it ran on"
    if not cell.outputs and shows(cell.source):
        yield "shows nothing"


def shows(source):
    """Whether a cell prints, or ends with an expression."""
    body = ast.parse(re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.MULTILINE)).body
    done = [part for part in body if not isinstance(part, ast.FunctionDef | ast.ClassDef)]
    calls = [node.func for part in done for node in ast.walk(part) if isinstance(node, ast.Call)]
    return isinstance(body[-1], ast.Expr) or any(getattr(call, "id", "") == "print" for call in calls)


def main(names):
    for path in PATHS:
        if names and path.stem not in names:
            continue
        begun = time.perf_counter()
        notebook = execute(read(path), small="--small" in names)
        if "--small" not in names:
            nbformat.write(notebook, path)
        size = path.stat().st_size / 1e6
        print(f"{path.stem}: {time.perf_counter() - begun:.0f} s, {size:.2f} MB", *faults(notebook), sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
