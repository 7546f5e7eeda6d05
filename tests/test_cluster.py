"""Runs on a cluster: whoever computes, dies, joins or leaves, the store is that of one machine."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from processes import started

from jaxids import cli
from jaxids.experiment import cells, dask_runner, dask_workers

SMALL = """
policies = ["UCB", "W-TS"]
trials = 1500
steps = 60
points = 20
record = ["information", "ratio"]
pulls = true
problem.actions = 5
problem.dim = 2
"""
LONG = """
policies = ["UCB"]
trials = 192000
steps = 3000
points = 20
problem.actions = 3
problem.dim = 2
"""
pytestmark = pytest.mark.usefixtures("no_process_left")
COMMAND = [sys.executable, "-m", "jaxids", "run"]
QUICK = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(folder, text, *more, **options):
    folder.mkdir(exist_ok=True)
    (folder / "some.toml").write_text(text)
    command = [*COMMAND, folder / "some.toml", "--out", folder / "out", *more]
    return started(command, **options)


def ended(process, timeout=180):
    """The code of a run that ends by itself, and what it said."""
    _, said = process.communicate(timeout=timeout)
    return process.returncode, said


def ran(capsys, folder, text, *more):
    """The code of a run in this process, and what it said: no process that imports JAX first."""
    (folder / "some.toml").write_text(text)
    code = cli.main(["run", str(folder / "some.toml"), "--out", str(folder / "out"), *more])
    return code, capsys.readouterr().err


def finished(folder):
    found = (cells.finished(cell, 10**9) for cell in (folder / "out").glob("*/tiles/*"))
    return sum(map(len, found))


def wait_for(condition, process=None, timeout=180):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout
        if process is not None and process.poll() is not None:
            raise AssertionError(process.communicate()[1])
        time.sleep(0.02)


def local_workers(process):
    """The processes that compute for a run with `local:N`: those that its nannies spawn."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # of one that is just gone
                if any("spawn_main" in part for part in child.cmdline()):
                    found.append(child)
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Stores of the two experiments, computed in one process."""
    found = {}
    for name, text in {"small": SMALL, "long": LONG}.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "some.toml").write_text(text)
        assert cli.main(["run", str(folder / "some.toml"), "--out", str(folder / "out")]) == 0
        found[name] = snapshot(folder / "out")
    return found


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler of its own, and what starts workers for it; all end with the test."""
    started, file = [], tmp_path / "scheduler.json"
    loopback = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]

    def run(module, *more, **environment):
        command = [sys.executable, "-m", f"distributed.cli.dask_{module}", *more, *loopback]
        with (tmp_path / f"{module}{len(started)}.log").open("w") as log:
            variables = os.environ | QUICK | environment
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=variables, cwd=tmp_path))
        return started[-1]

    class Scheduler:
        process = run("scheduler", "--port", "0", "--scheduler-file", str(file))
        wait_for(file.exists, process)
        address = json.loads(file.read_text())["address"]

        def worker(self, *more, **environment):
            more = more or ("--no-nanny", "--nthreads", "1")
            return run("worker", self.address, "--memory-limit", "0", *more, **environment)

        def asked(self, code):
            """What a client finds that has nothing to do with a run."""
            text = f"import json, sys; from distributed import Client; c = Client('{self.address}'); {code}"
            return json.loads(subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout)

    yield Scheduler()
    for process in started:
        process.kill()
        process.wait()


def test_local_workers_make_the_store_of_a_plain_run(plain, tmp_path, capsys):
    code, said = ran(capsys, tmp_path, SMALL, "--cluster", "local:2")
    assert code == 0, said
    assert snapshot(tmp_path / "out") == plain["small"]
    assert all(": 1500/1500 trials, " in line or line.startswith("drawing") for line in said.splitlines()), said


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_of_workers_lose_nothing(plain, tmp_path, kills):
    """Each some moments after tiles came in; others are started for those that are killed."""
    process = start(tmp_path, LONG, "--cluster", "local:2")
    moments, killed = random.Random(10), set()
    for _ in range(kills):
        before = finished(tmp_path)
        wait_for(lambda before=before: finished(tmp_path) > before, process)
        time.sleep(moments.uniform(0, 0.5))
        wait_for(lambda: local_workers(process), process)
        victim = moments.choice(local_workers(process))
        victim.kill()
        killed.add(victim.pid)
    assert finished(tmp_path) < 750  # the last one interrupted something, too
    code, said = ended(process)
    assert code == 0, said
    assert len(killed) == kills
    assert snapshot(tmp_path / "out") == plain["long"]
    assert len(said.splitlines()) < 30, said  # no tracebacks of Dask


