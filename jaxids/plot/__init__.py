"""Figures of results, the same colours and lines for the same policy everywhere."""
