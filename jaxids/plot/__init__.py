"""Figures of results, the same colours and lines for the same policy everywhere."""

__all__: list[str] = []
