"""Every policy compiles for an H100 and a TPU v5e, without either, into what a device can run without the host.

The compilers are JAX's own, in processes of their own, two at a time. Bounds on launches have a tenth to spare: more is
a step that has come apart. At full size they are those that were measured, and a tile has the size that is simulated.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from jaxids import loops, policies
from jaxids.targets import apart, devices, machine_code
from jaxids.targets.program import Request

LAUNCHES = {  # for a step at small size, on an H100 and, of fusions, on a TPU v5e
    "UCB": (11, 28),
    "W-UCB": (11, 29),
    "TS": (11, 29),
    "W-TS": (11, 29),
    "FW-TS": (12, 32),
    "IDS-F": (19, 69),
    "DIDS-F": (12, 32),
    "IDS-UCB": (21, 77),
    "DIDS-UCB": (14, 40),
    "IDS-TS": (22, 86),
    "DIDS-TS": (16, 49),
    "IDS-E": (85, 361),
    "DIDS-E": (77, 325),
}
FUSED = ("W-UCB", "W-TS", "DIDS-UCB", "IDS-UCB")  # in kernels of many steps, at full size
LANES, TEMPORARIES = 1024, 4096  # of a small tile, and bytes of a lane


def is_installed(name):
    try:
        return bool(devices.check(name))
    except ValueError:
        return False


pytestmark = pytest.mark.skipif(
    not all(is_installed(name) for name in ("h100", "v5e")),
    reason="compilers for accelerators are in an environment of their own: pip install 'jaxids[targets,test]'",
)


def asked(target, problem, way, names):
    full = problem == "full"
    actions, *size = (30, 3, way, loops.ACCELERATOR_LANES, 5000, 100) if full else (6, 2, way, LANES, 40, 10)
    belief, code = "kernel" if problem == "kernel" else "linear", not full or target == "h100"
    return Request(target, list(names), actions, *size, belief=belief, code=code)


REQUESTS = {
    ("h100", "full", "loop"): ("IDS-UCB", "W-UCB"),
    ("h100", "full", "kernel"): FUSED,
    ("v5e", "linear", "loop"): LAUNCHES,
    ("v5e", "kernel", "loop"): LAUNCHES,
    ("h100", "linear", "loop"): LAUNCHES,
    ("h100", "kernel", "loop"): LAUNCHES,
    ("v5e", "full", "kernel"): FUSED,
    ("v5e", "linear", "kernel"): ("W-UCB",),
    ("a100", "linear", "loop"): ("W-UCB",),
    ("a100", "linear", "kernel"): ("W-UCB",),
}


@pytest.fixture(scope="module")
def programs():
    def compiled(key):
        return {program.policy: program for program in apart.compiled(asked(*key, REQUESTS[key]))}

    with ThreadPoolExecutor(2) as pool:
        futures = {key: pool.submit(compiled, key) for key in REQUESTS}
        yield lambda *key: futures[key].result()
        for future in futures.values():
            future.cancel()


@pytest.mark.parametrize("belief", ["linear", "kernel"])
@pytest.mark.parametrize("target", ["h100", "v5e"])
def test_every_policy_runs_without_the_host(programs, target, belief):
    found = programs(target, belief, "loop")
    assert list(found) == list(policies.PAPER)
    for name, program in found.items():
        assert program.stops == 0, name
        assert program.turn == 1
        assert program.temporaries <= LANES * TEMPORARIES, name
        most = LAUNCHES[name][target == "v5e"]
        assert 1 <= program.launches <= 1.1 * most, name
        assert (program.cycles is not None) == (target == "v5e"), name


@pytest.mark.parametrize(("name", "most", "moved"), [("W-UCB", 8, 2100), ("IDS-UCB", 20, 7000)])
def test_launches_for_a_step_at_full_size(programs, name, most, moved):
    program = programs("h100", "full", "loop")[name]
    assert program.stops == 0
    assert program.launches <= most
    assert program.turn == loops.TURN
    assert program.moved <= moved
    assert program.temporaries <= loops.ACCELERATOR_LANES * TEMPORARIES


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("target", ["h100", "v5e"])
def test_a_hundred_steps_are_one_launch(programs, target, name):
    program = programs(target, "full", "kernel")[name]
    assert program.kernels == 1
    assert program.turn >= 100
    assert program.launches * program.turn <= (6 if target == "h100" else 60)  # the kernel, and what is recorded
    assert program.stops == 0
    assert program.temporaries <= loops.ACCELERATOR_LANES * TEMPORARIES


@pytest.mark.parametrize(
    ("name", "most", "spilled"),
    [("W-UCB", 1800, 300), ("W-TS", 1500, 300), ("DIDS-UCB", 5000, 2000), ("IDS-UCB", 5500, 2000)],
)
def test_kernels_on_an_h100_are_as_short_as_they_were_and_spill_little(programs, name, most, spilled):
    program = programs("h100", "full", "kernel")[name]
    assert 1000 < program.instructions < most
    if machine_code.ptxas():
        assert program.registers <= 255
        assert program.spilled < spilled


def test_the_bundles_of_a_tpu_are_counted(programs):
    program = programs("v5e", "linear", "kernel")["W-UCB"]
    assert 100 < program.instructions < 1000
    assert program.registers is None


def test_an_a100_runs_without_the_host_as_well(programs):
    program = programs("a100", "linear", "loop")["W-UCB"]
    assert program.stops == 0
    assert program.launches <= 1.1 * LAUNCHES["W-UCB"][0]
    assert programs("a100", "linear", "kernel")["W-UCB"].kernels == 1


def test_the_command_line_tells_of_a_target(programs, tmp_path):
    programs("a100", "linear", "kernel")  # the last to compile
    sizes = ["--actions", "6", "--dim", "2", "--trials", "8", "--steps", "5", "--repeats", "1"]
    command = ["bench", "--target", "h100", "--policies", "W-UCB", *sizes, "--json", str(tmp_path / "told.json")]
    run = subprocess.run([sys.executable, "-m", "jaxids", *command], capture_output=True, text=True, check=True)
    _, columns, row, *below = run.stdout.splitlines()
    assert run.stderr == ""
    assert len(columns) == len(row)
    assert columns.count("est.") == 2
    assert "Nothing was executed on this target, NVIDIA H100" in below[0]
    told = json.loads((tmp_path / "told.json").read_text())
    (numbers,) = told["rows"]
    assert told["setup"]["executed"] is False
    assert numbers["loop"]["stops"] == 0
    assert numbers["kernel"]["kernels"] == 1
    assert 0 < numbers["kernel_estimate"] < numbers["loop_estimate"] < numbers["cpu"]
