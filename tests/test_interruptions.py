"""Killed, interrupted, at once or on a full disk: a run loses nothing finished and ends with the same files."""

import random
import signal
import subprocess
import sys
import time

import pytest

LONG = """
policies = ["UCB", "W-UCB"]
trials = 38400
steps = 3000
points = 20
problem.actions = 3
problem.dim = 2
"""
COMMAND = [sys.executable, "-c", "from jaxids.cli import script; script()", "run"]


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(folder, *more, before=()):
    (folder / "long.toml").write_text(LONG)
    arguments = [*before, *COMMAND, folder / "long.toml", "--out", folder / "out", *more]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_tiles(folder, process, more=0):
    before = finished_tiles(folder)
    while finished_tiles(folder) <= before + more and process.poll() is None:
        time.sleep(0.01)


def finished_tiles(folder):
    return len(list((folder / "out").rglob("*.sha256")))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A longer experiment of 300 tiles, run at one go in a process of its own."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    process = start(folder)
    began = time.monotonic()
    wait_for_tiles(folder, process)
    starting = time.monotonic() - began
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return snapshot(folder / "out"), starting


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
        unfinished += process.returncode == -signal.SIGKILL and finished_tiles(tmp_path) < 300
    assert unfinished >= 25  # the kills did interrupt something
    process = start(tmp_path)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert snapshot(tmp_path / "out") == expected


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
    last = said.splitlines()[-1]
    assert last.startswith("jaxids: interrupted; finished tiles are kept, `jaxids run ")
    assert "long.toml" in last
    assert "--trials 1000000" in last
    assert not list((tmp_path / "out").rglob("*.part"))


def test_a_full_disk_ends_with_one_line_and_nothing_half_written(tmp_path):
    """A limit on the size of a file stands in for the disk: the tiles do not fit, the small files before them do."""
    process = start(tmp_path, before=["bash", "-c", 'ulimit -f 8; exec "$@"', "limited"])
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    last = said.splitlines()[-1]
    assert last.startswith(f"jaxids: {tmp_path}/out/long/tiles/UCB-")
    assert last.endswith("/00000.npz: cannot be written: File too large")
    assert "Traceback" not in said
    kept = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert kept == {"experiment.json", "experiment.json.sha256", "cell.json"}
