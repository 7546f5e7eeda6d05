"""Killed, interrupted, at once or on a full disk: a run loses nothing finished and ends with the same files."""

import os
import pty
import random
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from processes import started

from jaxids import interrupts
from jaxids.experiment import cells

LONG = """
policies = ["UCB", "W-UCB"]
trials = 76800
steps = 6000
points = 20
problem.actions = 3
problem.dim = 2
"""
pytestmark = pytest.mark.usefixtures("no_process_left")
COMMAND = [sys.executable, "-m", "jaxids", "run"]
# the command, which tells when the interpreter has started
TELLING = (
    "from jaxids import interrupts; interrupts.catch(); print(flush=True); from jaxids.__main__ import *; script()"
)
# the command, which sends itself a signal, so many times, when a module is imported or a function is called
SENDING = """
import importlib, os, sys
signal, times, where = int(sys.argv.pop(1)), int(sys.argv.pop(1)), sys.argv.pop(1)
module, _, path = where.partition(":")

def send():
    for _ in range(times):
        os.kill(os.getpid(), signal)

class Finder:
    def find_spec(name, *_):
        if name == module:
            send()

def sending(function):
    return lambda *arguments, **named: (send(), function(*arguments, **named))[1]

if path:
    owner, names = importlib.import_module(module), path.split(".")
    for name in names[:-1]:
        owner = getattr(owner, name)
    setattr(owner, names[-1], sending(getattr(owner, names[-1])))
else:
    sys.meta_path.insert(0, Finder)
from jaxids.__main__ import script
script()
"""


def sending(sent, where, times=1):
    return [sys.executable, "-c", SENDING, str(int(sent)), str(times), where, "run"]


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(folder, *more, before=(), command=COMMAND, stderr=subprocess.PIPE):
    file = folder / "long.toml"
    if not file.exists():  # others may be reading it
        file.write_text(LONG)
    arguments = [*before, *command, file, "--out", folder / "out", *more]
    return started(arguments, stderr=stderr)


def wait_for_tiles(folder, process, more=0):
    before = finished_tiles(folder)
    while finished_tiles(folder) <= before + more and process.poll() is None:
        time.sleep(0.01)


def finished_tiles(folder):
    """How many tiles there are, by the names of their files, whatever is packed meanwhile."""
    found = (cells.finished(cell, 10**9) for cell in (folder / "out").glob("*/tiles/*"))
    return sum(map(len, found))


