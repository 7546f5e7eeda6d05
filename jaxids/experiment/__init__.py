"""Experiments: a TOML file → cells → tiles → a crash-safe store → curves."""

__all__: list[str] = []
