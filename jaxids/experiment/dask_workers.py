"""Workers of a Dask cluster: the connection to them, and which of them may compute.

A worker may compute if its tiles equal those of the store bit for bit. Before it gets a task, it is asked for
its fingerprint: versions, platform and precision (`kind.here`), the processor, and digests of the sources of custom
policies. A store that has cells of the experiments takes workers like those that computed them. A new store takes the
fingerprint that most of the first workers have, and of two that are equally frequent the one of this process.

Workers need jaxids and nothing else, no shared disk. Functions import what imports JAX, because the command line takes
`parse_address` from here, and a mistake there answers at once.
"""

import asyncio
import logging
import os
import re
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from jaxids.experiment import policy_names, store
from jaxids.experiment.keys import Table
from jaxids.experiment.read import Experiment
from jaxids.words import in_short, shown

CONNECT = 10.0  # seconds in which a scheduler has to answer
ANSWER = 60.0  # seconds for workers to tell their fingerprints, once another one has
ASKED = 16  # workers at once
PATIENCE = 10.0  # seconds without workers after which a line says so
RESTART = 0.5  # seconds between looks for local workers that ended for good
TAKES = "local:N, workers on this machine, or the address of a Dask scheduler, as tcp://host:8786"
LOOPBACK = "127.0.0.1"
NOT_OF_KIND = ("width", "source")  # entries of a cell's setting that are of the cell
_ADDRESS = re.compile(r"local:[1-9]\d{0,3}|(?!local:)(?:[a-z]+://)?(?:[\w.-]+|\[[\w:.]+\]):\d{1,5}", re.ASCII)


def parse_address(text: str) -> str:
    """Return the text of `--cluster`, or raise a ValueError if it names no cluster."""
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"got {text!r}; it takes {TAKES}")
    return text


@contextmanager
def connect(text: str, log: Callable[[str], None]) -> Iterator[Any]:
    """Yield a `distributed.Client` of a scheduler, or of a local cluster that ends with the context.

    Args:
        text: An address, as `parse_address` returns it.
        log: Called with a line if versions of Dask or of what it needs differ.

    Raises:
        ImportError: If `distributed` is not installed.
        ValueError: If the scheduler does not answer.
    """
    try:
        import distributed
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        raise ImportError("distributed is not installed; `pip install 'jaxids[cluster]'` brings it") from None
    with ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)  # Dask logs many lines for every worker that joins or leaves
        count = text.removeprefix("local:")
        address = stack.enter_context(_local_cluster(int(count))) if count != text else text
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                client = stack.enter_context(distributed.Client(address, timeout=CONNECT, set_as_default=False))
            except (OSError, ValueError) as error:
                why = " ".join(str(error).split())
                raise ValueError(f"--cluster: got {text!r}, which does not answer ({why}); it takes {TAKES}") from None
        for warning in caught:
            if issubclass(warning.category, VersionMismatchWarning):
                log(" ".join(str(warning.message).split()))
        yield client


@contextmanager
def _local_cluster(count: int) -> Iterator[Any]:
    """Start a scheduler in this process, and worker processes that only this machine can reach.

    Worker processes are started by the cluster's threads and inherit their signal mask and environment. Ctrl-C is for
    this process to answer, and Python's tracker of semaphores would warn of those that a killed run leaves.
    """
    from distributed import LocalCluster

    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker"]))
    options = {"threads_per_worker": 1, "memory_limit": 0, "silence_logs": logging.CRITICAL, "host": LOOPBACK}
    options |= dict.fromkeys(("dashboard_address", "worker_dashboard_address"), f"{LOOPBACK}:0")
    options |= {"scheduler_kwargs": {"allowed_failures": 0}}  # deaths are counted by the runner
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if os.name == "posix" else None
    cluster: Any = LocalCluster(n_workers=0, **options)  # one that is killed while it starts would be an error here
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with cluster:
        cluster.loop.add_callback(_keep_workers, cluster, count)
        yield cluster


