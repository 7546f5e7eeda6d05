"""A cluster of Dask, by its address, or of workers on this machine."""

import importlib
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from typing import Any

__all__ = ["named", "opened"]

ANSWER = 10.0  # seconds in which a scheduler answers
PAUSE = 0.5  # seconds after which local workers are looked after again
TAKES = "local:N, workers on this machine, or the address of a Dask scheduler, as tcp://host:8786"
HERE = "127.0.0.1"
ADDRESSES = [f"--host={HERE}", f"--dashboard-address={HERE}:0", "--no-dashboard"]
OPTIONS = ["--no-nanny", "--nthreads=1", "--memory-limit=0", *ADDRESSES]
WORKER = """
import os, sys
sys.path[:] = sys.argv.pop(1).split("\\n")
import threading
pipe = os.dup(0)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
threading.Thread(target=lambda: (os.read(pipe, 1), os._exit(0)), daemon=True).start()
from distributed.cli.dask_worker import main
main()
"""  # finds the modules that this process does, and ends when it ends, however that happens
Process = subprocess.Popen[bytes]
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
    given = {"n_workers": 0, "processes": True, "host": HERE, "dashboard_address": f"{HERE}:0"}
    with distributed.LocalCluster(**given) as cluster, _tended(cluster.scheduler_address, count):
        yield cluster


@contextmanager
def _tended(address: str, count: int) -> Iterator[None]:
    """So many processes that work for a scheduler, others for those that end, and none of them at the end.

    Nannies, Dask's own keepers, give some up that are killed while they start.
    """
    over, alive = Event(), [_worker(address) for _ in range(count)]

    def tend() -> None:
        while not over.wait(PAUSE):
            for place, worker in enumerate(alive):
                if worker.poll() is not None:
                    _end(worker)
                    with suppress(OSError):  # too many processes for now; tried again
                        alive[place] = _worker(address)

    thread = Thread(target=tend, name="tend", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for worker in alive:
            _end(worker)


def _worker(address: str) -> Process:
    """A process that computes; Ctrl-C is for this process to answer, in whose session that one is not."""
    command = [sys.executable, "-c", WORKER, "\n".join(sys.path), address, *OPTIONS]
    quiet = os.environ | {"DASK_LOGGING__DISTRIBUTED": "critical"}
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # of Windows, which has no sessions
    return subprocess.Popen(command, stdin=pipe, stdout=nowhere, env=quiet, start_new_session=True, creationflags=group)


def _end(worker: Process) -> None:
    """End a process, if it has not, and wait until it is gone."""
    worker.kill()
    worker.communicate()
