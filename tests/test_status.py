"""How far a store is: what is done, missing and damaged, and the time left at the pace of those at work."""

import json
import os
import time

import numpy as np
import pytest
from curves import stored
from test_tile_file import flip

from jaxids import cli
from jaxids.experiment import cells, running, status, store

FINALS = np.arange(600.0)
TABLES = [("UCB", {"delta": 0.1}, {}, FINALS), ("TS", {"delta": 0.1}, {}, FINALS), ("W-TS", {}, {}, FINALS)]


@pytest.fixture
def folder(tmp_path):
    """Three cells of three tiles: one done, one without a tile, one with a tile missing."""
    return stored(tmp_path, TABLES, missing={("TS", 0), ("TS", 1), ("TS", 2), ("W-TS", 1)})


def said(capsys, *arguments):
    assert cli.main(["status", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_cells_that_are_done_begun_and_not_begun(folder, capsys):
    lines = said(capsys, folder)
    assert lines == [
        f"made-delta=0.1/UCB {'█' * 24} 600 trials, done",
        f"made-delta=0.1/TS  {'░' * 24} 0/600 trials, 3 of 3 tiles missing",
        f"made/W-TS          {'█' * 16}{'░' * 8} 512/600 trials, 1 of 3 tiles missing",
        f"{folder}: 1 of 3 cells done, 5 of 9 tiles; no run is at work",
    ]
    assert [line.split()[0] for line in said(capsys, folder, "--unfinished")[:-1]] == ["made-delta=0.1/TS", "made/W-TS"]
    assert said(capsys, folder / "made")[:3] == lines[:3]


def test_damage_is_named_wherever_it_is(folder, capsys, monkeypatch):
    ucb = sorted((folder / "made" / "tiles").glob("UCB-*/*.npz"))
    flip(ucb[1], 0)
    lines = said(capsys, folder)
    assert lines[0].endswith(" 512/600 trials, 1 of 3 tiles missing, 1 damaged")
    assert f"{ucb[1]}: damaged, its checksum does not fit; `jaxids run` mends it" in lines
    monkeypatch.setattr(status, "BYTES", 100)  # of larger stores the names tell, unless all is to be read
    assert said(capsys, folder)[0].endswith("600 trials, done")
    assert said(capsys, folder)[-1].startswith("of some cells only names of files were read; `jaxids status ")
    assert said(capsys, folder, "--check") == lines
    (folder / "made" / "experiment.json").write_text("{}")
    lines = said(capsys, folder)
    assert any(line.startswith(f"{folder}/made/experiment.json: damaged, ") for line in lines)
    assert "nothing is left to do" not in lines[-1]


def test_a_file_that_is_packed_away_meanwhile_is_no_mistake(folder, capsys, monkeypatch):
    held = cells.held

    def gone(path):
        return [*held(path), cells.Held(7, 7, path / "00007.npz")]

    before = said(capsys, folder)
    monkeypatch.setattr(cells, "held", gone)
    assert said(capsys, folder) == before


def test_the_time_left_is_that_of_all_runs_at_work(folder, capsys):
    work = 4 * 256 * 1000  # tiles that are missing, trials in each, steps of a trial
    for pid, rate, age in ((1, 3000.0, 0.0), (2, 1096.0, 0.0), (3, 1e9, 2 * running.STALE)):
        note = {"rate": rate, "time": time.time() - age}
        (folder / f".running~host~{pid}~00.part").write_text(json.dumps(note))
    (folder / ".running~host~4~00.part").write_text('{"ra')  # just being written
    assert said(capsys, folder)[-1].endswith("; 2 runs at work, 4096 steps/s, 4:10 left")
    assert work / 4096 == 250
    assert said(capsys, folder / "made")[-1].endswith("2 runs at work, 4096 steps/s, 4:10 left")


def test_a_run_keeps_a_note_while_it_lives_which_goes_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.01)
    with running.Running(tmp_path, lambda: 7.5):
        while running.pace(tmp_path) != (1, 7.5):
            time.sleep(0.01)
    assert running.pace(tmp_path) == (0, 0)
    time.sleep(0.05)
    assert not os.listdir(tmp_path)
    dead = store.part_of(tmp_path / "running").name.replace(f"~{os.getpid()}~", "~999999~")
    note = json.dumps({"rate": 1.0, "time": time.time()})
    (tmp_path / store.part_of(tmp_path / "running").name).write_text(note)
    assert running.pace(tmp_path) == (1, 1.0)
    os.replace(next(tmp_path.iterdir()), tmp_path / dead)  # killed a moment ago
    assert running.pace(tmp_path) == (0, 0)
    store.clean(tmp_path)
    assert not os.listdir(tmp_path)


def test_numbers_go_to_a_file(folder, tmp_path, capsys):
    said(capsys, folder, "--json", tmp_path / "status.json")
    table = json.loads((tmp_path / "status.json").read_text())
    assert [(cell["tiles"], cell["done"], cell["missing"]) for cell in table["cells"]] == [
        (3, 3, 0),
        (3, 0, 3),
        (3, 2, 1),
    ]
    assert (table["runs"], table["seconds_left"], table["every_byte_read"]) == (0, None, True)


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert cli.main(["status", str(tmp_path)]) == 2
    assert "no results here; it takes a folder that `jaxids run` wrote to" in capsys.readouterr().err