async def _keep_workers(cluster: Any, count: int) -> None:
    """Start local workers, and others for those that ended for good, as long as the cluster runs.

    A nanny restarts its worker, but gives up one that is killed while it first starts (distributed#6426), and neither
    `scale` nor `adapt` of the cluster notices.
    """
    while cluster.status.name == "running":
        for name, nanny in list(cluster.workers.items()):
            if nanny.status.name in ("closed", "failed"):
                del cluster.workers[name]
        cluster.scale(count)
        await asyncio.sleep(RESTART)


class Fingerprint(NamedTuple):
    """What the bits of tiles depend on.

    Attributes:
        kind: `kind.here()` and the processor.
        sources: Digests of the sources of custom policies.
    """

    kind: Table
    sources: dict[str, str]


def fingerprint(policies: Iterable[str]) -> Fingerprint:
    """Return the fingerprint of this process; what keeps it from computing is a ValueError."""
    from jaxids.experiment import build, kind

    build.check_generator()
    sources = {policy: found["source"] for policy in policies if (found := policy_names.source(policy))}
    return Fingerprint(kind.here() | {"processor": kind.processor()}, sources)


async def _find_fingerprint(policies: Sequence[str]) -> Fingerprint:
    """Return the fingerprint of a worker, whose event loop runs on: importing JAX takes seconds."""
    return await asyncio.to_thread(fingerprint, policies)


def count_stored_kinds(experiments: Sequence[Experiment], out: Path) -> Counter[bytes]:
    """Count the cells of experiments in a store by `Fingerprint.kind`, as JSON."""
    from jaxids.experiment import kind

    counts = Counter[bytes]()
    for experiment in experiments:
        cells = {store.as_json(cell.setting) for cell in experiment.cells}
        names = {name for cell in experiment.cells for name in cell.setting}
        for path in (out / experiment.name / "tiles").glob(f"*/{kind.CELL}"):
            try:
                table = store.from_json(store.read(path) or b"")
            except ValueError:  # damaged: the run that follows writes it again
                continue
            if store.as_json({name: value for name, value in table.items() if name in names}) in cells:
                rest = {name: value for name, value in table.items() if name not in (*names, *NOT_OF_KIND)}
                counts[store.as_json(rest)] += "processor" in rest
    return +counts


def choose_kind(workers: Iterable[Fingerprint], stored: Counter[bytes], here: Table) -> Table:
    """Choose the kind of a run.

    Args:
        workers: The fingerprints of the first workers.
        stored: The cells of the store, as `count_stored_kinds` returns them.
        here: The kind of this process.

    Returns:
        A kind that workers have; if the store has cells, and no worker is like them, the kind of the cells.
    """
    counts, own = Counter(store.as_json(worker.kind) for worker in workers), store.as_json(here)
    possible = [each for each in counts if each in stored] if stored else list(counts)
    if not possible:
        return store.from_json(stored.most_common(1)[0][0])
    return store.from_json(max(sorted(possible), key=lambda each: (stored[each], counts[each], each == own)))


def explain_mismatch(found: Fingerprint | Exception, expected: Fingerprint) -> str:
    """Return why a worker may not compute, or nothing if it may.

    Args:
        found: The fingerprint of the worker, or what it raised when it was asked.
        expected: The fingerprint of the run.
    """
    if isinstance(found, ValueError):
        return in_short(str(found))
    if isinstance(found, Exception):  # an ImportError, or what Dask made of one
        return f"its jaxids is another or none, or lacks a package ({in_short(str(found)) or type(found).__name__})"
    got, takes = _flatten(found), _flatten(expected)
    differing = [name for name in takes | got if got.get(name) != takes.get(name)]
    return "; ".join(f"{name}: got {_format(got, name)}, it takes {_format(takes, name)}" for name in differing)


def _flatten(found: Fingerprint) -> Table:
    return {**found.kind, **{f"source of {name}": digest[:16] for name, digest in found.sources.items()}}


def _format(table: Mapping[str, object], name: str) -> str:
    return shown(table[name]) if name in table else "none"


