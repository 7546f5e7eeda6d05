"""A cell's folder: tiles are found wherever they are, packed without loss, and read while they are being packed."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from test_tile_file import flip, other

from jaxids.experiment import cells, store


def fits(file):
    """Every file is of the cell."""


@pytest.fixture
def cell(tmp_path):
    return tmp_path / "cell"


def names(cell):
    return sorted(path.name for path in cell.iterdir())


def regrets(cell, indices):
    return [tile["regret"] for tile in cells.tiles(cell, indices, fits)]


def expected(indices):
    return [other(index)["regret"] for index in indices]


def test_finished_tiles_become_one_file_whatever_they_came_in(cell, tmp_path):
    cells.write(cell, 0, [other(0)])
    cells.write(cell, 1, [other(1)])
    cells.write(cell, 2, [other(2), other(3)])
    assert cells.finished(cell, 9) == {0, 1, 2, 3}
    cells.pack(cell, 5, fits)
    assert len(names(cell)) == 3  # one is missing yet, so they stay as they are
    cells.write(cell, 4, [other(4)])
    before = regrets(cell, range(5))
    cells.pack(cell, 5, fits)
    assert names(cell) == ["00000-00004.npz"]
    assert all(map(np.array_equal, before, expected(range(5))))
    assert all(map(np.array_equal, regrets(cell, range(5)), before))
    cells.write(tmp_path / "at once" / "cell", 0, [other(k) for k in range(5)])
    assert (tmp_path / "at once" / "cell" / names(cell)[0]).read_bytes() == (cell / names(cell)[0]).read_bytes()


def test_blocks_are_packed_as_they_are_finished_and_more_tiles_join_the_last(cell, monkeypatch):
    monkeypatch.setattr(cells, "BLOCK", 4)
    writer = cells.Writer(cell, fits)
    for index in range(6):
        writer.add(index, other(index))
    writer.flush()
    assert "00000-00003.npz" in names(cell)
    cells.pack(cell, 6, fits)
    assert names(cell) == ["00000-00003.npz", "00004-00005.npz"]
    cells.write(cell, 6, [other(6)])
    cells.pack(cell, 7, fits)
    assert names(cell) == ["00000-00003.npz", "00004-00006.npz"]
    cells.pack(cell, 5, fits)  # fewer are asked for: nothing is lost
    assert names(cell) == ["00000-00003.npz", "00004-00006.npz"]
    assert all(map(np.array_equal, regrets(cell, range(7)), expected(range(7))))


def test_tiles_that_come_quickly_share_a_file_and_slow_ones_do_not_wait(cell, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(cells.time, "monotonic", lambda: now[0])
    writer = cells.Writer(cell, fits)
    for index, seconds in enumerate([0, 0.2, 0.2, 0.2, 5, 5]):
        now[0] += seconds
        writer.add(index, other(index))
    assert names(cell) == ["00000-00003.npz", "00004.npz", "00005.npz"]
    writer.add(6, other(6))
    writer.add(8, other(8))  # does not follow
    assert "00006.npz" in names(cell)
    writer.flush()
    assert names(cell)[-1] == "00008.npz"


def test_a_sound_copy_serves_in_place_of_a_damaged_one(cell):
    cells.write(cell, 0, [other(k) for k in range(3)])
    path = cell / "00000-00002.npz"
    flip(path, 1)
    assert cells.sound(cell, 3, fits) == (
        {0, 2},
        [f"{path}: damaged, its checksum does not fit; `jaxids run` mends it"],
    )
    with pytest.raises(store.DamagedError, match="its checksum does not fit"):
        regrets(cell, range(3))
    cells.write(cell, 1, [other(1)])
    assert cells.sound(cell, 3, fits)[0] == {0, 1, 2}
    cells.pack(cell, 3, fits)
    assert names(cell) == ["00000-00002.npz"]
    assert cells.sound(cell, 3, fits) == ({0, 1, 2}, [])
    assert all(map(np.array_equal, regrets(cell, range(3)), expected(range(3))))


def test_a_file_under_another_name_or_cut_short_is_damage_and_written_again(cell):
    cells.write(cell, 0, [other(0), other(1)])
    os.rename(cell / "00000-00001.npz", cell / "00003-00004.npz")
    found = cells.look(cell, 9, fits)
    assert not found.where
    assert "its name is not its own" in str(found.damaged[0])
    cells.write(cell, 3, [other(3), other(4)])
    cells.write(cell, 0, [other(0)])
    (cell / "00000.npz").write_bytes(b"")
    cells.write(cell, 0, [other(0)])
    assert cells.sound(cell, 9, fits) == ({0, 3, 4}, [])


def test_files_of_other_names_hold_no_tiles(cell):
    cell.mkdir()
    for stranger in ("1.npz", "00000 (copy).npz", "00002-00001.npz", "x.npz", "00000.tiles"):
        (cell / stranger).touch()
    assert cells.finished(cell, 9) == set()


def test_a_reader_meets_a_packer_and_misses_nothing(cell, monkeypatch):
    monkeypatch.setattr(cells, "BLOCK", 8)
    failed, done = [], threading.Event()

    def reader():
        while not done.is_set():
            before = cells.finished(cell, 64)
            found = cells.look(cell, 64, fits)
            read = regrets(cell, sorted(found.where)[:20])
            if not before <= set(found.where) or found.damaged or len(read) != min(20, len(found.where)):
                failed.append(before)

    thread = threading.Thread(target=reader)
    thread.start()
    try:
        for index in range(64):
            cells.write(cell, index, [other(index)])
            cells.pack(cell, 8 * (index // 8 + 1), fits)
    finally:
        done.set()
        thread.join()
    assert not failed
    assert len(names(cell)) == 8


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_tile_file import other
from jaxids.experiment import cells
cell, count, nth = Path(sys.argv[1]), iter(range(1000)), int(sys.argv[2])
for index in range(4):
    cells.write(cell, index, [other(index)])
for name in ("open", "fsync", "link", "unlink"):
    def dying(*arguments, real=getattr(os, name), **more):
        if next(count) == nth:
            os.kill(os.getpid(), 9)
        return real(*arguments, **more)
    setattr(os, name, dying)
cells.pack(cell, 4, lambda file: None)
"""


@pytest.mark.parametrize("nth", range(10))
def test_a_packer_that_is_killed_anywhere_loses_nothing(cell, nth):
    ended = subprocess.run([sys.executable, "-c", KILLED, cell, str(nth), os.path.dirname(__file__)], check=False)
    assert (ended.returncode == 0) == (nth >= 9)  # fsync, link, unlink of the part, the folder's two, four tiles
    assert all(map(np.array_equal, regrets(cell, range(4)), expected(range(4))))
    store.clean(cell)
    cells.pack(cell, 4, fits)
    assert names(cell) == ["00000-00003.npz"]


def test_two_packers_at_once_end_with_one_file(cell, tmp_path):
    for index in range(4):
        cells.write(cell, index, [other(index)])
    both = [threading.Thread(target=cells.pack, args=(cell, 4, fits)) for _ in range(4)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert names(cell) == ["00000-00003.npz"]
    assert cells.sound(cell, 4, fits) == ({0, 1, 2, 3}, [])
