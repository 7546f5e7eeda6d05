"""Standard error, closed to the compilers of accelerators, who say at start-up that there is none."""

import contextlib
import os
import sys
from collections.abc import Iterator

__all__ = ["quiet"]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What is written to standard error by anything in this process goes nowhere; what is raised still comes out."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
