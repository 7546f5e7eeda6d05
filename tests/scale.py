"""Parameters of a test of which some are tried each time, and the others with --slow."""

import pytest


def at_scale(values, fast):
    """Mark all values but the fast ones as slow."""
    return [value if value in fast else pytest.param(*_parts(value), marks=pytest.mark.slow) for value in values]


def _parts(value):
    return value if isinstance(value, tuple) else (value,)
