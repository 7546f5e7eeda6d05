"""Thousands of files and hundreds of calls gone wrong: each works, or is refused in one line that names the fault."""

import dataclasses
import inspect
import re
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path

import calls
import jax
import mutations
import numpy as np
import pytest

from jaxids import cli
from jaxids.experiment import claims, read, run, schema
from jaxids.report import page

FILES, ASSIGNMENTS, BUILT = {True: 4000, False: 600}, {True: 400, False: 100}, {True: 80, False: 16}  # at scale, or not
KEYS = {
    *schema.TOP,
    *schema.CURVES,
    *schema.ESTIMATOR,
    *schema.SECTIONS["problem"],
    *schema.WATCH,
    *schema.UNTIL,
    *claims.CLAIM,
}
SECTIONS = r"(problem|estimator|grid|curves|claims|watch|until)\."
NAMED = re.compile(rf"({SECTIONS})*({'|'.join(sorted(KEYS))}): ")
UNKNOWN = re.compile(rf"({SECTIONS})*.*: unknown key; ")
SYNTAX = re.compile(r"\((at line \d+, column \d+|at end of document)\)$")
WHOLE = ("not a text file in UTF-8", "lists or tables within each other", "a number of too many digits to read")
LONGEST = 2000


def fault(message: str, path: str) -> str:
    """What is wrong with the message of an error in a file, if anything is."""
    start, said = message.startswith(f"{path}: "), message.removeprefix(f"{path}: ")
    named = NAMED.match(said) or UNKNOWN.match(said) or SYNTAX.search(said) or said.startswith(WHOLE)
    one_line = len(message.splitlines()) == 1 and len(message) < LONGEST
    return "" if start and named and one_line else f"{message[:300]!r} of {len(message)} characters"


def told(faults: list) -> str:
    """Some of the faults, one a line."""
    return "\n".join(map(str, [f"{len(faults)} faults", *faults[:30]]))


@pytest.fixture(scope="module")
def mutants(at_scale) -> list[bytes]:
    """Files gone wrong."""
    rng, originals = np.random.default_rng(1), mutations.originals()
    return [mutations.mutant(rng, originals[i % len(originals)]) for i in range(FILES[at_scale])]


def test_a_file_reads_or_is_refused_by_name(tmp_path, mutants):
    path, faults, fine = tmp_path / "some.toml", [], 0
    for source in mutants:
        path.write_bytes(source)
        try:
            read.read(path)
            fine += 1
        except ValueError as error:
            faults.append(fault(str(error), str(path)))
        except Exception as error:
            faults.append(f"{type(error).__name__}: {str(error)[:200]} from {source[:300]!r}")
    faults = list(filter(None, faults))
    assert not faults, told(faults)
    assert len(mutants) / 20 < fine < len(mutants) / 2  # neither all right nor all wrong


def _built(path) -> Iterator[read.Experiment]:
    """Experiments of one new problem or estimator each, of a size to be built at once."""
    rng, seen = np.random.default_rng(2), set[str]()
    while True:
        table = tomllib.loads(mutations.SMALL[rng.integers(len(mutations.SMALL))])
        section = "problem" if rng.random() < 0.8 else "estimator"
        table[section] = mutations.table(rng, table.get(section, {"lam": 1.0, "delta": 0.1, "norm_bound": 1.0}))
        path.write_bytes(mutations.document(table))
        try:
            experiment = read.read(path)
        except ValueError:
            continue
        cell = experiment.cells[-1]
        size = cell.setting["problem"].get("per_side", 5) ** cell.setting["problem"].get("dim", 1)
        if (text := repr((cell.setting["problem"], cell.setting["estimator"]))) not in seen and size < 200:
            seen.add(text)
            yield dataclasses.replace(experiment, cells=[cell])


