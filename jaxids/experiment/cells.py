"""A cell's folder: where its tiles are, how they get there, and how those that are finished are packed.

    00000-01023.npz                  tiles 0 to 1023 in one file (`tile_file`)
    01024.npz                        one alone

Names tell which tiles a file holds, and a file has a name only when it is whole, so a listing tells what is finished.
As soon as a block of tiles is there, or all that are asked for, they are packed into one file and the others are taken
away. So a tile may be in two files for a while, and a file that was listed be gone when it is opened, its tiles in
another.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np

from jaxids.experiment import store, tile_file
from jaxids.experiment.tile_file import Arrays, TileFile

BLOCK = 1024  # tiles in one file, at most
SECONDS, BYTES = 0.5, 2**26  # how long tiles that come quickly wait for others to be written with, and how many
TRIES = 20  # to look at a folder from which tiles are packed away
_NAME = re.compile(r"(\d{5,10})(?:-(\d{5,10}))?\.npz", re.ASCII)
P = ParamSpec("P")
Found = TypeVar("Found")
Fits = Callable[[TileFile], object]  # raises DamagedError for a file whose tiles are not of the cell
Where = dict[int, TileFile]  # for every tile a file that has it


class Held(NamedTuple):
    """A file and the tiles it holds."""

    first: int
    last: int
    path: Path

    def below(self, count: int) -> range:
        """Its tiles among the first `count`."""
        return range(self.first, min(self.last + 1, count))


class Look(NamedTuple):
    """What is in a folder: for every tile a file that has it, and why others are not to be had."""

    where: Where
    damaged: list[store.DamagedError]


def held(folder: Path) -> list[Held]:
    """The files of tiles, those that hold the most first."""
    names = filter(None, map(_NAME.fullmatch, os.listdir(folder) if folder.is_dir() else ()))
    found = [Held(int(name[1]), int(name[2] or name[1]), folder / name[0]) for name in names]
    return sorted((each for each in found if each.first <= each.last), key=lambda each: (each.first - each.last, each))


def finished(folder: Path, count: int) -> set[int]:
    """Which of the first so many tiles are there, by the names of the files."""
    return {index for each in held(folder) for index in each.below(count)}


def _again(attempt: Callable[P, Found]) -> Callable[P, Found]:
    """Let a function try again until no file that it opens has been packed away meanwhile."""

    @wraps(attempt)
    def tried(*args: P.args, **kwargs: P.kwargs) -> Found:
        for _ in range(TRIES):
            try:
                return attempt(*args, **kwargs)
            except FileNotFoundError:
                time.sleep(0.01)
        return attempt(*args, **kwargs)

    return tried


@_again
def look(folder: Path, count: int, fits: Fits) -> Look:
    """Where each of the first so many tiles is; of what lies outside nothing is opened."""
    where, damaged = Where(), list[tuple[list[int], store.DamagedError]]()
    for each in held(folder):
        new = [index for index in each.below(count) if index not in where]
        try:
            where |= dict.fromkeys(new, _opened(each, fits)) if new else {}
        except store.DamagedError as damage:
            damaged.append((new, damage))
    lost = [damage for indices, damage in damaged if any(index not in where for index in indices)]
    return Look(dict(sorted(where.items())), lost)


def _opened(each: Held, fits: Fits) -> TileFile:
    """A file of tiles of its cell; FileNotFoundError if it is gone, DamagedError if it is another's."""
    file = tile_file.open_tiles(each.path)
    if file.cell != each.path.parent.name:
        raise store.DamagedError(f"{each.path}: a tile of another cell; `jaxids run` mends it")
    if file.indices != range(each.first, each.last + 1):
        raise store.damaged(each.path, "its name is not its own")
    fits(file)
    return file


@_again
def sound(folder: Path, count: int, fits: Fits) -> tuple[set[int], list[str]]:
    """Which of the first so many tiles are there to the last byte, and what is wrong with others, for each file."""
    right, wrong = set[int](), list[str]()
    for each in held(folder):
        if new := [index for index in each.below(count) if index not in right]:
            found, damage = _checked(each, new, fits)
            right |= found
            wrong += [str(damage)] if damage else []
    return right, wrong


