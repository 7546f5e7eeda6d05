"""Values in messages: one line, and not too long."""

from typing import Any

LONGEST = 120  # characters of a value


def shown(value: Any, longest: int = LONGEST) -> str:
    """A value as Python writes it."""
    try:
        return in_short(repr(value), longest)
    except (ValueError, RecursionError):  # Python writes no number of thousands of digits, and nothing nested as deep
        return f"{type(value).__name__}, too large to show"


def in_short(text: str, longest: int = LONGEST) -> str:
    """A text without its line ends and without what is too much of it."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[:longest] + "…"
