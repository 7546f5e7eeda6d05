"""Linear algebra of NumPy and LAPACK on one thread.

On several it rounds differently, already for a hundred points: the bits of a result would depend on how many cores
there are, and on variables as OPENBLAS_NUM_THREADS, which Dask sets for its workers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

_turn = Lock()  # the limit is one of the process: who leaves first would take it from the others


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which linear algebra takes one thread, in the whole process; others wait for their turn."""
    with _turn, threadpool_limits(1, user_api="blas"):
        yield
