"""Programs for accelerators that are not there: tiles are compiled for a target, and what they are made of is read off.

Nothing is executed on such a device. The compilers need no device, only the plugins of the extra `targets`.
"""

__all__ = ["NAMES"]

NAMES = ("h100", "a100", "v5e")