class WorkerPool:
    """The workers of a client that may compute tiles of experiments.

    Attributes:
        compatible: The number of threads of every worker that may compute, by its address.
    """

    def __init__(self, client: Any, experiments: Sequence[Experiment]) -> None:
        from distributed import as_completed

        self._client, self.compatible = client, dict[str, int]()
        self._experiments, self._expected = experiments, Fingerprint({}, {})
        self._policies = sorted({cell.setting["policy"] for experiment in experiments for cell in experiment.cells})
        self._asked, self._found, self._refused = dict[str, Future[Any]](), dict[str, Any](), set[str]()
        self._asking = ThreadPoolExecutor(ASKED)  # one that does not answer delays no other
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)

    def choose(self, out: Path, log: Callable[[str], None]) -> Table:
        """Wait for the first workers, and choose the kind of the run.

        Args:
            out: The folder of all results.
            log: Called with a line for every worker that is refused.

        Returns:
            The kind, as in `Fingerprint`.

        Raises:
            ValueError: If no worker may compute.
        """
        here, begin, said = fingerprint(self._policies), time.monotonic(), False
        while not self._found or (self._asked and time.monotonic() - begin < ANSWER):
            if not (self._ask() or said) and time.monotonic() - begin > PATIENCE:
                said = True
                log("no worker is there yet; waiting for some")
            time.sleep(0.05)
        able = [found for _, found in sorted(self._found.items()) if isinstance(found, Fingerprint)]
        stored = count_stored_kinds(self._experiments, out)
        chosen = choose_kind(able, stored, here.kind) if able else here.kind
        self._expected = Fingerprint(chosen, here.sources)
        for line in self.update():
            log(line)
        if self._refused and not self.compatible:
            other = "; another --out begins a new store" if stored else ""
            raise ValueError(f"--cluster: all {len(self._refused)} workers are refused{other}")
        return chosen

    def update(self) -> list[str]:
        """Look which workers are connected now, ask new ones, and return a line for each that is newly refused."""
        threads, lines = self._ask(), list[str]()
        self.compatible = {}
        for address, found in self._found.items():
            if not (why := explain_mismatch(found, self._expected)):
                self.compatible[address] = threads[address]
            elif address not in self._refused:
                self._refused.add(address)
                lines.append(f"worker {address} is refused: {why}")
        return lines

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task, for which Dask chooses one of the compatible workers, and return its future."""
        future = self._client.submit(function, *arguments, workers=list(self.compatible), pure=False)
        self._completed.add(future)
        return future

    def results(self) -> Iterator[tuple[Any, Any]]:
        """Yield the futures of tasks that are done since the last call, and their results or exceptions."""
        for future, result in self._completed.next_batch(block=False):
            failed = isinstance(result, tuple) and isinstance(result[1], BaseException)  # type, exception, traceback
            yield future, result[1] if failed else result  # the status may be another by now

    def _ask(self) -> dict[str, int]:
        """Take the answers of workers, ask new ones for their fingerprints, and return the threads of all."""
        try:
            threads = self._client.nthreads()
        except Exception as error:
            raise ConnectionError(f"--cluster: the scheduler is gone ({error}); finished tiles are kept") from None
        for address in [address for address, answer in self._asked.items() if answer.done()]:
            self._found[address] = self._asked.pop(address).result()
        self._found = {address: found for address, found in self._found.items() if found and address in threads}
        for address in threads.keys() - self._found.keys() - self._asked.keys():
            self._asked[address] = self._asking.submit(self._fingerprint_of, address)
        return threads

    def _fingerprint_of(self, address: str) -> Fingerprint | Exception | None:
        """Ask a worker for its fingerprint; return what it raised if it has none, and None if it did not answer.

        A task is no way to ask: a worker that cannot import its function ends.
        """
        try:
            answers = self._client.run(_find_fingerprint, self._policies, workers=[address], on_error="return")
        except Exception:
            return None
        found = answers.get(address)
        return None if isinstance(found, OSError) else found
