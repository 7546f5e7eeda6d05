"""A well-sealed file that holds what it should not is damage, named and mended."""

import hashlib
import json
import os
import re

import numpy as np
import pytest
from curves import STEPS, stored

from jaxids import cli, load
from jaxids.experiment import cells, sound, store, tile_file
from jaxids.report import markup, page


@pytest.fixture
def undrawn(monkeypatch):
    """A report without figures, which takes no time."""
    monkeypatch.setattr(page, "draw", lambda *_: [])
    monkeypatch.setattr(markup, "page", lambda *_: "")


@pytest.fixture
def folder(tmp_path):
    """Two experiments."""
    for name in ("made", "other"):
        tables = [("UCB", {}, {}, [1.0, 2.0]), ("TS", {}, {}, [3.0, 4.0])]
        stored(tmp_path, tables, trials=2, width=2, name=name, record=["ratio"])
    return tmp_path


RECORDS = {
    "not JSON": "{",
    "nested": "[" * 100_000,
    "a list": [],
    "null": None,
    "no cells": {"cells": None},
    "cells of text": {"cells": ["x"]},
    "trials of text": {"trials": "many"},
    "trials below one": {"trials": -3},
    "trials beyond number": {"trials": 10**30},
    "title": {"title": 3},
    "notes": {"notes": ["x"]},
    "source": {"source": {}},
    "changes": {"changes": []},
    "claims": {"claims": [{"says": 1}]},
    "claims of text": {"claims": "x"},
    "compare": {"compare": [["UCB"]]},
    "compare without problems": {"compare": [["UCB", "TS"]]},
    "watch": {"watch": {"curves": "UCB"}},
    "watch without problems": {"watch": {"curves": ["UCB"], "steps": [1], "trial": 0}},
}
CELLS = {
    "label": 3,
    "panel": [],
    "numbers": "x",
    "setting": {},
    "folder": "../../elsewhere",
    "width": 0,
    "policy": "XYZ",
    "steps": "all",
    "record": ["gian"],
}


@pytest.mark.parametrize("case", [*RECORDS, *CELLS, *(f"no {key}" for key in CELLS if key != "record")])
def test_a_record_of_anything_else_is_named_and_left_out(folder, case, capsys, undrawn):
    path = folder / "made" / "experiment.json"
    table = json.loads(path.read_text())
    if case in RECORDS:
        change = RECORDS[case]
        table = table | change if isinstance(change, dict) else change
    else:
        cell, key = table["cells"][1], case.removeprefix("no ")
        within = cell if key in cell else cell["setting"]
        within[key] = CELLS[key]
        if case.startswith("no "):
            del within[key]
    store.seal(path, table.encode() if isinstance(table, str) else store.as_json(table))
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, .*; `jaxids run` mends it$"):
        load(folder)
    assert cli.main(["report", str(folder)]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"jaxids: left out: {path}: damaged, ")
    assert said.count("\n") == 1
    assert len(said) < 1000


def test_a_store_of_an_older_version_is_answered_in_one_line_and_stays(folder, capsys, undrawn):
    path = folder / "made" / "experiment.json"
    store.seal(path, store.as_json(json.loads(path.read_text()) | {"jaxids": "0.5.2"}))
    old = next((folder / "made" / "tiles").glob("UCB-*")) / "00000.tiles"
    old.write_bytes(b"jaxids: tiles 1\n")
    line = f"{path}: a store of jaxids 0.5.2, which is not continued; run it with another --out"
    with pytest.raises(store.DamagedError, match=f"^{re.escape(line)}$"):
        load(folder / "made")
    assert cli.main(["report", str(folder)]) == 0
    assert capsys.readouterr().err == f"jaxids: left out: {line}\n"
    assert cli.main(["status", str(folder)]) == 0
    assert [text for text in capsys.readouterr().out.splitlines() if str(path) in text] == [line]
    (folder / "made.toml").write_text('policies = ["UCB"]\ntrials = 2\nsteps = 3\nproblem = {actions = 2, dim = 1}\n')
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert cli.main(["run", str(folder / "made.toml"), "--out", str(folder)]) == 2
    assert capsys.readouterr().err == f"jaxids: {line}\n"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


