"""Files of tiles: what was written comes back, and whatever else there is, is named."""

import hashlib
import io
import os
import shutil
import zipfile

import numpy as np
import pytest

from jaxids import moments
from jaxids.experiment import bundles, cells, store

ARRAYS = {"steps": np.arange(1, 4, dtype=np.int32), "regret": np.arange(12, dtype=np.float32).reshape(3, 4)}


def other(k):
    """The arrays of another tile."""
    return ARRAYS | {"regret": ARRAYS["regret"] ** 1.5 + k}


def whole(path):
    """Everything a file holds, read."""
    bundle = bundles.opened(path)
    return bundle.summary(), [bundle.tile(index) for index in bundle.indices]


@pytest.fixture
def path(tmp_path):
    """A file of three tiles, from tile 5 on."""
    cells.write(tmp_path / "cell", 5, [other(k) for k in range(3)])
    return tmp_path / "cell" / "00005-00007.tiles"


def test_tiles_come_back(path):
    bundle = bundles.opened(path)
    assert (bundle.cell, bundle.indices) == ("cell", range(5, 8))
    for index in bundle.indices:
        back, expected = bundles.decoded(path, "cell", bundle.tile(index)), other(index - 5)
        assert back.keys() == expected.keys()
        assert all(np.array_equal(back[n], expected[n]) and back[n].dtype == expected[n].dtype for n in expected)
    assert bundles.opened(path.with_name("00009.tiles")) is None


def test_a_summary_is_what_tiles_give(path):
    summary = bundles.opened(path).summary()
    assert np.array_equal(summary.steps, ARRAYS["steps"])
    for k in range(3):
        values = other(k)["regret"].astype(float)
        found = summary.moments("regret", k)
        assert found.trials == 4
        assert np.allclose(found.mean, values.mean(axis=1), rtol=1e-14)
        assert np.allclose(found.square, ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1), rtol=1e-12)
        assert np.array_equal(summary.series["regret"][2][k], other(k)["regret"][-1])
        assert all(np.array_equal(*both) for both in zip(found, moments.of(other(k)["regret"]), strict=True))


def test_a_file_is_the_same_bytes_every_time_and_tiles_are_what_numpy_reads(path, tmp_path):
    cells.write(tmp_path / "again" / "cell", 5, [other(k) for k in range(3)])
    assert (tmp_path / "again" / "cell" / path.name).read_bytes() == path.read_bytes()
    content = bundles.opened(path).tile(6)
    with zipfile.ZipFile(io.BytesIO(content)) as file:  # which would keep a time if asked to
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert set(file.namelist()) == {"cell.npy", "steps.npy", "regret.npy"}
    with np.load(io.BytesIO(content)) as file:
        assert np.array_equal(file["regret"], other(1)["regret"])


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
        bundles.opened(path)


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b"[" * 10**5, b'{"pieces": [[1]], "last": [1, 2, 3]}'])
def test_an_index_of_anything_else_is_named(path, index):
    end = bundles.FOOTER.pack(16, len(index), hashlib.sha256(index).digest(), bundles.MAGIC)
    path.write_bytes(bundles.MAGIC + index + end)
    with pytest.raises(store.DamagedError, match=rf"^{path}: damaged, its index is not one"):
        bundles.opened(path)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_opened(path, kind):
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda p: p.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    with pytest.raises(store.DamagedError, match=rf"{path}: damaged, it is not a regular file"):
        bundles.opened(path)
    if kind != "folder":
        cells.write(path.parent, 5, [other(k) for k in range(3)])
        assert whole(path)


def test_tiles_of_another_cell_are_noticed(path, tmp_path):
    shutil.copytree(path.parent, tmp_path / "another")
    found = cells.look(tmp_path / "another", 9, bundles.Bundle.summary)
    assert not found.where
    assert str(found.damaged[0]).startswith(f"{tmp_path}/another/{path.name}: a tile of another cell")
    with pytest.raises(store.DamagedError, match="a tile of another cell"):
        bundles.decoded(path, "another", bundles.opened(path).tile(5))


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
def test_what_is_no_tile_is_damage(tmp_path, content):
    """Whatever its checksum says."""
    with pytest.raises(store.DamagedError, match=r"x\.tiles: (damaged, it holds no arrays|a tile of another cell)"):
        bundles.decoded(tmp_path / "x.tiles", "cell", content)
