"""Fonts inside a PDF without the tables that say how letters go together.

Matplotlib has placed every letter before it writes one, and nobody reads those tables there. But cutting them down to
the letters of a figure takes half the time of drawing it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["plain_fonts"]

UNREAD = ("GDEF", "GPOS", "GSUB")


@contextmanager
def plain_fonts() -> Iterator[None]:
    """Figures that are saved meanwhile have such fonts, if fontTools can be told so."""
    from fontTools import subset

    kept: Any = getattr(subset.Options, "_drop_tables_default", None)
    if not isinstance(kept, list):
        yield
        return
    subset.Options._drop_tables_default = [*kept, *UNREAD]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = kept
