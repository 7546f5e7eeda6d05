"""The benchmark: jaxids beside two NumPy simulators of the same thirteen policies, which also check it."""

__all__: list[str] = []
