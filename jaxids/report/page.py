"""Figures and page of a folder of results, made when what they are made from has changed."""

import hashlib
import itertools
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import jaxids
from jaxids.experiment import store
from jaxids.experiment.results import Panel, Results, load
from jaxids.report.verdicts import verdicts

SCALES = ("linear", "log-log")


def update(folder: Path, names: Collection[str] = ()) -> None:
    """Draw the figures and write the page, unless they are there, and print the claims (of some experiments)."""
    results = load(folder)
    record, page, inputs = folder / "report.json", folder / "report.html", _digest(results)
    if not _as_made(record, inputs):
        from jaxids.report import markup

        files = [*draw(results), page]
        store.keep(page, markup.page(results).encode())
        sums = {str(file.relative_to(folder)): _sha256(file) for file in files}
        store.keep(record, store.as_json({"inputs": inputs, "files": sums}))
    for line in summary([panel for panel in results.panels() if not names or panel.table["name"] in names]):
        print(line)
    print(page)


def draw(results: Results) -> list[Path]:
    """Every figure of the page, and all panels in one."""
    from jaxids.plot import figures, instances

    drawn = itertools.chain.from_iterable(figures.draw(results, scale) for scale in SCALES)
    together = figures.save(figures.together(results.panels()), results.folder / "panels")
    return [*drawn, *together, *instances.draw(results)]


def summary(panels: Sequence[Panel]) -> Iterator[str]:
    """The claims as lines of text."""
    for panel in panels:
        for claim in verdicts(panel):
            yield f"{panel.stem:9s} {claim.verdict:13s}  {claim.says}"
            yield from (f"{'':25s}{measured}" for measured in claim.measured)


def _digest(results: Results) -> str:
    """A digest of all that figures and page are made from."""
    digest = hashlib.sha256(jaxids.__version__.encode() + store.as_json(results.described))
    for curve in results:
        digest.update(f"{curve.name} {curve.regret.shape}".encode())
        for array in (curve.trials, curve.regret, curve.pulls):
            digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _as_made(record: Path, inputs: str) -> bool:
    """Whether figures and page are those of these inputs, none of them changed."""
    try:
        made = json.loads(record.read_text(encoding="utf-8"))
        files = {record.parent / name: value for name, value in made["files"].items()}
        return made["inputs"] == inputs and all(_sha256(file) == value for file, value in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not there, or not ours: made again
        return False
