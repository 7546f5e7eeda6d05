"""Linear algebra of NumPy and LAPACK on one thread.

On several it rounds differently, already for a hundred points: the bits of a result would depend on how many cores
there are, and on variables as OPENBLAS_NUM_THREADS, which Dask sets for its workers.
"""

from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


def one_thread() -> Any:
    """A context in which linear algebra takes one thread, in the whole process."""
    return threadpool_limits(1, user_api="blas")
