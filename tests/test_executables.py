"""Programs: compiled once in a process, by whoever asks first; what went wrong is said to all who wait."""

import contextlib
import threading
import time
from collections import OrderedDict

import jax
import jax.numpy as jnp
import pytest

from jaxids import executables, kept

ARGUMENT = (jnp.arange(3.0),)


@pytest.fixture
def compiling(monkeypatch):
    """How often something was compiled, and a way to make that slow or wrong."""
    monkeypatch.setenv(kept.VARIABLE, "0")
    begun, go = [], threading.Event()
    real = executables._loaded_or_compiled

    def slow(*given):
        begun.append(threading.get_ident())
        go.wait(10)
        return real(*given)

    monkeypatch.setattr(executables, "_loaded_or_compiled", slow)
    return begun, go


class Slow(OrderedDict):
    """What is held, by one that is slow to say that there is nothing."""

    def get(self, key):
        found = super().get(key)
        if found is None:
            time.sleep(0.1)
        return found


def asked_by(number, jitted):
    """What some threads get that ask for a program at once: it, or an error."""
    found = []

    def ask():
        try:
            found.append(executables.compiled(jitted, ARGUMENT, {}))
        except RuntimeError as error:
            found.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize(("turn", "right"), [(threading.Lock(), True), (contextlib.nullcontext(), False)])
def test_threads_compile_a_program_once(compiling, monkeypatch, turn, right):
    """Without turns each compiles it, as a control."""
    begun, go = compiling
    monkeypatch.setattr(executables, "_made", Slow())
    monkeypatch.setattr(executables, "_turn", turn)
    before = executables.count()
    go.set()
    found = asked_by(4, jax.jit(lambda x: 2 * x))
    assert (len(begun) == 1) == right
    assert (executables.count() == before + 1) == right
    assert len(found) == 4
    assert (len({id(program) for program in found}) == 1) == right
    assert found[0](*ARGUMENT).tolist() == [0, 2, 4]


def test_a_failure_is_told_to_all_and_not_remembered(monkeypatch):
    jitted, tried = jax.jit(lambda x: 3 * x), []

    def fails(*given):
        tried.append(given)
        time.sleep(0.3)
        raise RuntimeError("no memory")

    with monkeypatch.context() as patched:
        patched.setattr(executables, "_loaded_or_compiled", fails)
        assert asked_by(3, jitted) == ["no memory"] * 3
    assert len(tried) == 1  # the others waited for it
    assert executables.compiled(jitted, ARGUMENT, {})(*ARGUMENT).tolist() == [0, 3, 6]


def test_not_many_are_held(monkeypatch):
    monkeypatch.setattr(executables, "MOST", 3)
    jitted = jax.jit(lambda x, n: n * x, static_argnums=1)
    for n in range(6):
        executables.compiled(jitted, (*ARGUMENT, n), {})
    assert len(executables._made) <= 3


def test_what_was_traced_from_other_code_is_another_program():
    factor = [2]
    jitted = jax.jit(lambda x: factor[0] * x)
    assert executables.compiled(jitted, ARGUMENT, {})(*ARGUMENT).tolist() == [0, 2, 4]
    factor[0] = 5
    jax.clear_caches()
    assert executables.compiled(jitted, ARGUMENT, {})(*ARGUMENT).tolist() == [0, 5, 10]
