"""Curves that are drawn while other experiments run: once each, the same bytes, and again where they have changed."""

import threading
import time
from dataclasses import replace

import pytest

from jaxids import cli, load
from jaxids.experiment import cells
from jaxids.plot import figures
from jaxids.report import early, page, pictures

FILE = 'trials = 4\nsteps = 30\npolicies = ["UCB", "TS"]\nproblem = { actions = 4, dim = 2, rho = 0.5 }\n'


@pytest.fixture
def files(tmp_path):
    """Two experiments."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(FILE)
    return [str(tmp_path / f"{name}.toml") for name in ("one", "two")]


@pytest.fixture
def drawn(monkeypatch):
    """Which panels were drawn, and in which thread."""
    found, right = [], early.draw_curves

    def noted(panel):
        found.append((panel.stem, threading.current_thread().name.split("_")[0]))
        return right(panel)

    monkeypatch.setattr(early, "draw_curves", noted)
    monkeypatch.setattr(pictures, "draw_curves", noted)
    return found


def pictures_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.p[nd][gf]")}


def test_curves_are_drawn_once_and_are_those_of_a_page_made_later(files, drawn, tmp_path):
    assert cli.main(["run", *files, "--out", str(tmp_path / "out")]) == 0
    assert drawn == [("one", "drawing"), ("two", "drawing")]
    found = pictures_in(tmp_path / "out")
    assert len(found) == 2 * 2 * 2 + 2
    for path in found:
        (tmp_path / "out" / path).unlink()
    assert cli.main(["report", str(tmp_path / "out")]) == 0
    assert [thread for _, thread in drawn[2:]] == ["MainThread"] * 2
    assert pictures_in(tmp_path / "out") == found


def test_nothing_is_drawn_by_two_threads_at_once(tmp_path, monkeypatch):
    """Matplotlib's settings are those of the whole process: figures of comparisons would be half in another style."""
    under_way, most, right = [], [], figures.save
    rest = 'instance = "fresh" }\n[[claims]]\nsays = "."\ntest = "less"\ncurves = ["UCB", "TS"]\n'
    text = FILE.replace("problem", 'compare = [["UCB", "TS"]]\nproblem').replace("}\n", ", " + rest)
    (paths := [tmp_path / f"e{i}.toml" for i in range(4)])[0].write_text(text)
    for path in paths[1:]:
        path.write_text(text)

    def noted(*given):
        under_way.append(1)
        most.append(len(under_way))
        time.sleep(0.2)
        under_way.pop()
        return right(*given)

    monkeypatch.setattr(figures, "save", noted)
    assert cli.main(["run", *map(str, paths), "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").rglob("*-pairs.png"))) == 4
    assert set(most) == {1}


@pytest.mark.parametrize("name", ["folder", "point", "missing", "others", "curves"])
def test_a_digest_tells_panels_apart_that_look_different(files, tmp_path, name):
    assert cli.main(["run", files[0], "--out", str(tmp_path / "out"), "--part", "1/1"]) == 0
    panel = load(tmp_path / "out").panels[0]
    others = {
        "folder": replace(panel, name="two"),
        "point": replace(panel, point={"delta": 0.1}),
        "missing": replace(panel, missing=["IDS-UCB"]),
        "others": replace(panel, others=("mine.py:Mine",)),
        "curves": replace(panel, curves=[replace(panel.curves[0], digest="0"), *panel.curves[1:]]),
    }
    assert early.digest(panel) == early.digest(load(tmp_path / "out").panels[0]) != early.digest(others[name])


def test_what_has_changed_since_is_drawn_again(files, drawn, tmp_path):
    out = tmp_path / "out"
    assert cli.main(["run", *files, "--out", str(out), "--part", "1/1"]) == 0
    assert drawn == []
    with early.Early(out) as drawing:
        drawing.finished("one")
        before = load(out / "one").panels[0]
        assert drawing.curves(before) == early.draw_curves(before)  # the first are those drawn before
        assert [thread for _, thread in drawn] == ["drawing", "MainThread"]
        assert cli.main(["run", *files, "--out", str(out), "--part", "1/1", "--trials", "300"]) == 0
        drawing.curves(load(out / "one").panels[0])
    assert [thread for _, thread in drawn[2:]] == ["MainThread"]


def test_what_went_wrong_early_goes_wrong_again_or_is_made_good(files, drawn, tmp_path, monkeypatch):
    noted = early.draw_curves

    def fails(panel):
        if threading.current_thread() is not threading.main_thread():
            raise OSError("no room")
        return noted(panel)

    monkeypatch.setattr(early, "draw_curves", fails)
    assert cli.main(["run", *files, "--out", str(tmp_path / "out")]) == 0
    assert [thread for _, thread in drawn] == ["MainThread"] * 2
    assert page.load(tmp_path / "out").panels[0].file("", ".png").stat().st_size > 10_000


def test_an_error_while_tiles_are_stored_ends_the_run_and_loses_no_other_tile(files, tmp_path, monkeypatch, capsys):
    threads, right = [], cells.pack

    def full_at_first(*given):
        threads.append(threading.current_thread().name.split("_")[0])
        if len(threads) == 1:
            raise OSError(28, "No space left on device")
        right(*given)

    monkeypatch.setattr(cells, "SECONDS", 1e9)  # no tile is written before its job is done
    monkeypatch.setattr(cells, "pack", full_at_first)
    assert cli.main(["run", *files, "--out", str(tmp_path / "out")]) == 2
    assert "No space left" in capsys.readouterr().err
    assert threads[0] == "storing"
    assert not (tmp_path / "out" / "report.html").exists()
    assert len(list((tmp_path / "out").rglob("*.npz"))) >= 1 + (len(threads) > 1)  # of each job that was computed
