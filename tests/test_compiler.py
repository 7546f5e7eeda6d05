"""XLA is told to leave out only what it can do without."""

import jax
import jaxlib.version
import pytest

from jaxids import compiler


@pytest.fixture(autouse=True)
def _fresh():
    compiler.options.cache_clear()
    yield
    compiler.options.cache_clear()


def test_what_is_left_out_compiles_here():
    passes = compiler.options("cpu")
    assert passes is not None
    assert compiler._compiles(passes)
    assert compiler.THREADS in passes["xla_disable_hlo_passes"]
    barriers = compiler.BARRIERS in passes["xla_disable_hlo_passes"]
    assert barriers == (jaxlib.version.__version_info__ < (0, 12))  # each the faster of the two, as measured


def test_what_is_refused_is_found_by_trying(monkeypatch):
    assert not compiler._compiles({"xla_no_such_option": "1"})
    tried, threads = [], f"{compiler.THREADS},{compiler.IDLE}"

    def refuses_barriers(given):
        tried.append(given["xla_disable_hlo_passes"])
        return compiler.BARRIERS not in tried[-1]

    monkeypatch.setattr(compiler, "_compiles", refuses_barriers)
    monkeypatch.setattr(jaxlib.version, "__version_info__", (0, 10, 2))
    assert compiler.options("cpu") == {"xla_disable_hlo_passes": threads}
    assert tried == [f"{compiler.BARRIERS},{threads}", threads]


def test_a_compiler_that_takes_neither_is_told_nothing(monkeypatch):
    monkeypatch.setattr(compiler, "_compiles", lambda given: False)
    assert compiler.options("cpu") is None


def test_other_platforms_are_told_nothing():
    assert compiler.options("gpu") is None
    assert jax.jit(lambda x: x, compiler_options=compiler.options("tpu"))(1) == 1
