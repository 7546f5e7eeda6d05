"""Tile files: the tiles of a cell in a zip file of `.npy` members, which `numpy.load` opens.

    tiles.npy      a record per tile, with a field per array: regret [R, n], steps [R], …
    summary.npy    a record per tile: its SHA-256, and of every series the mean and the sum of squared deviations [R]
                   in double precision, and the last value of every trial [n]: all that curves are made of
    index.json     the cell, the first tile and the count, types and shapes of the arrays, and the recorded steps

Members are stored uncompressed, so a tile is read by seeking to it. Dates and attributes are fixed, so the bytes of a
file depend on its tiles alone. CRC-32 does not cover the headers of a zip file, so the archive comment is the SHA-256
of all bytes but those of the tiles and of the comment itself: every byte is covered by a SHA-256.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from jaxids import moments
from jaxids.experiment import store

TILES, SUMMARY, INDEX = "tiles.npy", "summary.npy", "index.json"
DIGEST = 64  # hexadecimal digits of a SHA-256
SMALL = 2**18  # bytes of a file that is read at once, which takes less time than five reads
Arrays = dict[str, np.ndarray]


class TileFile(NamedTuple):
    """A tile file whose headers, index and summary are undamaged; its tiles are checked as they are read.

    Attributes:
        path: where it is.
        cell: the name of the cell.
        first: the number of the first tile.
        steps: the recorded steps [R].
        dtype: the type of a record of tiles.npy.
        start: the offset of the first record.
        sha256: hexadecimal SHA-256 of every record [T].
        series: of every series the mean [T, R], the sum of squared deviations [T, R] and the last values [T, n].
    """

    path: Path
    cell: str
    first: int
    steps: np.ndarray
    dtype: np.dtype
    start: int
    sha256: np.ndarray
    series: dict[str, list[np.ndarray]]

    @property
    def indices(self) -> range:
        """The numbers of its tiles."""
        return range(self.first, self.first + len(self.sha256))

    def summary(self, name: str, index: int) -> tuple[moments.Moments, np.ndarray]:
        """Moments of a series over the trials of a tile, and the last value of every trial [n]."""
        mean, square, last = (column[index - self.first] for column in self.series[name])
        return moments.Moments(len(last), mean, square), last

    def records(self, indices: Iterable[int]) -> Iterator[tuple[int, np.ndarray | None]]:
        """Read the records of tiles; None in place of one that does not have its SHA-256."""
        with self.path.open("rb") as file:
            for index in indices:
                file.seek(self.start + (index - self.first) * self.dtype.itemsize)
                content = file.read(self.dtype.itemsize)
                same = hashlib.sha256(content).hexdigest().encode() == self.sha256[index - self.first]
                yield index, np.frombuffer(content, self.dtype).reshape(()) if same else None

    def record(self, index: int) -> np.ndarray:
        """Read the record of a tile; raises DamagedError."""
        ((_, record),) = self.records([index])
        if record is None:
            raise store.damaged(self.path, "its checksum does not fit")
        return record

    def arrays(self, index: int) -> Arrays:
        """Read the arrays of a tile; raises DamagedError."""
        record = self.record(index)
        return {name: record[name] for name in self.dtype.names or ()}


def record_of(arrays: Arrays) -> np.ndarray:
    """Return the arrays of a tile as a record, a structured array without axes."""
    record = np.empty((), [(name, arrays[name].dtype, arrays[name].shape) for name in sorted(arrays)])
    for name, values in arrays.items():
        record[name] = values
    return record


def _series(dtype: np.dtype) -> list[str]:
    """Return the names of the series in a record: matrices of numbers."""
    matrices = [name for name in dtype.names or () if dtype[name].ndim == 2 and dtype[name].itemsize]
    return [name for name in matrices if name != "pulls" and dtype[name].base.kind in "iuf"]


def _summary_dtype(dtype: np.dtype) -> np.dtype:
    """Return the type of a record of summary.npy, given that of tiles.npy."""
    fields: list[tuple] = [("sha256", f"S{DIGEST}")]
    for name in _series(dtype):
        steps, trials = dtype[name].shape
        last = ("last", dtype[name].base, (trials,))
        fields.append((name, [("mean", "<f8", (steps,)), ("square", "<f8", (steps,)), last]))
    return np.dtype(fields)


def _summary_of(record: np.ndarray) -> np.ndarray:
    summary = np.empty((), _summary_dtype(record.dtype))
    summary["sha256"] = hashlib.sha256(record.tobytes()).hexdigest()
    for name in _series(record.dtype):
        found = moments.of(record[name])
        summary[name] = found.mean, found.square, record[name][-1]
    return summary


def write(path: Path, cell: str, first: int, count: int, records: Iterable[np.ndarray], replace: bool = False) -> None:
    """Write consecutive tiles to a file, with no more than one of them in memory.

    Args:
        path: where the file goes.
        cell: the name of the cell.
        first: the number of the first tile.
        count: how many tiles there are.
        records: the tiles.
        replace: whether to replace a file that exists; otherwise it stays.
    """

    def fill(file: BinaryIO) -> None:
        begin, summaries = next(left := iter(records)), []
        dtype = begin.dtype
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = b"0" * DIGEST
            with archive.open(_member(TILES), "w", force_zip64=True) as member:
                header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
                np.lib.format.write_array_header_1_0(member, header)
                start = file.tell()
                for record in chain([begin], left):
                    if record.dtype != dtype:
                        raise ValueError(f"{path}: tile {first + len(summaries)} is of another type than the first")
                    member.write(record.tobytes())
                    summaries.append(_summary_of(record))
                stop = file.tell()
            with archive.open(_member(SUMMARY), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.array(summaries), allow_pickle=False)
            arrays = [[name, dtype[name].base.str, dtype[name].shape] for name in dtype.names or ()]
            steps = begin["steps"].tolist() if "steps" in (dtype.names or ()) else []
            index = {"cell": cell, "first": first, "count": count, "arrays": arrays, "steps": steps}
            archive.writestr(_member(INDEX), json.dumps(index))
        digest, _ = _digests(file, start, stop)
        file.seek(-DIGEST, io.SEEK_END)
        file.write(digest)

    store.write(path, fill, replace)


def _member(name: str) -> zipfile.ZipInfo:
    """Return the description of an uncompressed member, the same at any time and on any system."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o600 << 16  # as on Unix
    return info


