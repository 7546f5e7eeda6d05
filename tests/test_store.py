"""Files of the store: whatever happens to a writer, a reader finds a whole file, or none, or is told of damage."""

import errno
import os
import socket
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from jaxids.experiment import store


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize(("call", "replace"), [("fsync", True), ("fsync", False), ("replace", True), ("link", False)])
@pytest.mark.parametrize("nth", range(3))
def test_a_failing_disk_leaves_the_old_file_or_none_and_is_named(tmp_path, monkeypatch, code, call, replace, nth):
    """Every way in which one of the calls that write a file can fail."""
    before, new = tmp_path / "before", tmp_path / "new"
    store.write(before, b"old")
    count, real = iter(range(10)), getattr(os, call)

    def fail(*arguments):
        if next(count) == nth:
            raise OSError(code, os.strerror(code))
        return real(*arguments)

    monkeypatch.setattr(os, call, fail)
    fails = nth < {"fsync": 2, "replace": 1, "link": 1}[call]  # how often it is called: of the file and its folder
    with pytest.raises(OSError, match=rf"{new}.*cannot be written") if fails else nullcontext() as raised:
        store.write(new, b"content", replace)
    assert not fails or raised.value.errno == code
    assert snapshot(tmp_path) in ({"before": b"old"}, {"before": b"old", "new": b"content"})
    assert fails or new.exists()


def test_the_first_to_write_a_file_wins_unless_it_is_to_be_replaced(tmp_path, monkeypatch):
    path = tmp_path / "x"
    for content in (b"first", b"second"):
        store.write(path, content, replace=False)
        assert path.read_bytes() == b"first"
    store.write(path, b"third")
    assert path.read_bytes() == b"third"

    def refuse(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    store.write(path, b"fourth", replace=False)
    store.write(tmp_path / "y", b"new", replace=False)
    assert snapshot(tmp_path) == {"x": b"third", "y": b"new"}


KILLED = """
import os, sys
from pathlib import Path
from jaxids.experiment import store
count, nth = iter(range(100)), int(sys.argv[2])
for name in ("open", "fsync", "replace", "link"):
    def dying(*arguments, real=getattr(os, name), **more):
        if next(count) == nth:
            os.kill(os.getpid(), 9)
        return real(*arguments, **more)
    setattr(os, name, dying)
store.write(Path(sys.argv[1]) / "x", b"content", replace=sys.argv[3] == "replace")
"""


@pytest.mark.parametrize("how", ["replace", "first"])
@pytest.mark.parametrize("nth", range(5))
def test_killed_between_any_two_calls_a_file_is_whole_or_not_there(tmp_path, nth, how):
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(nth), how], check=False)
    assert ended.returncode in (-9, 0)
    store.clean(tmp_path)
    assert snapshot(tmp_path) in ({}, {"x": b"content"})
    assert (ended.returncode == 0) == (nth >= 4)  # fsync, its name, and open and fsync of the folder
    assert ended.returncode != 0 or (tmp_path / "x").exists()


def test_parts_of_living_writers_are_left_alone(tmp_path):
    host = socket.gethostname()
    mine = tmp_path / f".x.npz~{host}~{os.getpid()}~00.part"
    dead = tmp_path / f".x.npz~{host}~{_dead_process()}~00.part"
    far, old = tmp_path / ".x.npz~elsewhere.org~1~00.part", tmp_path / ".x.npz~elsewhere.org~2~00.part"
    other = tmp_path / ".hidden.part"
    for path in (mine, dead, far, old, other):
        path.touch()
    os.utime(old, (time.time() - 2 * store.DAY,) * 2)
    store.clean(tmp_path)
    assert set(tmp_path.iterdir()) == {mine, far, other}


def _dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_file_is_written_only_if_it_differs(tmp_path):
    path = tmp_path / "deep" / "x.json"
    assert store.keep(path, b"one") is False
    stamp = path.stat().st_mtime_ns
    assert store.keep(path, b"one") is False
    assert path.stat().st_mtime_ns == stamp
    assert store.keep(path, b"two") is True
    assert path.read_bytes() == b"two"


def test_parts_of_long_names_fit_and_are_cleaned(tmp_path, monkeypatch):
    monkeypatch.setattr(store.socket, "gethostname", lambda: "h" * 255)
    path, names, replace = tmp_path / ("é" * 120 + ".toml"), [], os.replace
    monkeypatch.setattr(store.os, "replace", lambda part, to: (names.append(part.name), replace(part, to)))
    store.write(path, b"content")
    assert path.read_bytes() == b"content"
    (tmp_path / names[0].replace(f"~{os.getpid()}~", f"~{_dead_process()}~")).touch()
    store.clean(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_parts_that_are_not_ours_are_left_alone(tmp_path):
    names = [".a~b~c~d.part", ".x~h~99999999999999999999~00.part", "x~h~1~00.part"]
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".x~h~1~00.part").mkdir()
    store.clean(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_folder_is_named_by_all_a_result_depends_on():
    setting = {"steps": 10, "problem": {"rho": [0.1, 1.0], "dim": 3}}
    same = {"problem": {"dim": 3, "rho": [0.1, 1.0]}, "steps": 10}
    other = {"steps": 10, "problem": {"rho": [0.1, 1.0], "dim": 4}}
    names = [store.cell_folder("UCB", table) for table in (setting, same, other)]
    assert names[0] == names[1] != names[2]


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}
