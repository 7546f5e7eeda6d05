"""A cluster of Dask, by its address, or of workers on this machine."""

import importlib
import logging
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from threading import Event, Thread
from typing import Any

__all__ = ["named", "opened"]

ANSWER = 10.0  # seconds in which a scheduler answers
GONE = 10.0  # seconds after which a local worker that has no process is given up
TAKES = "local:N, workers on this machine, or the address of a Dask scheduler, as tcp://host:8786"
ENVIRONMENT = {  # of local workers: Dask's own would have linear algebra round otherwise, on one thread
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "DASK_LOGGING__DISTRIBUTED": "critical",
}
_NAME = re.compile(r"local:[1-9]\d{0,3}|(?!local:)(?:[a-z]+://)?(?:[\w.-]+|\[[\w:.]+\]):\d{1,5}", re.ASCII)


def named(text: str) -> str:
    """A cluster as it is written, or a ValueError."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"got {text!r}; it takes {TAKES}")
    return text


@contextmanager
def opened(text: str, say: Callable[[str], None]) -> Iterator[Any]:
    """A client of a scheduler, or of one with workers that are started here and end with it."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ImportError("distributed is not installed; `pip install 'jaxids[cluster]'` brings it") from None
    with ExitStack() as stack:
        before = logging.root.manager.disable
        stack.callback(logging.disable, before)
        logging.disable(logging.CRITICAL)  # of every worker that comes or goes there are many lines
        address: Any = text
        if text.startswith("local:"):
            address = stack.enter_context(_local(distributed, int(text.removeprefix("local:"))))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                client = stack.enter_context(distributed.Client(address, timeout=ANSWER, set_as_default=False))
            except (OSError, ValueError) as error:
                why = " ".join(str(error).split())
                raise ValueError(f"--cluster: got {text!r}, which does not answer ({why}); it takes {TAKES}") from None
        for each in said:
            if issubclass(each.category, distributed.versions.VersionMismatchWarning):
                say(" ".join(str(each.message).split()))
        yield client


@contextmanager
def _local(distributed: Any, count: int) -> Iterator[Any]:
    """Workers on this machine, which only this machine can reach."""
    configured = importlib.import_module("dask.config").set

    def block() -> None:
        """Ctrl-C is for this process to answer: its children, started from this thread's, take no notice."""
        if hasattr(signal, "pthread_sigmask"):
            sys.warnoptions.append("ignore:resource_tracker:")  # that semaphores are left when this process is killed
            resource_tracker.ensure_running()  # later it would unblock signals
            sys.warnoptions.pop()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    here, none = "127.0.0.1", "127.0.0.1:0"
    addresses = {"host": here, "dashboard_address": none, "worker_dashboard_address": none}
    given = {"n_workers": count, "threads_per_worker": 1, "processes": True, "memory_limit": 0, **addresses}
    with configured({"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
        with ThreadPoolExecutor(1, initializer=block) as thread:
            started = thread.submit(distributed.LocalCluster, **given).result()
        with started as cluster, _tended(cluster):
            yield cluster


@contextmanager
def _tended(cluster: Any) -> Iterator[None]:
    """Start another worker for one that is gone for good: Dask gives some up that are killed while they start."""
    over, since = Event(), dict[Any, float]()

    def tend() -> None:
        while not over.wait(1.0):
            for name, nanny in list(cluster.workers.items()):
                if nanny.is_alive():
                    since.pop(name, None)
                elif time.monotonic() - since.setdefault(name, time.monotonic()) > GONE:
                    since[name] = float("inf")  # once
                    cluster.scale(len(cluster.worker_spec) + 1)

    thread = Thread(target=tend, name="tend", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