def _checked(each: Held, indices: Collection[int], fits: Fits) -> tuple[set[int], store.DamagedError | None]:
    """Which of some tiles of a file are sound, and what is wrong with others, if anything."""
    try:
        found = {index for index, record in _opened(each, fits).records(indices) if record is not None}
    except store.DamagedError as damage:
        return set(), damage
    return found, None if len(found) == len(indices) else store.damaged(each.path, "its checksum does not fit")


def tiles(folder: Path, indices: Collection[int], fits: Fits) -> Iterator[Arrays]:
    """The arrays of some tiles, one after the other; DamagedError if one is not there as it should be."""
    count = max(indices, default=-1) + 1
    found = look(folder, count, fits)
    for index in indices:
        if index not in found.where:
            raise next(iter(found.damaged), store.damaged(folder, f"tile {index} is gone"))
        try:
            arrays = found.where[index].arrays(index)
        except FileNotFoundError:  # packed meanwhile
            found = look(folder, count, fits)
            arrays = found.where[index].arrays(index)
        yield arrays


def write(folder: Path, first: int, found: list[Arrays], fits: Fits = lambda file: None) -> None:
    """Store tiles that follow each other, from the first on; where they are already, those there stay."""
    file = _file(folder, first, first + len(found) - 1)
    replace = file.path.exists() and not _whole(file, fits)
    tile_file.write(file.path, folder.name, first, len(found), map(tile_file.record_of, found), replace)


def _file(folder: Path, first: int, last: int) -> Held:
    return Held(first, last, folder / (f"{first:05d}.npz" if first == last else f"{first:05d}-{last:05d}.npz"))


def _whole(file: Held, fits: Fits) -> bool:
    """Whether a file of this cell is there to the last byte."""
    try:
        return _checked(file, range(file.first, file.last + 1), fits)[1] is None
    except FileNotFoundError:
        return False


def pack(folder: Path, count: int, fits: Fits, blocks: Iterable[int] | None = None) -> None:
    """Bring the first so many tiles, or some of their blocks, into as few files as they take, once they are there."""
    for start in range(0, count, BLOCK) if blocks is None else (block * BLOCK for block in blocks):
        _pack(folder, start, min(start + BLOCK, count), fits)


@_again
def _pack(folder: Path, start: int, stop: int, fits: Fits) -> None:
    inside = [each for each in held(folder) if start <= each.first and each.last < stop]
    file, there = _file(folder, start, stop - 1), {index for each in inside for index in each.below(stop)}
    if len(there) < stop - start or inside == [file]:
        return
    if not _whole(file, fits):
        found = look(folder, stop, fits).where
        if any(index not in found for index in range(start, stop)):
            return
        records = (_record(folder, index, found[index], fits) for index in range(start, stop))
        tile_file.write(file.path, folder.name, start, stop - start, records, replace=file.path.exists())
    for each in inside:
        if each != file:
            each.path.unlink(missing_ok=True)


def _record(folder: Path, index: int, file: TileFile, fits: Fits) -> np.ndarray:
    """A tile to be packed, from the file where it was found, or from any other in which it is sound."""
    try:
        return file.record(index)
    except store.DamagedError:
        for each in held(folder):
            if each.first <= index <= each.last and each.path != file.path:
                return _opened(each, fits).record(index)
        raise


class Writer:
    """Writes tiles as they come: each at once, or, where they come quickly, those of half a second in one file."""

    def __init__(self, folder: Path, fits: Fits) -> None:
        self._folder, self._fits = folder, fits
        self._first, self._tiles, self._size, self._last = 0, list[Arrays](), 0, time.monotonic()

    def add(self, index: int, arrays: Arrays) -> None:
        """One more tile."""
        if index != self._first + len(self._tiles) or index % BLOCK == 0:
            self.flush()
        if not self._tiles:
            self._first = index
        self._tiles.append(arrays)
        self._size += sum(array.nbytes for array in arrays.values())
        if time.monotonic() - self._last > SECONDS or self._size > BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits; a block that is finished then is packed."""
        if not self._tiles:
            return
        write(self._folder, self._first, self._tiles, self._fits)
        end = self._first + len(self._tiles)
        self._tiles, self._size, self._last = [], 0, time.monotonic()
        if end % BLOCK == 0:
            _pack(self._folder, end - BLOCK, end, self._fits)