def at_one_go(folder, *more):
    """The files of a run that nothing interrupts, in a process of its own."""
    process = start(folder, *more)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return snapshot(folder / "out")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A longer experiment of 600 tiles, run at one go, and how long a run takes to its first tile."""
    folder, other = tmp_path_factory.mktemp("uninterrupted"), tmp_path_factory.mktemp("other")
    expected = at_one_go(folder)
    process, began = start(other), time.monotonic()  # how long one takes whose programs are kept
    wait_for_tiles(other, process)
    starting = time.monotonic() - began
    process.kill()
    process.communicate()
    return expected, starting


def test_kills_while_writing_and_simulating_and_two_runs_at_once_change_nothing(tmp_path_factory, tmp_path):
    """Killed where a file under way is whole but has no name yet, then amid its tiles; then two runs go on at once."""
    more = ["--trials", "3840"]
    process = start(tmp_path, *more, command=sending(signal.SIGKILL, "os:fsync"))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert list((tmp_path / "out").rglob("*.part"))
    process = start(tmp_path, *more)
    wait_for_tiles(tmp_path, process, more=2)
    process.kill()
    process.communicate()
    assert 0 < finished_tiles(tmp_path) < 30
    both = [start(tmp_path, *more), start(tmp_path, *more)]
    for process in both:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert snapshot(tmp_path / "out") == at_one_go(tmp_path_factory.mktemp("once"), *more)


@pytest.mark.slow
def test_thirty_kills_at_random_moments_change_nothing(tmp_path, uninterrupted):
    """Half of the kills fall anywhere from the start of a process on, half soon after its first tile."""
    expected, starting = uninterrupted
    moments, unfinished = random.Random(30), 0
    for kill in range(30):
        process = start(tmp_path)
        if kill % 2:
            time.sleep(moments.uniform(0, 1.2 * starting))
        else:
            wait_for_tiles(tmp_path, process)
            time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.communicate()
        unfinished += process.returncode == -signal.SIGKILL and finished_tiles(tmp_path) < 600
    assert unfinished >= 25  # the kills did interrupt something
    process = start(tmp_path)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert snapshot(tmp_path / "out") == expected


@pytest.mark.slow
def test_two_runs_at_once_end_with_the_same_files(tmp_path, uninterrupted):
    both = [start(tmp_path), start(tmp_path)]
    for process in both:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert snapshot(tmp_path / "out") == uninterrupted[0]


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(tmp_path):
    process = start(tmp_path, "--trials", "1000000")
    wait_for_tiles(tmp_path, process, more=2)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    assert said.count("interrupted") == 1
    last = said.splitlines()[-1]
    assert last.startswith("jaxids: interrupted; finished tiles are kept, `jaxids run ")
    assert "long.toml" in last
    assert "--trials 1000000" in last
    assert not list((tmp_path / "out").rglob("*.part"))


@pytest.mark.slow
def test_thirty_interrupts_from_the_start_on_end_with_one_line_each(tmp_path):
    """Before, during and after imports and compilation, most in the first second; every third comes twice."""
    moments, more = random.Random(2018), ["--trials", "1000000"]
    again = shlex.join(["jaxids", "run", str(tmp_path / "long.toml"), "--out", str(tmp_path / "out"), *more])
    for interrupt in range(30):
        process = start(tmp_path, *more, command=[sys.executable, "-c", TELLING, "run"])
        process.stdout.readline()
        time.sleep(3 * moments.random() ** 2)
        for _ in range(2 if interrupt % 3 == 0 else 1):
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert said == f"jaxids: interrupted; finished tiles are kept, `{again}` goes on\n"
        assert process.returncode == 130


@pytest.mark.parametrize(
    ("where", "times"),
    [("jaxlib", 2), ("jax.stages:Lowered.compile", 1), ("os:fsync", 1), ("matplotlib.figure:Figure.savefig", 1)],
    ids=["importing", "compiling", "writing", "drawing"],
)
def test_an_interrupt_in_each_phase_ends_with_one_line_at_its_end(tmp_path, where, times):
    more = ["--trials", "2", "--steps", "30"]
    process = start(tmp_path, *more, command=sending(signal.SIGINT, where, times))
    _, said = process.communicate(timeout=60)
    again = shlex.join(["jaxids", "run", str(tmp_path / "long.toml"), "--out", str(tmp_path / "out"), *more])
    assert process.returncode == 130
    assert said.splitlines()[-1] == f"jaxids: interrupted; finished tiles are kept, `{again}` goes on"
    assert said.count("interrupted") == 1
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*.part"))


def test_an_interrupt_on_a_terminal_is_answered_below_it():
    screen, stderr = pty.openpty()
    code = "from jaxids import interrupts; interrupts.catch(); import signal; signal.raise_signal(signal.SIGINT)"
    process = started([sys.executable, "-c", code, "run"], stderr=stderr)
    assert process.wait(timeout=60) == 130
    process.stdout.close()
    os.close(stderr)
    assert os.read(screen, 10**6).decode().startswith("\r\njaxids: interrupted; ")
    os.close(screen)


def test_nothing_that_takes_long_is_imported_before_interrupts_are_caught():
    code = "import sys; sys.path[:0] = sys.argv[1:]; import jaxids.__main__; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-S", "-c", code, *sys.path], capture_output=True, text=True, check=True)
    assert not {"typing", "re", "importlib", "argparse", "jaxids.cli"} & set(ended.stdout.split())


def test_a_library_leaves_interrupts_to_its_user():
    code = (
        "import signal; from jaxids import __main__, cli; from jaxids.experiment import store; "
        "cli.main(['--version']); assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_who_ignores_interrupts_goes_on_ignoring_them():
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from jaxids import interrupts"
    code = f"{ignoring}; interrupts.catch(); signal.raise_signal(signal.SIGINT); print('on')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"on\n"


def test_a_failure_nobody_foresaw_ends_with_its_traceback_and_code_1():
    code = (
        "from jaxids import __main__, cli, commands; commands.results._report = lambda _: (print('before'), 1 / 0); "
        "__main__.script()"
    )
    ended = subprocess.run([sys.executable, "-c", code, "report", "."], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "before\n")
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_the_command_to_go_on_is_one_to_type(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", "run", "a b's.toml", "--set", 'policies=["UCB"]', "", "--out", "é/$x"])
    assert shlex.split(interrupts.line().split("`")[1]) == ["jaxids", *sys.argv[1:]]
    monkeypatch.setattr(sys, "argv", ["x", "export", "results"])
    assert interrupts.line() == "jaxids: interrupted\n"


def test_a_full_disk_ends_with_one_line_and_nothing_half_written(tmp_path):
    """A limit on the size of a file stands in for the disk: the tiles do not fit, the small files before them do."""
    process = start(tmp_path, before=["bash", "-c", 'ulimit -f 8; exec "$@"', "limited"])
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    last = said.splitlines()[-1]
    assert last.startswith(f"jaxids: {tmp_path}/out/long/tiles/UCB-")
    assert re.search(r"/00000(-\d+)?\.npz: cannot be written: File too large$", last)
    assert "Traceback" not in said
    kept = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert kept == {"experiment.json", "experiment.json.sha256", "cell.json"}


@pytest.mark.slow
def test_ten_kills_of_parts_at_once_change_nothing(tmp_path, uninterrupted):
    """Three parts write to one folder; one that is killed, at a random moment after a tile came in, starts again."""
    moments = random.Random(3)
    parts = [start(tmp_path, "--part", f"{number}/3") for number in (1, 2, 3)]
    for _ in range(10):
        before = finished_tiles(tmp_path)
        while finished_tiles(tmp_path) <= before and any(part.poll() is None for part in parts):
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.2))
        victim = moments.choice([number for number, part in enumerate(parts) if part.poll() is None])
        parts[victim].kill()
        parts[victim].communicate()
        parts[victim] = start(tmp_path, "--part", f"{victim + 1}/3")
    assert finished_tiles(tmp_path) < 600  # there was something to interrupt
    for part in parts:
        _, said = part.communicate(timeout=300)
        assert part.returncode == 0, said
    process = start(tmp_path)  # all is there: it draws and writes the report
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert "trials" not in said
    assert snapshot(tmp_path / "out") == uninterrupted[0]