@pytest.mark.parametrize(
    ("kills", "pause"),
    [(1, 0.5), pytest.param(5, 0.5, marks=pytest.mark.slow), pytest.param(5, 1e9, marks=pytest.mark.slow)],
)
def test_another_worker_is_started_for_one_that_is_killed_while_it_starts(monkeypatch, kills, pause):
    """Five in a row. If none were, there would be none for long: the control."""
    monkeypatch.setattr(dask_workers, "RESTART", pause)
    killed, over = set(), threading.Event()

    def kill():
        while len(killed) < kills and not over.wait(0.02):
            for worker in local_workers(psutil.Process()):
                if worker.pid not in killed:
                    worker.kill()
                    killed.add(worker.pid)

    killing = threading.Thread(target=kill)
    killing.start()  # before the cluster: there is no worker yet
    try:
        with dask_workers.connect("local:1", print) as client:
            until = time.monotonic() + (120 if pause < 1 else 8)
            while time.monotonic() < until and not client.nthreads():
                time.sleep(0.05)
            assert bool(client.nthreads()) == (pause < 1)
            assert len(killed) == (kills if pause < 1 else 1)
    finally:
        over.set()
        killing.join()


@pytest.mark.parametrize("deaths", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_task_that_kills_its_workers_ends_the_run_with_a_line(tmp_path, capsys, monkeypatch, deaths):
    """A policy of one's own, found from the current directory, ends every process but that of the run."""
    monkeypatch.setattr(dask_runner, "DEATHS", deaths)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "deadly.py").write_text(DEADLY)
    (tmp_path / "some.toml").write_text(SMALL.replace('"UCB", "W-TS"', '"deadly:mine"'))
    assert cli.main(["run", "some.toml", "--cluster", "local:1"]) == 2
    said = capsys.readouterr().err
    line = (
        rf"jaxids: some mine: tiles from \d+ on: {deaths + 1} workers died of them, the last \S+; is there .* memory\?"
    )
    assert re.fullmatch(line, said.splitlines()[-1]), said
    assert len(said.splitlines()) <= 2 * (deaths + 1)  # and of every one that there is none, and that there is another


DEADLY = """
import multiprocessing, os
from jaxids import policies
def mine():
    if multiprocessing.parent_process():
        os._exit(1)
    return policies.ucb()
"""


@pytest.mark.slow
def test_workers_join_and_leave_and_keep_no_results(plain, tmp_path, scheduler, capsys):
    """One is there, two join, one of them of another precision, and the first goes: the second has to end it alone."""
    held, over = [], threading.Event()
    first = scheduler.worker()
    process = start(tmp_path, LONG, "--cluster", scheduler.address)
    wait_for(lambda: finished(tmp_path) > 20, process)
    watching = threading.Thread(target=_watch, args=(scheduler, held, over))
    watching.start()
    second = scheduler.worker("--nthreads", "2", "--no-nanny")
    other = scheduler.worker(JAX_ENABLE_X64="1")
    wait_for(lambda: scheduler.asked(WORKED.format(second.pid)), process)
    first.terminate()
    code, said = ended(process)
    over.set()
    watching.join()
    assert code == 0, said
    assert first.wait() is not None
    assert second.poll() is None
    assert snapshot(tmp_path / "out") == plain["long"]
    assert len(held) >= 2
    assert max(held) <= 6  # tasks of three threads, two each
    wait_for(lambda: scheduler.asked(HELD) == 0)
    line = "is refused: precision: got 'float64', it takes 'float32'"
    refused = [each for each in said.splitlines() if line in each]
    assert [each.startswith("worker tcp://127.0.0.1:") for each in refused] == [True]
    assert not scheduler.asked(WORKED.format(other.pid))
    assert scheduler.asked(WORKED.format(second.pid))
    second.kill()
    wait_for(lambda: scheduler.asked("print(len(c.nthreads()))") == 1)
    code, said = ran(capsys, tmp_path, LONG, "--cluster", scheduler.address)
    assert code == 2
    assert line in said
    assert said.splitlines()[-1] == "jaxids: --cluster: all 1 workers are refused; another --out begins a new store"
    assert snapshot(tmp_path / "out") == plain["long"]


WORKED = """
found = c.run(lambda: (__import__('os').getpid(), 'jaxids.experiment.dask_runner' in sys.modules))
print(json.dumps(any(there for pid, there in found.values() if pid == {})))
"""
HELD = "print(json.dumps(sum(len(keys) for keys in c.has_what().values())))"


def _watch(scheduler, held, over):
    while not over.wait(0.5):
        held.append(scheduler.asked(HELD))


