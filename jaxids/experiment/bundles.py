"""Files of tiles: one tile or many, each with its checksum, and a summary of them all.

    MAGIC  tile  tile  …  summary  index  place and checksum of the index  MAGIC

A tile is its arrays as NumPy stores them (.npz). The summary holds what curves are made of, so that nobody has to read
whole tiles for them: of every series each tile's mean and sum of squares at the recorded steps, in double precision,
and every trial's last value. The index (JSON) has the cell's name, the number of the first tile, what arrays a tile
has, the recorded steps, and where each tile and the summary lie, with their SHA-256. So the bytes of a file depend on
its tiles alone, and every byte is covered by a checksum.
"""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from jaxids import moments
from jaxids.experiment import store

__all__ = ["Arrays", "Bundle", "Part", "Summary", "alone", "decoded", "encoded", "joined", "opened", "part_of", "write"]

MAGIC = b"jaxids: tiles 1\n"
TAIL = 2**16  # bytes at the end that are read at once: most often the summary and the index
FOOTER = struct.Struct("<QQ32s16s")  # where the index begins, its length, its SHA-256, MAGIC
Arrays = dict[str, np.ndarray]


class Summary(NamedTuple):
    """What curves are made of: of every series the means and sums of squares of T tiles [T, R], and finals [T, n]."""

    steps: np.ndarray
    series: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]

    def moments(self, name: str, tile: int) -> moments.Moments:
        """Of a series in one of the tiles, counted from the first of the summary."""
        mean, square, final = self.series[name]
        return moments.Moments(final.shape[1], mean[tile], square[tile])


class Part(NamedTuple):
    """A tile to be written: its content, what arrays it has ({name: [type, shape]}) and its summary."""

    content: bytes
    kinds: dict[str, list[Any]]
    summary: Summary


class Piece(NamedTuple):
    """A part of a file."""

    start: int
    length: int
    sha256: str


class Bundle(NamedTuple):
    """A file of tiles whose index is sound."""

    path: Path
    cell: str
    first: int
    kinds: dict[str, list[Any]]
    steps: list[int]
    finals: dict[str, str]  # the type of a series' last values
    pieces: list[Piece]
    last: Piece  # the summary
    summarised: bytes | None = None  # the summary's content, where it was read with the index
    made: Summary | None = None  # in place of a summary that is read

    @property
    def indices(self) -> range:
        """The numbers of its tiles."""
        return range(self.first, self.first + len(self.pieces))

    def tile(self, index: int) -> bytes:
        """The content of a tile, or DamagedError."""
        return self._read(self.pieces[index - self.first])

    def part(self, index: int, summary: Summary) -> Part:
        """A tile to be written to another file, given the summary of this one."""
        i = index - self.first
        series = {name: cast(Any, tuple(a[i : i + 1] for a in parts)) for name, parts in summary.series.items()}
        return Part(self.tile(index), self.kinds, Summary(summary.steps, series))

    def summary(self) -> Summary:
        """The summary, or DamagedError."""
        if self.made:
            return self.made
        held = self.summarised
        content = self._read(self.last) if held is None else self._right(held, self.last)
        count, at, found = len(self.pieces), 0, {}
        for name, kind in self.finals.items():
            parts = []
            for dtype, columns in (("<f8", len(self.steps)), ("<f8", len(self.steps)), (kind, self.kinds[name][1][1])):
                parts.append(np.frombuffer(content, dtype, count * columns, at).reshape(count, columns))
                at += parts[-1].nbytes
            found[name] = tuple(parts)
        return Summary(np.asarray(self.steps), found)

    def check(self, indices: Iterable[int]) -> Iterator[tuple[int, store.DamagedError | None]]:
        """Read some tiles to the last byte, and tell what is wrong with each."""
        with self.path.open("rb") as file:
            for index in indices:
                piece = self.pieces[index - self.first]
                file.seek(piece.start)
                try:
                    self._right(file.read(piece.length), piece)
                    yield index, None
                except store.DamagedError as damage:
                    yield index, damage

    def _read(self, piece: Piece) -> bytes:
        with self.path.open("rb") as file:
            file.seek(piece.start)
            return self._right(file.read(piece.length), piece)

    def _right(self, content: bytes, piece: Piece) -> bytes:
        if hashlib.sha256(content).hexdigest() != piece.sha256:
            raise store.damaged(self.path, "its checksum does not fit")
        return content


def encoded(cell: str, arrays: Mapping[str, np.ndarray]) -> bytes:
    """A tile's arrays, with the name of its cell inside, as the same bytes every time."""
    buffer = io.BytesIO()
    np.savez(buffer, **cast(Any, {"cell": np.array(cell), **arrays}))  # NumPy 2.0 would store `allow_pickle` too
    return buffer.getvalue()


