"""What READMEs and pages show runs as it is written: Python, experiments and commands, with fewer trials and steps."""

import re
import shlex
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest
from scale import at_scale

import jaxids
from jaxids import cli
from jaxids.experiment import read

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))
DOCUMENTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "experiments/README.md", *PAGES)}
KINDS = {"python", "toml", "sh", "text"}


def snippets(document, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", DOCUMENTS[document], re.MULTILINE | re.DOTALL)


def commands(document):
    """Commands in the text and in blocks, as a user would type them."""
    inline = re.findall(r"`(jaxids \w[^`]*)`", DOCUMENTS[document])
    blocks = [part for block in snippets(document, "sh") for part in block.replace(".venv/bin/", "").split("&&")]
    return inline + [part.strip() for part in blocks if part.strip().startswith("jaxids ")]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of results of the experiments shown."""
    folder = tmp_path_factory.mktemp("readme")
    shown = [text for document in DOCUMENTS for text in snippets(document, "toml")]
    for number, text in enumerate(shown):
        (folder / f"shown{number}.toml").write_text(text, encoding="utf-8")
    assert cli.main(["run", str(folder), "--out", str(folder / "out"), "--trials", "2", "--steps", "3"]) == 0
    return folder / "out"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_snippet_is_of_a_kind_that_is_run(document):
    assert set(re.findall(r"^```(\w+)$", DOCUMENTS[document], re.MULTILINE)) <= KINDS
    assert DOCUMENTS[document].count("```") == 2 * sum(len(snippets(document, kind)) for kind in KINDS)


@pytest.fixture
def run(monkeypatch):
    """A function that runs the Python of a document in order, and gives its names."""
    monkeypatch.setattr(jaxids, "simulate", partial(_smaller, jaxids.simulate), raising=False)

    def ran(document):
        shown = {}
        for text in snippets(document, "python"):
            exec(compile(text, document, "exec"), shown)
        return shown

    return ran


@pytest.mark.parametrize(
    "document", at_scale([name for name in DOCUMENTS if "jaxids.simulate(" in DOCUMENTS[name]], ["README.md"])
)
def test_python_runs_in_order(document, run, capsys):
    shown = run(document)
    assert np.all(np.isfinite(shown["result"].mean))
    if document == "README.md":
        assert len(capsys.readouterr().out.splitlines()) == 5
    elif document == "docs/policies.md":
        mix, weight = shown["mix"], shown["mix"].weight
        assert (mix.first, mix.second) == (0, 2)
        assert mix.value == pytest.approx(shown["ratio"].psi([1 - weight, 0, weight], [1, 2, 3], [0.1, 1, 4]))
    elif document == "docs/theory.md":
        assert np.all(shown["result"].final <= shown["bound"] * (1 + 1e-5))
        assert np.all(shown["worth"] >= 0)


@pytest.mark.slow
def test_a_search_is_one_of_a_mix_and_compiles_once(run, caplog):
    shown = run("docs/kernels.md")
    assert 0 <= shown["choice"].mix.weight <= 1
    assert shown["choice"].mix.value > 0
    search = next(text for text in snippets("docs/kernels.md", "python") if "policies.choose" in text)
    with jax.log_compiles(True):
        exec(search.replace("default_rng(0)", "default_rng(1)"), shown)
    assert not [record for record in caplog.records if "_chosen" in record.getMessage()]


def _smaller(simulate, *args, trials, steps, **more):
    assert trials > 2
    assert steps > 3
    return simulate(*args, trials=2, steps=3, **more)


def test_experiments_run(results):
    loaded = jaxids.load(results)
    assert len(loaded) == 9
    assert {curve.panel["delta"] for curve in loaded} == {0.001, 0.01, 0.1}


@pytest.mark.parametrize("command", [c for document in DOCUMENTS for c in commands(document)])
def test_commands_are_understood(command, monkeypatch, results, capsys):
    """Those on results run; those that would run long are read, with the experiments they name."""
    monkeypatch.chdir(ROOT)
    words = shlex.split(re.sub(r"[\[\]…]", " ", command).replace("DIR", str(results)))[1:]
    words = ["experiments" if word == "FILE_OR_FOLDER" else "3" if word == "N" else word for word in words]
    if words[0] in ("plot", "report", "export"):
        assert cli.main(words) == 0
    else:
        arguments = cli._parser().parse_args(words)
        assert all(read.read(path).cells for path in read.files(getattr(arguments, "paths", [])))
