"""A cell's folder: where its tiles are, how they get there, and how those that are finished are packed.

    00000-01023.tiles                tiles 0 to 1023 in one file (`bundles`)
    01024.tiles                      one alone
    00007.npz, 00007.npz.sha256      one alone, as stores of before 0.5 have it

Names tell which tiles a file holds, and a file has a name only when it is whole, so a listing tells what is finished.
As soon as a block of tiles is there, or all that are asked for, they are packed into one file and the others are taken
away. So a tile may be in two files for a while, and a file that was listed be gone when it is opened, its tiles in
another.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from jaxids.experiment import bundles, store
from jaxids.experiment.bundles import Arrays, Bundle, Summary

__all__ = ["BLOCK", "Fits", "Look", "Where", "Writer", "finished", "look", "pack", "sound", "tiles", "write"]

BLOCK = 1024  # tiles in one file, at most
SECONDS, BYTES = 0.5, 2**26  # how long tiles that come quickly wait for others to be written with, and how many
TRIES = 20  # to look at a folder from which tiles are packed away
_NAME = re.compile(r"(\d{5,10})(?:-(\d{5,10}))?\.tiles|(\d{5,10})\.npz", re.ASCII)
Found = TypeVar("Found")
Fits = Callable[[Bundle], Summary]  # a sound summary, or DamagedError
Where = dict[int, tuple[Bundle, Summary]]  # for every tile a file that has it, and its summary


class Held(NamedTuple):
    """A file and the tiles it holds."""

    first: int
    last: int
    path: Path

    @property
    def indices(self) -> range:
        """Its tiles."""
        return range(self.first, self.last + 1)


class Look(NamedTuple):
    """What is in a folder: for every tile a file that has it and its summary, and why others are not to be had."""

    where: Where
    damaged: list[store.DamagedError]


def held(folder: Path) -> list[Held]:
    """The files of tiles, those that hold the most first."""
    found = []
    for name in os.listdir(folder) if folder.is_dir() else ():
        if named := _NAME.fullmatch(name):
            first = int(named[1] or named[3])
            found.append(Held(first, int(named[2] or first), folder / name))
    return sorted((each for each in found if _finished(each)), key=lambda each: (each.first - each.last, each.path))


def _finished(each: Held) -> bool:
    return each.last >= each.first and (each.path.suffix != ".npz" or store.checksum_path(each.path).exists())


def finished(folder: Path, count: int) -> set[int]:
    """Which of the first so many tiles are there, by the names of the files."""
    return {index for each in held(folder) for index in range(each.first, min(each.last + 1, count))}


def look(folder: Path, count: int, fits: Fits) -> Look:
    """Where each of the first so many tiles is; of what lies outside nothing is opened."""
    return _again(lambda: _look(folder, count, fits))


def _look(folder: Path, count: int, fits: Fits) -> Look:
    where, damaged = Where(), list[tuple[list[int], store.DamagedError]]()
    for each in held(folder):
        new = [index for index in each.indices if index < count and index not in where]
        try:
            if new:
                bundle = _opened(each)
                where |= dict.fromkeys(new, (bundle, fits(bundle)))
        except store.DamagedError as damage:
            damaged.append((new, damage))
    lost = [damage for indices, damage in damaged if any(index not in where for index in indices)]
    return Look(dict(sorted(where.items())), lost)


def _again(attempt: Callable[[], Found]) -> Found:
    """What an attempt gives, once no file that it opens has been packed away meanwhile."""
    for _ in range(TRIES):
        try:
            return attempt()
        except FileNotFoundError:
            time.sleep(0.01)
    return attempt()


def _opened(each: Held) -> Bundle:
    """A file of tiles of its cell; FileNotFoundError if it is gone, DamagedError if it is another's."""
    bundle = _old(each) if each.path.suffix == ".npz" else bundles.opened(each.path)
    if bundle is None:
        raise FileNotFoundError(each.path)
    if bundle.cell != each.path.parent.name:
        raise store.DamagedError(f"{each.path}: a tile of another cell; `jaxids run` mends it")
    if bundle.indices != each.indices:
        raise store.damaged(each.path, "its name is not its own")
    return bundle


def _old(each: Held) -> Bundle | None:
    """A tile as stores of before 0.5 have it, with its checksum in another file."""
    content = store.unseal(each.path)
    if content is None:
        return None
    cell = each.path.parent.name
    part = bundles.part_of(cell, bundles.decoded(each.path, cell, content), content)
    return bundles.alone(each.path, cell, each.first, part)


