"""Files of tiles: what was written comes back, and whatever else there is, is named."""

import hashlib
import io
import json
import os
import shutil
import zipfile
from functools import partial

import numpy as np
import pytest

from jaxids import moments
from jaxids.experiment import cells, sound, store, tile_file

SETTING = {"steps": 3, "width": 4, "record": [], "pulls": False}
ARRAYS = {"steps": np.arange(1, 4, dtype=np.int32), "regret": np.arange(12, dtype=np.float32).reshape(3, 4)}


def other(k):
    """The arrays of another tile."""
    return ARRAYS | {"regret": ARRAYS["regret"] ** 1.5 + k}


def whole(path):
    """Everything a file holds, read."""
    file = tile_file.open_tiles(path)
    return file.series, [file.arrays(index) for index in file.indices]


def flip(path, tile):
    """Alter a bit of a tile of a file."""
    content, file = bytearray(path.read_bytes()), tile_file.open_tiles(path)
    content[file.start + tile * file.dtype.itemsize + 9] ^= 4
    path.write_bytes(content)


def rewritten(path, members, how=zipfile.ZIP_STORED):
    """Write a file with other members, whose checksum is right."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()} | members
    with path.open("w+b") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = b"0" * 64
            for name, content in members.items():
                info = zipfile.ZipInfo(name)
                info.compress_type = how if name == "summary.npy" else zipfile.ZIP_STORED
                archive.writestr(info, content)
            stop = archive.getinfo("summary.npy").header_offset
        digest, _ = tile_file._digests(file, stop - 3 * 60, stop)  # regrets of four trials at three steps, and these
        file.seek(-64, io.SEEK_END)
        file.write(digest)


def index_of(path):
    """The index of a file."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("index.json"))


@pytest.fixture
def path(tmp_path):
    """A file of three tiles, from tile 5 on."""
    cells.write(tmp_path / "cell", 5, [other(k) for k in range(3)])
    return tmp_path / "cell" / "00005-00007.npz"


@pytest.mark.parametrize("small", [tile_file.SMALL, 0])
def test_tiles_come_back(path, monkeypatch, small):
    """Of files that are read at once, and of others."""
    monkeypatch.setattr(tile_file, "SMALL", small)
    file = tile_file.open_tiles(path)
    assert (file.cell, file.indices) == ("cell", range(5, 8))
    for index in file.indices:
        back, expected = file.arrays(index), other(index - 5)
        assert back.keys() == expected.keys()
        assert all(np.array_equal(back[n], expected[n]) and back[n].dtype == expected[n].dtype for n in expected)
    with pytest.raises(FileNotFoundError):
        tile_file.open_tiles(path.with_name("00009.npz"))


def test_a_summary_is_what_tiles_give(path):
    file = tile_file.open_tiles(path)
    assert np.array_equal(file.steps, ARRAYS["steps"])
    for k in range(3):
        values = other(k)["regret"].astype(float)
        found, last = file.summary("regret", 5 + k)
        assert found.trials == 4
        assert np.allclose(found.mean, values.mean(axis=1), rtol=1e-14)
        assert np.allclose(found.square, ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1), rtol=1e-12)
        assert np.array_equal(last, other(k)["regret"][-1])
        assert all(np.array_equal(*both) for both in zip(found, moments.of(other(k)["regret"]), strict=True))


def test_a_file_is_the_same_bytes_every_time_and_what_numpy_and_zip_read(path, tmp_path):
    cells.write(tmp_path / "again" / "cell", 5, [other(k) for k in range(3)])
    assert (tmp_path / "again" / "cell" / path.name).read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as file:  # which would keep a time and a system if asked to
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {(info.create_system, info.compress_type) for info in file.infolist()} == {(3, zipfile.ZIP_STORED)}
        assert file.namelist() == ["tiles.npy", "summary.npy", "index.json"]
        assert file.testzip() is None
    with np.load(path) as file:
        assert np.array_equal(file["tiles"]["regret"], [other(k)["regret"] for k in range(3)])
        assert np.array_equal(file["tiles"]["steps"], [ARRAYS["steps"]] * 3)
        assert np.array_equal(file["summary"]["regret"]["last"], [other(k)["regret"][-1] for k in range(3)])
        assert [hashlib.sha256(tile).hexdigest().encode() for tile in file["tiles"]] == list(file["summary"]["sha256"])
        assert json.loads(file["index.json"]) == {
            "cell": "cell",
            "first": 5,
            "count": 3,
            "arrays": [["regret", "<f4", [3, 4]], ["steps", "<i4", [3]]],
            "steps": [1, 2, 3],
        }