REGRET = np.ones((len(STEPS), 2), np.float32)
SOUND = {"steps": STEPS, "regret": REGRET, "ratio": REGRET * np.inf}
TILES = {
    "empty": {},
    "no steps": {"regret": REGRET, "ratio": REGRET},
    "no regret": {"steps": STEPS, "ratio": REGRET},
    "no series": {"steps": STEPS, "regret": REGRET},
    "another series": SOUND | {"gain": REGRET},
    "another width": SOUND | {"regret": REGRET[:, :1]},
    "other steps": SOUND | {"steps": STEPS[:-1]},
    "steps of one number": SOUND | {"steps": np.array(3)},
    "steps moved down": SOUND | {"steps": STEPS - 1},
    "steps moved up": SOUND | {"steps": STEPS.astype(np.int64) + 2**40},
    "steps between": SOUND | {"steps": STEPS + 0.5},
    "steps of floats": SOUND | {"steps": STEPS.astype(float)},
    "steps below one": SOUND | {"steps": np.append(np.array([0]), STEPS[1:])},
    "unsigned steps out of order": SOUND | {"steps": np.append(STEPS[-2::-1], STEPS[-1]).astype(np.uint32)},
    "steps out of order": SOUND | {"steps": STEPS[::-1]},
    "text": SOUND | {"regret": REGRET.astype(str)},
    "complex": SOUND | {"regret": REGRET + 1j},
    "not finite": SOUND | {"regret": REGRET * np.inf},
    "series of another shape": SOUND | {"ratio": REGRET[0]},
    "series without a number": SOUND | {"ratio": REGRET * np.nan},
    "pulls nobody asked for": SOUND | {"pulls": np.zeros((3, 2), np.int32)},
}


def test_a_ratio_may_be_infinite(folder):
    path = next((folder / "made" / "tiles").glob("TS-*"))
    (path / "00000.npz").unlink()
    cells.write(path, 0, [SOUND])
    assert np.all(load(folder)["made/TS"].series["ratio"].mean == np.inf)


def test_pulls_are_of_the_width_of_the_cell(tmp_path):
    cells.write(tmp_path / "UCB-0", 0, [{"steps": STEPS, "regret": REGRET, "pulls": np.zeros((3, 5), np.int32)}])
    file = tile_file.open_tiles(tmp_path / "UCB-0" / "00000.npz")
    with pytest.raises(store.DamagedError, match="its pulls are not of this cell"):
        sound.check_tiles({"record": [], "pulls": True, "width": 2, "steps": 1000}, None, file)


@pytest.mark.parametrize("case", TILES)
def test_a_tile_of_anything_else_is_named(folder, case):
    path = next((folder / "made" / "tiles").glob("TS-*")) / "00000.npz"
    path.unlink()
    cells.write(path.parent, 0, [TILES[case]])
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, its .* are not of this cell; `jaxids run`"):
        load(folder)


@pytest.mark.parametrize("case", ["no tile", "another width", "other steps"])
def test_a_run_mends_it(tmp_path, case, capsys):
    (tmp_path / "tiny.toml").write_text('policies = ["UCB"]\ntrials = 2\nsteps = 3\nproblem = {actions = 2, dim = 1}\n')
    command = ["run", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "out")]
    assert cli.main(command) == 0
    (tile,) = (tmp_path / "out").rglob("00000.npz")
    before = tile.read_bytes()
    arrays = tile_file.open_tiles(tile).arrays(0)
    tile.unlink()
    if case == "no tile":
        store.write(tile, b"nothing")
    elif case == "another width":
        cells.write(tile.parent, 0, [arrays | {"regret": arrays["regret"][:, :-1]}])
    else:
        cells.write(tile.parent, 0, [arrays | {"steps": arrays["steps"] + 1}])
    capsys.readouterr()
    assert cli.main(command) == 0
    assert f"{tile}: damaged, it" in capsys.readouterr().err
    assert tile.read_bytes() == before


@pytest.mark.parametrize("how", ["..", "whole path", "link", "linked folder", "no figure"])
def test_a_report_takes_away_nothing_but_its_figures(folder, tmp_path_factory, how, undrawn):
    """Whatever report.json says."""
    outside = tmp_path_factory.mktemp("outside")
    victim = folder / "made" / "mine.json" if how == "no figure" else outside / "mine.png"
    victim.write_bytes(b"mine")
    (folder / "link.png").symlink_to(victim)
    (folder / "linked").symlink_to(outside)
    name = {
        "..": os.path.relpath(victim, folder),
        "whole path": str(victim),
        "link": "link.png",
        "linked folder": "linked/mine.png",
        "no figure": "made/mine.json",
    }[how]
    files = {name: hashlib.sha256(b"mine").hexdigest(), "a\0b": "", "x" * 5000: "", "\ud800": ""}
    (folder / "report.json").write_text(json.dumps({"inputs": "", "files": files}))
    page.update(folder)
    assert victim.read_bytes() == b"mine"
    assert (folder / "link.png").is_symlink()
    assert set(json.loads((folder / "report.json").read_text())["files"]) == {"report.html"}


@pytest.mark.parametrize(
    "content", ["[]", '{"files": 3, "inputs": ""}', '{"files": [[1, 2]], "inputs": ""}', "[" * 10**5]
)
def test_a_report_is_made_anew_whatever_its_record_holds(folder, content, undrawn):
    (folder / "report.json").write_text(content)
    page.update(folder)
    assert set(json.loads((folder / "report.json").read_text())["files"]) == {"report.html"}
