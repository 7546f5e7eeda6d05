"""Code of one's own that an experiment file names: a module found from the current directory, and what it holds.

A module whose source has changed since it was imported is imported again. Errors are one line.
"""

import hashlib
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxids.experiment import keys
from jaxids.words import shown

_LOADED: dict[str, str] = {}  # digests of modules when they were imported


def digest(name: str) -> str:
    """The sha256 of the source of a module, which is imported, or again if its source is another now."""
    module = sys.modules.get(name) or _imported(name)
    now = _sha256(module)
    if _LOADED.setdefault(name, now) != now:
        _LOADED[name] = _sha256(_imported(name, again=module))
    return _LOADED[name]


def found(module: str, name: str, kind: type, takes: str) -> Any:
    """An object of a kind in an imported module: itself, or what a function without arguments returns."""
    held = vars(sys.modules[module])
    if name not in held:
        public = [each for each in held if not each.startswith("_")]
        raise ValueError(f"{module} has no {name}, {keys.nearest(name, public or ['nothing'])}")
    value = held[name]
    if not isinstance(value, kind) and callable(value):
        try:
            value = value()
        except Exception as error:  # whatever the function of another does
            raise ValueError(f"{name}() fails with {type(error).__name__}: {error}") from None
    if not isinstance(value, kind):
        raise ValueError(f"it is {shown(value)}; it takes {takes}, or a function without arguments that returns one")
    return value


def _sha256(module: ModuleType) -> str:
    path = getattr(module, "__file__", None)
    if not path or not Path(path).is_file():
        raise ValueError(f"{module.__name__} has no file of source; it takes a module written in Python")
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _imported(name: str, again: ModuleType | None = None) -> ModuleType:
    """A module, found from the current directory too."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name) if again is None else importlib.reload(again)
    except Exception as error:  # whatever the module of another does
        why = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
        raise ValueError(f"{name} cannot be imported: {why}{error}") from None