def test_tiles_unlike_the_first_are_refused(tmp_path):
    for wrong in ({"regret": ARRAYS["regret"].T}, {"steps": ARRAYS["steps"] + 0.5}, {"pulls": ARRAYS["regret"]}):
        with pytest.raises(ValueError, match=r"00000-00001\.npz: tile 1 is of another type than the first$"):
            cells.write(tmp_path / "cell", 0, [ARRAYS, ARRAYS | wrong])
    assert not list((tmp_path / "cell").iterdir())


def test_every_altered_byte_is_noticed(path):
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(store.DamagedError, match=rf"^{path}: damaged"):
            whole(path)
    path.write_bytes(content)
    assert whole(path)


@pytest.mark.parametrize("kept", [0, 1, 100, -1, -73])
def test_a_truncated_file_is_noticed(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged"):
        tile_file.open_tiles(path)


def test_members_that_are_written_again_are_as_good(path):
    rewritten(path, {})
    assert whole(path)


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b"[" * 10**5])
def test_an_index_of_anything_else_is_named(path, index):
    rewritten(path, {"index.json": index})
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, it is no tile file"):
        tile_file.open_tiles(path)


INDEX = {
    "count of text": {"count": "many"},
    "huge count": {"count": 10**13},
    "negative count": {"count": -3},
    "no count": {"count": 0},
    "infinite count": {"count": 1e999},
    "first of text": {"first": "x"},
    "arrays of a number": {"arrays": 3},
    "no arrays": {"arrays": []},
    "an array without shape": {"arrays": [["regret", "<f4"]]},
    "objects": {"arrays": [["regret", "|O", [3, 2]], ["steps", "<i4", [3]]]},
    "a shape of text": {"arrays": [["regret", "<f4", ["x"]]]},
    "a huge shape": {"arrays": [["regret", "<f4", [10**9, 10**9]]]},
    "the same array twice": {"arrays": [["steps", "<i4", [3]], ["steps", "<f4", [3, 4]]]},
    "steps of many lengths": {"steps": [[1], [2, 3]]},
}


@pytest.mark.parametrize("case", INDEX)
def test_an_index_that_does_not_fit_is_named(path, case):
    """Whatever its checksum says. Objects would be pointers."""
    rewritten(path, {"index.json": json.dumps(index_of(path) | INDEX[case])})
    if case == "objects":
        assert cells.sound(path.parent, 9, partial(sound.check_tiles, SETTING, None))[0] == set()
    else:
        with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, it is no tile file"):
            tile_file.open_tiles(path)


@pytest.mark.parametrize("content", [b"", b"no array", bytes(100)])
def test_a_summary_of_anything_else_is_named(path, content):
    rewritten(path, {"summary.npy": content})
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, it is no tile file"):
        tile_file.open_tiles(path)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_opened(path, kind):
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda p: p.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    with pytest.raises(store.DamagedError, match=rf"{path}: damaged, it is not a regular file"):
        tile_file.open_tiles(path)
    if kind != "folder":
        cells.write(path.parent, 5, [other(k) for k in range(3)])
        assert whole(path)


def test_tiles_of_another_cell_are_noticed(path, tmp_path):
    shutil.copytree(path.parent, tmp_path / "another")
    found = cells.look(tmp_path / "another", 9, lambda file: None)
    assert not found.where
    assert str(found.damaged[0]).startswith(f"{tmp_path}/another/{path.name}: a tile of another cell")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short", b"jaxids: tiles 1\n"])
def test_what_is_no_zip_file_is_damage(path, content):
    path.write_bytes(content)
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, it is no tile file \(File is not a zip file\)"):
        tile_file.open_tiles(path)


def test_compressed_members_are_refused(path):
    """They may be of any size."""
    rewritten(path, {"summary.npy": bytes(10**6)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(store.DamagedError, match=r"it is no tile file \(compressed, to no one knows what size\)"):
        tile_file.open_tiles(path)