def sound(folder: Path, count: int, fits: Fits) -> tuple[set[int], list[str]]:
    """Which of the first so many tiles are there to the last byte, and what is wrong with others."""
    return _again(lambda: _sound(folder, count, fits))


def _sound(folder: Path, count: int, fits: Fits) -> tuple[set[int], list[str]]:
    right, wrong = set[int](), list[store.DamagedError]()
    for each in held(folder):
        new = [index for index in each.indices if index < count and index not in right]
        found = list(_checked(each, new, fits)) if new else []
        right |= {index for index, damage in found if damage is None}
        wrong += [damage for _, damage in found if damage][:1]  # one for each file
    return right, [str(damage) for damage in wrong]


def _checked(each: Held, indices: list[int], fits: Fits) -> Iterator[tuple[int, store.DamagedError | None]]:
    """What is wrong with some tiles of a file, if anything."""
    try:
        bundle = _opened(each)
        fits(bundle)
    except store.DamagedError as damage:
        yield from ((index, damage) for index in indices)
    else:
        yield from bundle.check(indices)


def tiles(folder: Path, indices: Collection[int], fits: Fits) -> Iterator[Arrays]:
    """The arrays of some tiles, one after the other; DamagedError if one is not there as it should be."""
    found, count = look(folder, max(indices, default=-1) + 1, fits), max(indices, default=-1) + 1
    for index in indices:
        if index not in found.where:
            raise next(iter(found.damaged), store.damaged(folder, f"tile {index} is gone"))
        bundle, _ = found.where[index]
        try:
            content = bundle.tile(index)
        except FileNotFoundError:  # packed meanwhile
            found = look(folder, count, fits)
            bundle, _ = found.where[index]
            content = bundle.tile(index)
        yield bundles.decoded(bundle.path, folder.name, content)


def write(folder: Path, first: int, found: list[Arrays], fits: Fits = Bundle.summary) -> None:
    """Store tiles that follow each other, from the first on; where they are already, those there stay."""
    file = _file(folder, first, first + len(found) - 1)
    parts = (bundles.part_of(folder.name, arrays) for arrays in found)
    bundles.write(file.path, folder.name, first, parts, replace=file.path.exists() and not _whole(file, fits))


def _file(folder: Path, first: int, last: int) -> Held:
    return Held(first, last, folder / (f"{first:05d}.tiles" if first == last else f"{first:05d}-{last:05d}.tiles"))


def _whole(file: Held, fits: Fits) -> bool:
    """Whether a file of this cell is there to the last byte."""
    try:
        return all(damage is None for _, damage in _checked(file, list(file.indices), fits))
    except FileNotFoundError:
        return False


def pack(folder: Path, count: int, fits: Fits, blocks: Iterable[int] | None = None) -> None:
    """Bring the first so many tiles, or some of their blocks, into as few files as they take, once they are there."""
    for start in range(0, count, BLOCK) if blocks is None else (block * BLOCK for block in blocks):
        _again(lambda start=start: _pack(folder, start, min(start + BLOCK, count), fits))


def _pack(folder: Path, start: int, stop: int, fits: Fits) -> None:
    inside = [each for each in held(folder) if start <= each.first and each.last < stop]
    file, there = _file(folder, start, stop - 1), {index for each in inside for index in each.indices}
    if len(there) < stop - start or inside == [file]:
        return
    if not _whole(file, fits):
        found = _look(folder, stop, fits).where
        if any(index not in found for index in range(start, stop)):
            return
        parts = (_part(folder, index, found[index], fits) for index in range(start, stop))
        bundles.write(file.path, folder.name, start, parts, replace=file.path.exists())
    for each in inside:
        if each != file:
            each.path.unlink(missing_ok=True)
            if each.path.suffix == ".npz":
                store.checksum_path(each.path).unlink(missing_ok=True)


def _part(folder: Path, index: int, found: tuple[Bundle, Summary], fits: Fits) -> bundles.Part:
    """A tile to be packed, from the file where it was found, or from any other in which it is sound."""
    try:
        return found[0].part(index, found[1])
    except store.DamagedError:
        for each in held(folder):
            if index in each.indices and each.path != found[0].path:
                bundle = _opened(each)
                return bundle.part(index, fits(bundle))
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
            _again(lambda: _pack(self._folder, end - BLOCK, end, self._fits))