def test_a_worker_without_this_jaxids_is_refused(tmp_path, scheduler, capsys):
    (tmp_path / "old" / "jaxids").mkdir(parents=True)
    (tmp_path / "old" / "jaxids" / "__init__.py").write_text("__version__ = '0.1'\n")
    scheduler.worker(PYTHONPATH=str(tmp_path / "old"))
    code, said = ran(capsys, tmp_path, SMALL, "--cluster", scheduler.address)
    assert code == 2
    assert "is refused: its jaxids is another or none, or lacks a package (" in said
    assert "No module named 'jaxids." in said
    assert said.splitlines()[-1] == "jaxids: --cluster: all 1 workers are refused"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scheduler_that_is_gone_ends_the_run_with_a_line(tmp_path, scheduler):
    scheduler.worker()
    process = start(tmp_path, LONG, "--cluster", scheduler.address)
    wait_for(lambda: finished(tmp_path) > 0, process)
    scheduler.process.kill()
    code, said = ended(process)
    assert code == 2
    assert said.splitlines()[-1].startswith("jaxids: --cluster: the scheduler is gone")
    assert "Traceback" not in said


def test_what_is_wrong_with_a_tile_ends_the_run_as_it_would_here(tmp_path, capsys):
    text = 'policies = ["UCB"]\ntrials = 10\nsteps = 20\nproblem.actions = 3\nproblem.theta = [3e38, 3e38]\n'
    here, there = (ran(capsys, tmp_path, text, *more) for more in ((), ("--cluster", "local:1")))
    assert here[0] == 2
    assert there[0] == 2
    assert there[1].splitlines()[-1] == here[1].splitlines()[-1]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_run(tmp_path, sent):
    """An interrupt is sent to the whole group, as a terminal does."""
    process = start(tmp_path, LONG, "--cluster", "local:2", start_new_session=True)
    wait_for(lambda: finished(tmp_path) > 0, process)
    workers = local_workers(process)
    assert len(workers) == 2
    processes = [psutil.Process(process.pid), *workers]  # with the scheduler and the nannies
    listening = [each for one in processes for each in one.net_connections() if each.status == psutil.CONN_LISTEN]
    assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)
    else:
        process.kill()
    _, said = process.communicate(timeout=20)
    gone, alive = psutil.wait_procs(workers, timeout=10)
    assert (len(gone), alive) == (2, [])
    if sent == signal.SIGINT:
        assert process.returncode == 130
        assert said.startswith("jaxids: interrupted; finished tiles are kept, `jaxids run ")
        assert said.count("\n") == 1
    assert finished(tmp_path) > 0


@pytest.mark.parametrize("text", ["local", "local:0", "local:x", "host", "host:port", "tcp://host", "a b:1", ""])
def test_a_cluster_that_there_is_not_is_refused(text, capsys):
    assert cli.main(["run", "some.toml", f"--cluster={text}"]) == 2
    said = f"jaxids run: --cluster: got '{text}'; it takes {dask_workers.TAKES}\n"
    assert capsys.readouterr().err == said


def test_an_address_where_nobody_answers_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dask_workers, "CONNECT", 0.5)
    (tmp_path / "some.toml").write_text(SMALL)
    assert cli.main(["run", str(tmp_path / "some.toml"), "--cluster", "127.0.0.1:1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("jaxids: --cluster: got '127.0.0.1:1', which does not answer")
    assert said.count("\n") == 1


def test_other_versions_of_dask_cost_a_line(monkeypatch):
    """Which Dask finds, and says in a table of many lines."""
    from distributed import versions

    said, found = [], {"warning": "Mismatched versions\n\n+---+", "error": ""}
    monkeypatch.setattr(versions, "error_message", lambda *_, **__: found)
    with dask_workers.connect("local:1", said.append):
        assert said == ["Mismatched versions +---+"]


def test_parts_of_a_cluster_are_refused(tmp_path, capsys):
    (tmp_path / "some.toml").write_text(SMALL)
    assert cli.main(["run", str(tmp_path / "some.toml"), "--cluster", "local:2", "--part", "1/2"]) == 2
    said = "jaxids: --part: got one together with --cluster local:2; it takes one of the two\n"
    assert capsys.readouterr().err == said


def test_who_has_no_dask_is_told_how_to_get_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    (tmp_path / "some.toml").write_text(SMALL)
    assert cli.main(["run", str(tmp_path / "some.toml"), "--cluster", "local:2"]) == 2
    assert (
        capsys.readouterr().err == "jaxids: distributed is not installed; `pip install 'jaxids[cluster]'` brings it\n"
    )