def _digests(file: BinaryIO, start: int, stop: int) -> tuple[bytes, bytes]:
    """Return the SHA-256 of all but the tiles, which are from `start` to `stop`, and what the comment says it is."""
    file.seek(0)
    sha256 = hashlib.sha256(file.read(start))
    file.seek(stop)
    rest = file.read()
    sha256.update(rest[:-DIGEST])
    return sha256.hexdigest().encode(), rest[-DIGEST:]


def open_tiles(path: Path) -> TileFile:
    """Open a tile file and read its summary.

    Raises:
        FileNotFoundError: if there is none.
        DamagedError: if it is not a tile file that was written whole.
    """
    store.check_regular(path)
    with path.open("rb") as file:
        try:
            content = file.read(SMALL)
            return _read(path, io.BytesIO(content) if len(content) < SMALL else file)
        except Exception as error:  # readers of zip files and of arrays raise nearly every kind there is
            raise store.damaged(path, f"it is no tile file ({error})") from None


def _read(path: Path, file: BinaryIO) -> TileFile:
    with zipfile.ZipFile(file) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ValueError("compressed, to no one knows what size")
        index, content, stop = (
            json.loads(archive.read(INDEX)),
            archive.read(SUMMARY),
            archive.getinfo(SUMMARY).header_offset,
        )
    dtype = np.dtype([(name, kind, tuple(shape)) for name, kind, shape in index["arrays"]])
    count, summary_dtype = int(index["count"]), _summary_dtype(dtype)
    start = stop - count * dtype.itemsize
    digest, comment = _digests(file, start, stop)
    if digest != comment:
        raise ValueError("its checksum does not fit")
    summary = np.frombuffer(content, summary_dtype, count, len(content) - count * summary_dtype.itemsize)
    series = {name: [summary[name][column] for column in ("mean", "square", "last")] for name in _series(dtype)}
    cell, first, steps = str(index["cell"]), int(index["first"]), np.asarray(index["steps"])
    return TileFile(path, cell, first, steps, dtype, start, summary["sha256"], series)
