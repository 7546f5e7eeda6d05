"""Work for later, done while other work is under way: the next programs compile while this one runs.

Compiling a program and running another leave each other's cores alone. A few are made ahead and no more, so that
memory does not grow with how many there are to come.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from jaxids.workers import cores

AHEAD = 6  # begun before they are asked for
THREADS = 2  # that make them: nothing runs before the first is there
Given = TypeVar("Given")
Made = TypeVar("Made")


@contextmanager
def made(make: Callable[[Given], Made], of: Iterable[Given]) -> Iterator[Iterator[Callable[[], Made]]]:
    """For each of some things, in order, a function that waits for what is made of it, or raises what went wrong."""
    pool = ThreadPoolExecutor(min(THREADS, cores()), "ahead")
    try:
        yield _in_order(pool, make, iter(of))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    pool: ThreadPoolExecutor, make: Callable[[Given], Made], of: Iterator[Given]
) -> Iterator[Callable[[], Made]]:
    begun = deque[Future[Made]]()
    while True:
        begun.extend(pool.submit(make, each) for each in islice(of, AHEAD + 1 - len(begun)))
        if not begun:
            return
        yield begun.popleft().result
