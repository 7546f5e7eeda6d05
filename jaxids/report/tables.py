"""Tables of the page."""

from collections.abc import Sequence

__all__ = ["table"]


def table(kind: str, head: str, rows: Sequence[str]) -> str:
    """Rows of cells under a head."""
    return f"<table class='{kind}'>" + "".join(f"<tr>{row}</tr>" for row in (head, *rows)) + "</table>"
