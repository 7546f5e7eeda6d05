"""The workers of a cluster: who is there, who of them is fit, and what they are asked.

Workers need jaxids and nothing else, no shared disk. Who joins is asked for its facts (`fit`) before it gets any task,
and is refused with a line if they are not those of the store.
"""

import asyncio
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jaxids.experiment import fit
from jaxids.experiment.keys import Table
from jaxids.experiment.read import Experiment
from jaxids.words import in_short

__all__ = ["Team"]

PATIENCE = 10.0  # seconds after which it is said that there is no worker yet
ANSWER = 60.0  # seconds that workers are given to answer, if one has
ASKED = 16  # workers at once
DIED = ("KilledWorker", "NoValidWorkerError")  # what Dask says of a task whose worker is gone


async def _told(policies: Sequence[str]) -> fit.Facts:
    """The facts of a worker, told by another thread: to import JAX takes a while."""
    return await asyncio.to_thread(fit.facts, policies)


class Team:
    """The workers of a client: `fit` are those that may compute, each with its number of threads."""

    def __init__(self, client: Any, policies: Sequence[str]) -> None:
        self.fit = dict[str, int]()
        self._client, self._policies = client, policies
        self._asked, self._found = dict[str, Future[Any]](), dict[str, Any]()
        self._refused, self._wanted = set[str](), fit.Facts({}, {})
        self._pool = ThreadPoolExecutor(ASKED)
        distributed = importlib.import_module("distributed")
        self._come = distributed.as_completed(loop=client.loop, with_results=True, raise_errors=False)

    def settle(self, experiments: Sequence[Experiment], out: Path, say: Callable[[str], None]) -> Table:
        """Wait for the first workers, and tell what kind and processor the run is of.

        Those that do not answer are not waited for once others have. If none is fit, that is a ValueError.
        """
        here, began, told = fit.facts(self._policies), time.monotonic(), False
        while not self._found or (self._asked and time.monotonic() - began < ANSWER):
            self._ask_new()
            if not (told or self._asked or self._found) and time.monotonic() - began > PATIENCE:
                told = True
                say("no worker is there yet; waiting for some")
            time.sleep(0.05)
        able = [found for _, found in sorted(self._found.items()) if isinstance(found, fit.Facts)]
        known = fit.stored(experiments, out)
        like = fit.chosen(able, known, here.kind) if able else here.kind
        self._wanted = fit.Facts(like, here.sources)
        for line in self.look():
            say(line)
        if not self.fit:
            other = "; another --out begins a new store" if known else ""
            raise ValueError(f"--cluster: all {len(self._refused)} workers are refused{other}")
        return like

    def close(self) -> None:
        """Ask nobody any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def look(self) -> Iterator[str]:
        """See who is there now, ask new ones for their facts, and say who is refused, and why."""
        threads = self._ask_new()
        self.fit = {}
        for address, found in self._found.items():
            if not (why := fit.reason(found, self._wanted)):
                self.fit[address] = threads[address]
            elif address not in self._refused:
                self._refused.add(address)
                yield f"worker {address} is refused: {why}"

    def _ask_new(self) -> dict[str, int]:
        """Ask workers for their facts, forget those that are gone, and return the threads of all."""
        threads = self._threads()
        self._found = {address: found for address, found in self._found.items() if address in threads}
        for address in threads.keys() - self._found.keys() - self._asked.keys():
            self._asked[address] = self._pool.submit(self._answer, address)
        for address, answer in list(self._asked.items()):
            if answer.done():
                del self._asked[address]
                if address in threads and answer.result() is not None:
                    self._found[address] = answer.result()
        return threads

    def _threads(self) -> dict[str, int]:
        try:
            return self._client.nthreads()
        except Exception as error:
            raise ConnectionError(f"--cluster: the scheduler is gone ({error}); finished tiles are kept") from None

    def _answer(self, address: str) -> Any:
        """Facts of a worker, or what kept it from telling them, or None if it did not answer."""
        try:
            found = self._client.run(_told, self._policies, workers=[address], on_error="return").get(address)
        except Exception:
            return None
        return None if isinstance(found, OSError) else found

    def ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker do something; what it gives comes."""
        future = self._client.submit(function, *arguments, workers=[address], pure=False)
        self._come.add(future)
        return future

    def ready(self) -> bool:
        """Whether something has come."""
        return self._come.has_ready()

    def come(self) -> Iterator[tuple[Any, Any]]:
        """What has come, by what was asked; None if its worker died. A ValueError is of the task itself."""
        for future, result in self._come.next_batch(block=False):
            if future.status == "error":
                _, error, _ = result
                if type(error).__name__ not in DIED:
                    raise _of_task(error)
            yield future, result if future.status == "finished" else None


def _of_task(error: Exception) -> Exception:
    """What ends a run: an error as it would be here, or in one line if it is another."""
    if isinstance(error, ValueError | MemoryError | RuntimeError):
        return error
    return ValueError(f"a worker failed with {type(error).__name__}: {in_short(str(error))}")
