"""JAX's compilation cache as commands switch it on: where it is, when it is left unused, and what a user sees."""

import json
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache as jax_cache

from jaxids import compilation_cache
from jaxids.compilation_cache import VARIABLE, folder, switch_on

SETTINGS = [
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
]
EXPERIMENT = """
policies = ["UCB"]
trials = 3
steps = 5
[problem]
actions = 3
dim = 2
"""
RUN = """
import collections, json, sys
from jax import monitoring
from jaxids import cli, load
counts = collections.Counter()
monitoring.register_event_listener(lambda event, **_: counts.update([event]))
monitoring.register_event_duration_secs_listener(lambda event, *_, **__: counts.update([event]))
assert cli.main(["run", sys.argv[1], "--out", sys.argv[2], "--part", "1/1"]) == 0
print(json.dumps([load(sys.argv[2])["small/UCB"].final.tolist(), counts]))
"""  # a command, the final regrets, and what JAX tells of its compilations
MISSES, HITS = "/jax/compilation_cache/cache_misses", "/jax/compilation_cache/cache_hits"
COMPILED = "/jax/core/compile/backend_compile_duration"  # or loaded


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder for the cache that is not there yet; JAX has no cache, and afterwards its settings are as before."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    monkeypatch.setenv(VARIABLE, str(tmp_path / "programs"))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    jax.config.update("jax_compilation_cache_dir", None)
    start_again()
    yield tmp_path / "programs"
    for name, value in before.items():
        jax.config.update(name, value)
    start_again()


def start_again():
    """As in a new process."""
    jax_cache.reset_cache()
    switch_on.cache_clear()


def cache_dir():
    return jax.config.jax_compilation_cache_dir


def compute():
    """What a program gives that is compiled, or loaded, anew."""

    def program(x):
        return 3 * jnp.sin(x)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return jax.jit(program).lower(np.arange(3.0)).compile()(np.arange(3.0)).tolist()


def entries(root):
    return sorted(root.glob("*/*-cache"))


def test_zero_means_none(root, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
    assert folder() is None
    switch_on()
    assert cache_dir() is None
    assert not root.exists()


@pytest.mark.skipif(os.name != "posix", reason="of other systems' folders")
def test_the_folder_is_the_users(monkeypatch, tmp_path):
    for unset in ("", None):
        monkeypatch.setenv(VARIABLE, unset) if unset is not None else monkeypatch.delenv(VARIABLE)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert folder().parent == tmp_path / "jaxids"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert folder().parent == Path.home() / ".cache/jaxids"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert folder().parent == Path.home() / "Library/Caches/jaxids"


def test_each_cpu_and_jaxlib_has_its_folder(monkeypatch):
    names = [folder().name]
    monkeypatch.setattr(compilation_cache.cpu, "make", lambda: "another (01234567)")
    names.append(folder().name)
    monkeypatch.setattr(compilation_cache.jaxlib.version, "__version__", "0.9.9")
    names.append(folder().name)
    assert len(set(names)) == 3
    assert names[2].startswith("0.9.9-")


def test_a_cache_of_the_users_own_wins(root, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    switch_on()
    assert {name: getattr(jax.config, name) for name in SETTINGS} == before
    assert not root.exists()


def test_a_library_call_leaves_jax_as_it_is(root):
    """The command's module does nothing by being imported; `switch_on` is the control."""
    assert cache_dir() is None
    switch_on()
    assert cache_dir() == str(folder())


def test_the_folder_is_private_and_every_program_goes_there(root, capfd):
    switch_on()
    assert [path.stat().st_mode & 0o777 for path in (root, folder())] == [0o700, 0o700]
    values = compute()
    assert len(entries(root)) == 1
    assert compute() == values
    assert len(entries(root)) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="of owners and modes")
@pytest.mark.parametrize("wrong", ["world", "group", "link", "owner", "above"])
def test_a_folder_that_others_may_write_to_is_left_unused(root, capfd, wrong, monkeypatch):
    folder().mkdir(parents=True, mode=0o700)
    if wrong in ("world", "group"):
        folder().chmod(0o702 if wrong == "world" else 0o720)
    elif wrong == "above":
        root.chmod(0o777)
    elif wrong == "link":
        folder().rename(root / "elsewhere")
        folder().symlink_to(root / "elsewhere")
    else:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)
    switch_on()
    switch_on()
    assert cache_dir() is None
    others = "it is someone else's" if wrong in ("link", "owner") else "others may write to it"
    why = f"others may write to {root}" if wrong == "above" else others
    instead = "programs are compiled instead of loaded (JAXIDS_CACHE=0 turns the cache off)"
    assert capfd.readouterr().err == f"jaxids: warning: {folder()}: not used ({why}); {instead}\n"


