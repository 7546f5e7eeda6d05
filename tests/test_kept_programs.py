"""Kept programs: the same bits, whatever becomes of their files; what is wrong is said in one line."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from jaxids import executables, kept, policies, problems, simulate

KEY = jax.random.key(8)
BALL = problems.unit_ball(5, 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for programs, and nothing in memory."""
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "programs"))
    monkeypatch.setattr(kept, "_said", set())
    monkeypatch.setattr(kept, "_loaded_by_jax", False)
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
    jax.clear_caches()
    yield tmp_path / "programs"
    jax.config.update("jax_compilation_cache_dir", os.environ.get("JAX_COMPILATION_CACHE_DIR"))
    compilation_cache.reset_cache()


@pytest.fixture
def compilations(monkeypatch):
    """What is compiled, not loaded."""
    found, save = [], kept.save
    monkeypatch.setattr(kept, "save", lambda path, program: found.append(path) or save(path, program))
    return found


def bits(name="UCB"):
    executables.forget()
    found = simulate(BALL, policies.PAPER[name], key=KEY, trials=300, steps=50, record=["simple_regret"])
    return {key: [part.tobytes() for part in series] for key, series in found.series.items()}


def files(folder):
    return sorted(folder.rglob("*" + kept.SUFFIX))


def test_a_loaded_program_gives_the_same_bits(folder, compilations, capfd):
    compiled = bits("IDS-TS")
    assert len(compilations) == len(files(folder)) == 2  # the beginning of trials, and their steps
    assert bits("IDS-TS") == compiled
    assert len(compilations) == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("harm", ["truncated", "empty", "flipped", "checksum", "garbage"])
def test_damage_costs_a_compilation_and_a_line(folder, compilations, capfd, harm):
    compiled = bits()
    _, file = files(folder)
    content = bytearray(file.read_bytes())
    if harm == "flipped":
        content[len(content) // 2] ^= 1
    elif harm == "checksum":
        content[0] ^= 1
    wrong = {"truncated": content[:1000], "empty": b"", "garbage": b"x" * 5000}
    file.write_bytes(wrong.get(harm, content))
    assert bits() == compiled
    assert compilations[2:] == [file]
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"jaxids: kept programs: {file}: damaged, its checksum does not fit")
    assert bits() == compiled  # it was mended
    assert len(compilations) == 3


def test_what_jax_cannot_read_is_compiled(folder, compilations, capfd, monkeypatch):
    compiled = bits()
    from jax.experimental import serialize_executable

    def fails(*given, **more):
        raise TypeError("of another release")

    monkeypatch.setattr(serialize_executable, "deserialize_and_load", fails)
    assert bits() == compiled
    assert len(compilations) == 4
    assert "damaged, of another release; compiled again" in capfd.readouterr().err


@pytest.mark.parametrize("where", ["file", "below a file", "read-only"])
def test_a_folder_that_cannot_be_costs_a_line(folder, capfd, where, monkeypatch):
    if where == "read-only":
        if os.geteuid() == 0:
            pytest.skip("root writes anywhere")
        folder.mkdir(mode=0o500)
    else:
        folder.write_text("")
        monkeypatch.setenv(kept.VARIABLE, str(folder / "sub" if where == "below a file" else folder))
    bits("UCB")
    bits("W-UCB")
    said = capfd.readouterr().err
    assert 1 <= said.count("\n") <= 2  # one for reading, one for writing
    assert all(line.startswith("jaxids: kept programs: ") for line in said.splitlines())


@pytest.mark.skipif(os.name != "posix", reason="of owners and modes")
def test_a_folder_that_others_may_write_to_is_not_used(folder, compilations, capfd):
    compiled = bits()
    file, _ = files(folder)
    assert file.parent.stat().st_mode & 0o077 == 0
    file.parent.chmod(0o777)
    assert bits() == compiled
    assert len(compilations) == 4
    assert "not used, as others may write to it" in capfd.readouterr().err


def test_a_full_disk_costs_a_line(folder, capfd, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    bits("UCB")
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be written, No space left on device; nothing is lost but time (JAXIDS_CACHE=0" in said
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_one_setting_keeps_nothing(folder, monkeypatch):
    monkeypatch.setenv(kept.VARIABLE, "0")
    assert kept.folder() is None
    monkeypatch.setenv(kept.VARIABLE, "")
    assert kept.folder() is not None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    assert kept.folder() is None  # the user has one of JAX's


def test_nothing_is_kept_of_what_jax_has_loaded(folder, compilations):
    """A program that was loaded cannot be written again: its copy fails when it runs."""
    assert kept.folder() is not None
    jax.monitoring.record_event("/jax/compilation_cache/cache_hits")
    assert kept.folder() is None
    bits("UCB")
    assert not compilations


def test_the_folder_is_the_users(folder, monkeypatch, tmp_path):
    monkeypatch.delenv(kept.VARIABLE)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.folder().parent == tmp_path / "jaxids"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert kept.folder().parent == Path.home() / ".cache/jaxids"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert kept.folder().parent == Path.home() / "Library/Caches/jaxids"


def test_the_name_is_of_all_that_code_depends_on(monkeypatch):
    device = jax.devices("cpu")[0]
    names = [kept.name("text", None, device), kept.name("texts", None, device), kept.name("text", {"a": 1}, device)]
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    names.append(kept.name("text", None, device))
    with jax.enable_x64(True):
        names.append(kept.name("text", None, device))
    assert len(set(names)) == len(names)


def test_the_longest_unused_go_first(folder, monkeypatch):
    monkeypatch.setattr(kept, "MOST", 2500)
    (folder / "one").mkdir(parents=True)
    for age in range(5):
        file = folder / "one" / f"{age}{kept.SUFFIX}"
        file.write_bytes(bytes(1000))
        os.utime(file, (1e9 - age, 1e9 - age))
    old = folder / "one" / f".1-ab{kept.PART}"
    old.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    kept._trim(folder / "one")
    assert [path.name for path in sorted((folder / "one").iterdir())] == [f"{age}{kept.SUFFIX}" for age in range(2)]


def test_processes_share_it(folder):
    """The second of two processes compiles no tile, and says nothing."""
    code = (
        "import jax; from jaxids import executables, kept, policies, problems, simulate; saved = []\n"
        "save = kept.save; kept.save = lambda *given: saved.append(given) or save(*given)\n"
        "found = simulate(problems.unit_ball(5, 2), policies.ucb(), key=jax.random.key(0), trials=9, steps=9)\n"
        "print(len(saved), found.final.tobytes().hex())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    given = {"capture_output": True, "text": True, "check": True, "env": environment}
    runs = [subprocess.run([sys.executable, "-c", code], **given) for _ in range(2)]
    assert [run.stderr for run in runs] == ["", ""]
    (first, bits_of_first), (second, bits_of_second) = (run.stdout.split() for run in runs)
    assert (first, second) == ("2", "0")
    assert bits_of_first == bits_of_second
    assert np.frombuffer(bytes.fromhex(bits_of_first), np.float32).shape == (9,)