def test_what_reads_is_built_or_refused_by_name(tmp_path, at_scale):
    path, faults, fine = tmp_path / "some.toml", [], 0
    for experiment, _ in zip(_built(path), range(BUILT[at_scale]), strict=False):
        try:
            run.jobs_of(experiment, tmp_path)
            fine += 1
        except ValueError as error:
            faults.append(fault(str(error), str(path)))
        except Exception as error:
            faults.append(f"{type(error).__name__}: {str(error)[:200]} from {experiment.source}")
    faults = list(filter(None, faults))
    assert not faults, told(faults)
    assert 0 < fine < BUILT[at_scale]


def test_assignments_are_taken_or_refused_by_name(tmp_path, monkeypatch, capsys, at_scale):
    monkeypatch.setattr(run, "run", lambda *_, **__: 0)
    monkeypatch.setattr(page, "update", lambda *_: None)
    rng, path, faults, taken = np.random.default_rng(3), tmp_path / "some.toml", [], 0
    path.write_text(mutations.PAIRS, encoding="utf-8")
    for _ in range(ASSIGNMENTS[at_scale]):
        text = mutations.assignment(rng)
        try:
            code, said = cli.main(["run", str(path), "--set", text]), capsys.readouterr().err
        except Exception as error:
            faults.append((text[:100], type(error).__name__))
            continue
        message = said.removeprefix("jaxids: ").rstrip("\n")
        refused = code == 2 and (said.startswith("jaxids run: --set: got ") or not fault(message, str(path)))
        taken += code == 0
        if said.count("\n") != (code == 2) or not (code == 0 or refused):
            faults.append((text[:100], code, said[:300]))
    assert not faults, told(faults)
    assert 0 < taken < ASSIGNMENTS[at_scale]


def test_runs_end_well_or_with_one_line(tmp_path, capsys, at_scale):
    path, rng = tmp_path / "some.toml", np.random.default_rng(4)
    path.write_text(mutations.LINEAR, encoding="utf-8")
    for i in range(8 if at_scale else 2):
        changes = [
            f"{name}={rng.choice(['1e-38', '1e-19', '1e-6', '0.9', '1e6', '1e18', '1e37'])}" for name in ("lam", "rho")
        ]
        assigned = [part for change in (*changes, "delta=1e-37") for part in ("--set", change)]
        small = ["--trials", "2", "--steps", "3", "--out", str(tmp_path / f"out{i}")]
        code, said = cli.main(["run", str(path), *small, *assigned]), capsys.readouterr()
        assert (code, "Traceback" in said.err) in ((0, False), (2, False)), (changes, said.err)
        assert code == 0 or re.fullmatch(r"jaxids: [^\n]{1,2000}\n", said.err), (changes, said.err)
        assert code == 2 or "report.html" in said.out


@pytest.mark.parametrize(("function", "good"), calls.CALLS, ids=[function.__name__ for function, _ in calls.CALLS])
def test_a_call_works_or_names_the_argument(function, good, tmp_path, monkeypatch, at_scale):
    monkeypatch.chdir(tmp_path)
    public = calls.public(function)
    rng = np.random.default_rng(zlib.crc32(public.__qualname__.encode()))
    parameters, faults = set(inspect.signature(public).parameters), []
    for name in good:
        for i in rng.choice(len(calls.BAD), calls.tries(function, at_scale), replace=False):
            bad = calls.BAD[i]
            try:
                given = public(**good | {name: bad})
                if not callable(bad) and not _finite(given):  # what a function gives is its own affair
                    faults.append((name, i, "not finite"))
            except ValueError as error:
                named, text = set(str(error).partition(": ")[0].split(", ")), str(error)
                named -= {str(Path(bad))} if isinstance(bad, str) else set()  # a folder is its own name
                if not named <= parameters or len(text.splitlines()) != 1 or len(text) > LONGEST:
                    faults.append((name, i, text[:300]))
            except Exception as error:
                faults.append((name, i, f"{type(error).__name__}: {str(error)[:200]}"))
    assert not faults, told(faults)


def _finite(tree: object) -> bool:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, float | np.floating | np.ndarray | jax.Array)]
    return all(np.all(np.isfinite(leaf)) for leaf in leaves if np.asarray(leaf).dtype.kind == "f")
