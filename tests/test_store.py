"""The store: whatever happens to a writer, a reader finds a whole file, or none, or is told that it is damaged."""

import errno
import hashlib
import io
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import nullcontext

import numpy as np
import pytest

from jaxids.experiment import store

ARRAYS = {"steps": np.arange(3, dtype=np.int32), "regret": np.arange(12, dtype=np.float32).reshape(3, 4)}


def test_a_tile_comes_back(tmp_path):
    store.write_tile(tmp_path, 3, ARRAYS)
    back = store.read_tile(tmp_path, 3)
    assert back.keys() == ARRAYS.keys()
    assert all(np.array_equal(back[name], ARRAYS[name]) and back[name].dtype == ARRAYS[name].dtype for name in ARRAYS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00003.npz", "00003.npz.sha256"]
    assert store.read_tile(tmp_path, 4) is None


def test_the_checksum_is_what_sha256sum_checks(tmp_path):
    store.write_tile(tmp_path, 0, ARRAYS)
    digest = hashlib.sha256((tmp_path / "00000.npz").read_bytes()).hexdigest()
    assert (tmp_path / "00000.npz.sha256").read_text() == f"{digest}  00000.npz\n"


def test_a_tile_is_the_same_bytes_every_time(tmp_path):
    for folder in ("one", "other"):
        store.write_tile(tmp_path / folder / "cell", 0, ARRAYS)
    one, other = (tmp_path / folder / "cell" / "00000.npz" for folder in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as file:  # which would keep a time if asked to
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_every_altered_byte_is_noticed(tmp_path):
    store.write_tile(tmp_path, 0, ARRAYS)
    for name in ("00000.npz", "00000.npz.sha256"):
        path = tmp_path / name
        content = path.read_bytes()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(store.DamagedError, match=r"00000\.npz: damaged"):
                store.read_tile(tmp_path, 0)
        path.write_bytes(content)
    assert store.read_tile(tmp_path, 0) is not None


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_truncated_tile_is_noticed(tmp_path, kept):
    store.write_tile(tmp_path, 0, ARRAYS)
    path = tmp_path / "00000.npz"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(store.DamagedError, match=r"00000\.npz: damaged"):
        store.read_tile(tmp_path, 0)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("nth", range(4))
def test_a_failing_disk_leaves_the_old_file_or_none_and_is_named(tmp_path, monkeypatch, code, call, nth):
    """Every way in which one of the calls that write a tile and its checksum can fail."""
    store.write_tile(tmp_path, 1, ARRAYS)
    before, count, real = snapshot(tmp_path), iter(range(10)), getattr(os, call)

    def fail(*arguments):
        if next(count) == nth:
            raise OSError(code, os.strerror(code))
        return real(*arguments)

    monkeypatch.setattr(os, call, fail)
    fails = nth < {"fsync": 4, "replace": 2}[call]  # how often a tile and its checksum make the call
    with (
        pytest.raises(OSError, match=rf"{tmp_path}/00000\.npz.*cannot be written") if fails else nullcontext() as raised
    ):
        store.write_tile(tmp_path, 0, ARRAYS)
    assert not fails or raised.value.errno == code
    after = snapshot(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"00000.npz", "00000.npz.sha256"}
    finished = store.read_tile(tmp_path, 0)
    assert finished is None or np.array_equal(finished["regret"], ARRAYS["regret"])


KILLED = """
import os, sys, numpy as np
from pathlib import Path
from jaxids.experiment import store
count, nth = iter(range(100)), int(sys.argv[2])
for name in ("open", "fsync", "replace"):
    def dying(*arguments, real=getattr(os, name), **more):
        if next(count) == nth:
            os.kill(os.getpid(), 9)
        return real(*arguments, **more)
    setattr(os, name, dying)
store.write_tile(Path(sys.argv[1]), 0, {"regret": np.arange(5)})
"""


@pytest.mark.parametrize("nth", range(9))
def test_killed_between_any_two_calls_a_tile_is_whole_or_unfinished(tmp_path, nth):
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(nth)], check=False)
    assert ended.returncode in (-9, 0)
    tile = store.read_tile(tmp_path, 0)
    assert tile is None or np.array_equal(tile["regret"], np.arange(5))
    store.clean(tmp_path)
    assert set(snapshot(tmp_path)) <= {"00000.npz", "00000.npz.sha256"}
    assert (ended.returncode == 0) == (nth >= 8)  # fsync, replace, and open and fsync of the folder, all twice
    assert ended.returncode != 0 or tile is not None


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


def test_a_tile_of_another_cell_is_noticed(tmp_path):
    store.write_tile(tmp_path / "one", 0, ARRAYS)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    with pytest.raises(store.DamagedError, match=r"other/00000\.npz: a tile of another cell"):
        store.read_tile(tmp_path / "other", 0)


@pytest.mark.parametrize("name", ["00000.npz", "00000.npz.sha256"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, name, kind):
    store.write_tile(tmp_path, 0, ARRAYS)
    path = tmp_path / name
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda p: p.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    with pytest.raises(store.DamagedError, match=rf"{path}: damaged, it is not a regular file"):
        store.read_tile(tmp_path, 0)
    if kind != "folder":
        store.write_tile(tmp_path, 0, ARRAYS)
        assert np.array_equal(store.read_tile(tmp_path, 0)["regret"], ARRAYS["regret"])


def test_a_tile_holds_its_arrays_and_nothing_else(tmp_path, monkeypatch):
    """NumPy 2.0 takes every keyword for an array, later ones know `allow_pickle`."""
    given, savez = [], np.savez
    monkeypatch.setattr(store.np, "savez", lambda file, **arrays: (given.append(arrays), savez(file, **arrays)))
    store.write_tile(tmp_path, 0, ARRAYS)
    assert given[0].keys() == {"cell", *ARRAYS}
    with zipfile.ZipFile(tmp_path / "00000.npz") as file:
        assert set(file.namelist()) == {"cell.npy", "steps.npy", "regret.npy"}


def _huge(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text = (header + " " * (117 - len(header)) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _zipped(name, content, how=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as file:
        file.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        b"PK\x03\x04 cut short",
        _zipped("regret.npy", b"no array"),
        _zipped("regret.npy", _huge("(10000000000000,)")),
        _zipped("regret.npy", _huge("(3000000000,)")),
        _zipped("regret.npy", _huge("(" * 150)),
        _zipped("regret.npy", _huge("(40000,)") + bytes(160000), zipfile.ZIP_DEFLATED),
    ],
    ids=["empty", "text", "cut", "no array", "huge", "large", "nested", "compressed"],
)
def test_what_is_sealed_and_no_tile_is_damage(tmp_path, content):
    store.seal(tmp_path / "00000.npz", content)
    with pytest.raises(store.DamagedError, match=r"00000\.npz: (damaged, it holds no arrays|a tile of another cell)"):
        store.read_tile(tmp_path, 0)


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
