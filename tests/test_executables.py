"""Programs: compiled once in a process, by whoever asks first; what went wrong is said to all who wait."""

import threading

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


def test_two_threads_compile_a_program_once(compiling):
    begun, go = compiling
    jitted, found = jax.jit(lambda x: 2 * x), []
    threads = [
        threading.Thread(target=lambda: found.append(executables.compiled(jitted, ARGUMENT, {}))) for _ in range(4)
    ]
    before = executables.count()
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert len(begun) == 1
    assert executables.count() == before + 1
    assert len(found) == 4
    assert len({id(program) for program in found}) == 1
    assert found[0](*ARGUMENT).tolist() == [0, 2, 4]


def test_a_failure_is_told_to_all_and_not_remembered(monkeypatch):
    jitted = jax.jit(lambda x: 3 * x)

    def fails(*given):
        raise RuntimeError("no memory")

    with monkeypatch.context() as patched:
        patched.setattr(executables, "_loaded_or_compiled", fails)
        with pytest.raises(RuntimeError, match="no memory"):
            executables.compiled(jitted, ARGUMENT, {})
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
