"""The benchmark: times of the thirteen policies, of kernels, and over dimensions and numbers of actions."""

__all__: list[str] = []
