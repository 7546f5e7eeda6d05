"""Who may compute tiles of a store: workers whose bits are its bits.

A worker tells its facts: what `kind.here()` has, its processor, and digests of code of one's own. A store that has
cells of an experiment takes workers like those that computed them. A new one is of the kind most of its first workers
are of; where two are as frequent, of the kind of the process that asks, if it is one of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxids.experiment import build, kind, policy_names, store
from jaxids.experiment.keys import Table
from jaxids.experiment.read import Experiment
from jaxids.words import in_short, shown

__all__ = ["CELL", "Facts", "chosen", "facts", "policies_of", "reason", "stored"]

CELL = "cell.json"  # what a cell's bits depend on, and the processor
BESIDES = ("width", "source")  # what a cell's setting has that no kind has


class Facts(NamedTuple):
    """What the bits of tiles depend on: a `kind.here()` with the processor, and of own policies the sources."""

    kind: Table
    sources: dict[str, str]


def facts(policies: Iterable[str]) -> Facts:
    """Those of this process; what keeps it from computing at all is a ValueError."""
    build.check_generator()
    sources = {policy: found["source"] for policy in policies if (found := policy_names.source(policy))}
    return Facts(kind.here() | {"processor": kind.processor()}, sources)


def policies_of(experiments: Sequence[Experiment]) -> list[str]:
    """The policies of some experiments, each once."""
    return sorted({cell.setting["policy"] for experiment in experiments for cell in experiment.cells})


def stored(experiments: Sequence[Experiment], out: Path) -> Counter[bytes]:
    """How many cells of these experiments a store has of every kind and processor, those in `Facts.kind`, as JSON."""
    found = Counter[bytes]()
    for experiment in experiments:
        cells = {store.as_json(cell.setting) for cell in experiment.cells}
        names = {name for cell in experiment.cells for name in cell.setting}
        for path in (out / experiment.name / "tiles").glob(f"*/{CELL}"):
            try:
                table = store.from_json(store.read(path) or b"")
            except ValueError:  # damaged: the run that follows writes it again
                continue
            if store.as_json({name: value for name, value in table.items() if name in names}) in cells:
                like = {name: value for name, value in table.items() if name not in (*names, *BESIDES)}
                found[store.as_json(like)] += "processor" in like
    return +found


def chosen(workers: Iterable[Facts], known: Counter[bytes], here: Table) -> Table:
    """The kind and processor of a run, given those of the cells there are and of this process.

    If no worker is like the cells, it is theirs, and every worker will be refused.
    """
    counted = Counter(store.as_json(each.kind) for each in workers)
    own = store.as_json(here)
    possible = [each for each in counted if each in known] if known else list(counted)
    if not possible:
        return store.from_json(known.most_common(1)[0][0])
    return store.from_json(max(sorted(possible), key=lambda each: (known[each], counted[each], each == own)))


def reason(found: Facts | Exception, wanted: Facts) -> str:
    """Why a worker is not fit, by its facts or by what kept it from telling them; empty if it is."""
    if isinstance(found, ValueError):
        return in_short(str(found))
    if isinstance(found, Exception):  # an ImportError, or what Dask made of one
        return f"its jaxids is another or none, or lacks a package ({in_short(str(found)) or type(found).__name__})"
    got, takes = _named(found), _named(wanted)
    apart = [name for name in takes | got if got.get(name) != takes.get(name)]
    return "; ".join(f"{name}: got {_told(got, name)}, it takes {_told(takes, name)}" for name in apart)


def _named(found: Facts) -> Table:
    return {**found.kind, **{f"source of {name}": digest[:16] for name, digest in found.sources.items()}}


def _told(table: Mapping[str, object], name: str) -> str:
    return shown(table[name]) if name in table else "none"