def decoded(path: Path, cell: str, content: bytes) -> Arrays:
    """The arrays of a tile, or DamagedError that names its file if it holds none, or those of another cell."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.infolist()):
                raise ValueError("compressed, to no one knows what size")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # readers of zip files and of arrays raise nearly every kind there is
        raise store.damaged(path, f"it holds no arrays ({error})") from None
    if str(arrays.pop("cell", "")) != cell:
        raise store.DamagedError(f"{path}: a tile of another cell; `jaxids run` mends it")
    return arrays


def part_of(cell: str, arrays: Arrays, content: bytes | None = None) -> Part:
    """A tile to be written, from its arrays, and its content if there is one already."""
    steps, series = np.atleast_1d(arrays.get("steps", np.zeros(0, int))), {}
    for name, values in sorted(arrays.items()):
        if name not in ("steps", "pulls") and values.ndim == 2 and values.size and values.dtype.kind in "iuf":
            found = moments.of(values)
            series[name] = found.mean[None], found.square[None], values[-1:]
    kinds = {name: [values.dtype.str, list(values.shape)] for name, values in sorted(arrays.items())}
    return Part(encoded(cell, arrays) if content is None else content, kinds, Summary(steps, series))


def alone(path: Path, cell: str, index: int, part: Part) -> Bundle:
    """A file that is a tile and nothing else, given its content."""
    piece = Piece(0, len(part.content), hashlib.sha256(part.content).hexdigest())
    steps, finals = (
        part.summary.steps.tolist(),
        {name: three[2].dtype.str for name, three in part.summary.series.items()},
    )
    return Bundle(path, cell, index, part.kinds, steps, finals, [piece], piece, made=part.summary)


def joined(summaries: Sequence[Summary]) -> Summary:
    """The summary of tiles that follow each other."""
    names = summaries[0].series
    series = {
        name: tuple(np.concatenate(parts) for parts in zip(*(s.series[name] for s in summaries), strict=True))
        for name in names
    }
    return Summary(summaries[0].steps, cast(Any, series))


def write(path: Path, cell: str, first: int, parts: Iterable[Part], replace: bool = False) -> None:
    """Write tiles that follow each other; unless told to replace it, a file that is there stays.

    No more than one tile is in memory.
    """
    store.write(path, _chunks(cell, first, parts), replace)


def _chunks(cell: str, first: int, parts: Iterable[Part]) -> Iterator[bytes]:
    pieces, summaries, kinds, at = list[Piece](), list[Summary](), dict[str, list[Any]](), len(MAGIC)
    yield MAGIC
    for part in parts:
        yield part.content
        pieces.append(Piece(at, len(part.content), hashlib.sha256(part.content).hexdigest()))
        summaries.append(part.summary)
        kinds, at = part.kinds, at + len(part.content)
    steps, series = joined(summaries)
    summary = b"".join(np.ascontiguousarray(array).tobytes() for three in series.values() for array in three)
    yield summary
    index = {
        "cell": cell,
        "first": first,
        "kinds": kinds,
        "steps": steps.tolist(),
        "finals": {name: three[2].dtype.str for name, three in series.items()},
        "pieces": pieces,
        "last": Piece(at, len(summary), hashlib.sha256(summary).hexdigest()),
    }
    content = json.dumps(index, separators=(",", ":"), ensure_ascii=False).encode()
    yield content
    yield FOOTER.pack(at + len(summary), len(content), hashlib.sha256(content).digest(), MAGIC)


def opened(path: Path) -> Bundle | None:
    """A file of tiles, None if there is none, or DamagedError if it is not one that was written whole."""
    try:
        store.check_regular(path)
        with path.open("rb") as file:
            begins, size = file.read(len(MAGIC)) == MAGIC, file.seek(0, 2)
            tail = _tail(file, size, TAIL)
            start, length, sha256, magic = FOOTER.unpack(tail[-FOOTER.size :].rjust(FOOTER.size, b"\0"))
            if magic != MAGIC or start + length + FOOTER.size != size:
                raise store.damaged(path, "it does not end as it should")
            tail = tail if len(tail) >= size - start else _tail(file, size, size - start)
    except (FileNotFoundError, NotADirectoryError):
        return None
    before, content = tail[: len(tail) - (size - start)], tail[len(tail) - (size - start) : -FOOTER.size]
    if not begins or hashlib.sha256(content).digest() != sha256:
        raise store.damaged(path, "its checksum does not fit")
    try:
        index = json.loads(content)
        pieces, last = [Piece(*piece) for piece in index.pop("pieces")], Piece(*index.pop("last"))
        held = before[len(before) - last.length :] if len(before) >= last.length else None
        return Bundle(path, pieces=pieces, last=last, summarised=held, **index)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise store.damaged(path, "its index is not one") from None


def _tail(file: BinaryIO, size: int, length: int) -> bytes:
    """The end of a file."""
    file.seek(max(0, size - length))
    return file.read(length)
