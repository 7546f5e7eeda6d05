"""jaxids: information-directed bandits with heteroscedastic noise, simulated by the thousand in one compiled loop."""

TYPE_CHECKING = False  # as of `typing`, whose import takes as long as the interpreter's start
if TYPE_CHECKING:
    from typing import Any

    from jaxids import (
        beliefs,
        bounds,
        confidence,
        domains,
        fields,
        information,
        kernels,
        policies,
        problems,
        ratio,
        series,
        statistics,
        surfaces,
    )
    from jaxids.experiment.load import load
    from jaxids.experiment.results import Results
    from jaxids.simulator import Result, simulate

__version__ = "0.6.0"
__all__ = [
    "Result",
    "Results",
    "beliefs",
    "bounds",
    "confidence",
    "domains",
    "fields",
    "information",
    "kernels",
    "load",
    "policies",
    "problems",
    "ratio",
    "series",
    "simulate",
    "statistics",
    "surfaces",
]
_HOMES = {"Result": "simulator", "simulate": "simulator", "Results": "experiment.results", "load": "experiment.load"}


def __getattr__(name: str) -> "Any":
    """A public name, imported when it is first asked for, so that the command line answers without JAX."""
    if name not in __all__:
        raise AttributeError(f"module 'jaxids' has no attribute {name!r}")
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"jaxids.{_HOMES[name]}"), name)
    return import_module(f"jaxids.{name}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