@pytest.mark.skipif(os.name != "posix", reason="of owners and modes")
def test_a_folder_in_one_like_tmp_is_used(root):
    root.mkdir()
    root.chmod(0o1777)
    switch_on()
    assert cache_dir() == str(folder())


@pytest.mark.parametrize("where", ["file", "below a file", "read-only"])
def test_a_folder_that_cannot_be_written_costs_a_line(root, capfd, where, monkeypatch):
    if where == "read-only":
        folder().mkdir(parents=True, mode=0o700)
        (folder() / ".lockfile").mkdir()  # root writes anywhere, but not here
    else:
        root.write_text("")
        monkeypatch.setenv(VARIABLE, str(root / "sub" if where == "below a file" else root))
    switch_on()
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"jaxids: warning: {folder()}: not used (")
    assert cache_dir() is None


def test_a_worker_says_nothing(root, capfd):
    root.write_text("")
    switch_on(quiet=True)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("harm", ["truncated", "empty", "flipped", "garbage"])
def test_a_damaged_entry_costs_a_compilation_and_a_line(root, capfd, harm):
    switch_on()
    values = compute()
    (entry,) = entries(root)
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    wrong = {"truncated": content[:500], "empty": b"", "garbage": b"x" * 5000}
    entry.write_bytes(wrong.get(harm, content))
    assert compute() == values
    assert compute() == values
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"jaxids: warning: {folder()}: Error reading persistent compilation cache entry for 'jit_")


@contextmanager
def limited_files(resource, size):
    """A limit on the size of files, which stands in for a full disk, however JAX writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_a_line_and_leaves_nothing(root, capfd):
    """What could be written is removed by the next process, which writes the whole."""
    resource = pytest.importorskip("resource", reason="no limits on files here")
    switch_on()
    with limited_files(resource, 2000):
        values = compute()
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "Error writing persistent compilation cache entry" in said
    assert "File too large" in said
    assert [entry.stat().st_size for entry in entries(root)] == [2000]
    jax.config.update("jax_compilation_cache_dir", None)
    start_again()
    switch_on()
    assert not entries(root)
    assert compute() == values
    assert entries(root)[0].stat().st_size > 2000
    assert capfd.readouterr().err == ""


def test_other_warnings_are_shown_as_before(root, capfd, monkeypatch):
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *more: shown.append(str(message)))
    switch_on()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("Error reading persistent compilation cache entry", stacklevel=1)
        warnings.warn("Error reading something else", stacklevel=1)
    assert shown == ["Error reading something else"]
    assert capfd.readouterr().err.count("\n") == 1


def test_a_second_process_compiles_nothing(tmp_path):
    """The same bits with a cold cache, a warm one and none; without one all is compiled, as a control."""
    (tmp_path / "small.toml").write_text(EXPERIMENT)

    def run(name, cache):
        given = [sys.executable, "-c", RUN, str(tmp_path / "small.toml"), str(tmp_path / name)]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_COMP", "JAX_PERS"))}
        environment[VARIABLE] = cache
        done = subprocess.run(given, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert "arning" not in done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    cold, warm = (run(name, str(tmp_path / "programs")) for name in ("cold", "warm"))
    finals, without = run("without", "0")
    assert cold[0] == warm[0] == finals
    assert len(entries(tmp_path / "programs")) == cold[1][MISSES] > 2
    assert MISSES not in warm[1]
    assert warm[1][HITS] == warm[1][COMPILED]
    assert not {HITS, MISSES} & without.keys()
    assert without[COMPILED] == warm[1][COMPILED]
