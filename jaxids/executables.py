"""Compiled programs: each once in a process, whoever asks first, and from the folder of kept ones if it is there.

A program is known by what JAX makes of it, its text before it is compiled, so one that was traced from other code is
another program. Tracing is left to JAX, which remembers it; so `jax.clear_caches()` forgets here as well.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import Any

import jax

from jaxids import kept

__all__ = ["compiled", "count", "forget"]

MOST = 64  # programs that are held: the code of one is some 100 kB
_made = OrderedDict[Any, Future[Callable[..., Any]]]()  # by the module that JAX holds, and the device
_turn = Lock()
_count = 0


def count() -> int:
    """How many programs this process has compiled or loaded."""
    return _count


def forget() -> None:
    """Hold no program any longer."""
    with _turn:
        _made.clear()


def compiled(
    jitted: Any, arguments: tuple[Any, ...], static: Mapping[str, Any], options: Any = None, device: Any = None
) -> Callable[..., Any]:
    """A jitted function, compiled for arguments of these shapes on their device; it takes no static ones any more.

    Several threads may ask for one program: the first compiles, the others wait for it. `options` are the compiler's
    that the function was jitted with.
    """
    global _count
    lowered = jitted.lower(*arguments, **static)
    module = lowered.compiler_ir(), device  # JAX may lower once for several devices
    with _turn:
        future = _made.get(module)
        mine = future is None
        if future is None:
            future = _made[module] = Future()
            _count += 1
            while len(_made) > MOST:
                _made.popitem(last=False)
        _made.move_to_end(module)
    if mine:
        try:
            future.set_result(_loaded_or_compiled(lowered, options, device))
        except BaseException as error:
            with _turn:
                _made.pop(module, None)
            future.set_exception(error)
    return future.result()


def _loaded_or_compiled(lowered: Any, options: Any, device: Any) -> Callable[..., Any]:
    folder = kept.folder() if isinstance(device, jax.Device) and jax.process_count() == 1 else None
    if folder is None:
        return lowered.compile()
    path = folder / kept.name(lowered.as_text(), options, device)
    program = kept.load(path, lowered, device)
    if program is None:
        program = lowered.compile()
        kept.save(path, program)
    return program
