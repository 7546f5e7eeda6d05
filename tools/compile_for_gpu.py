#!/usr/bin/env python3
"""Compile policies for an NVIDIA H100 without one, and count kernel launches and host synchronizations per step.

    pip install jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2    # beside jax 0.10.2; no driver is needed
    python tools/compile_for_gpu.py [POLICY ...]

It compiles the tile that a run on a GPU takes (K = 30, d = 3, 16,384 trials, a loop of 5000 steps), by default with
W-UCB and IDS-UCB, which takes some minutes, and executes nothing. `h100.txtpb` describes the device.

A launch is a kernel or a copy in the list of thunks that XLA makes of the loop over steps. The host is synchronized in
each iteration of a loop whose length the compiler does not know, and at each conditional.
"""

import os
import re
import sys
import tempfile
import time
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"  # of this process; the target is described, not found
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies

from jaxids import loops, policies, problems, tiles, ways

POLICIES = ("W-UCB", "IDS-UCB")
STEPS, EVERY = 5000, 100  # of a trial, and between two recorded points
PACKAGES = ("jaxids", "jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt")
CONTAINERS = ("kCommandBuffer", "kSequential")  # thunks that hold others and launch nothing themselves


class Counts(NamedTuple):
    """What a step costs on the target.

    Attributes:
        launches: Kernels and copies per step.
        host_syncs: Host synchronizations per step.
    """

    launches: float
    host_syncs: float


def count_launches(thunks: str) -> int:
    """Count the launches in one iteration of the only loop of a program.

    Args:
        thunks: The list that XLA writes to `*thunk_sequence_after_thunk_passes.txt`. A line is a number, a kind and a
            name, the body of a loop follows a line "body:" and is indented.

    Returns:
        The number of thunks in the body that hold no others.

    Raises:
        ValueError: If there is no loop, or more than one.
    """
    kinds = re.findall(r"^ *\d+: (k\w+)", thunks, re.MULTILINE)
    if kinds.count("kWhile") != 1:
        raise ValueError(f"thunks: expected one loop, got {kinds.count('kWhile')}")
    heading = re.search(r"^( *)body:\n", thunks, re.MULTILINE)
    if heading is None:
        raise ValueError("thunks: expected a loop with a body, got none")
    body = re.match(rf"(?:{heading[1]} +\S.*\n?)*", thunks[heading.end() :])
    inside = re.findall(r"^ *\d+: (k\w+)", body[0] if body else "", re.MULTILINE)
    return sum(kind not in CONTAINERS for kind in inside)


def count_host_syncs(module: str) -> int:
    """Count the loops of unknown length and the conditionals of an optimized HLO module, given as text."""
    lines = re.findall(r"^.* (?:while|conditional)\(.*$", module, re.MULTILINE)
    return sum("known_trip_count" not in line for line in lines)


def compile_tile(policy: policies.Policy, device: Any) -> Counts:
    """Compile a policy's tile for a device that is not there, and count what a step launches."""
    problem = problems.unit_ball(30, 3)
    way = ways.chosen(problem, "gpu", STEPS)
    sharding = jax.sharding.SingleDeviceSharding(device)

    def shape(leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf), sharding=sharding)

    at = np.arange(EVERY, STEPS + 1, EVERY, dtype=np.int32)
    arguments = jax.tree.map(shape, (problem, policy, jax.random.key(0), np.uint32(0), at))
    jitted: Any = tiles.compiled("gpu")
    static = {"width": loops.ACCELERATOR_LANES, "series": (), "record": None, "total": None, "way": way}
    lowered = jitted.trace(*arguments, **static).lower(lowering_platforms=("cuda",))
    with tempfile.TemporaryDirectory() as folder:
        module = lowered.compile(compiler_options={"xla_dump_to": folder}).as_text()
        (thunks,) = Path(folder).glob("*thunk_sequence_after_thunk_passes.txt")
        launches = count_launches(thunks.read_text())
    return Counts(launches / way.turn, count_host_syncs(module) / way.turn)


def main() -> None:
    """Compile the policies that are named and print a line for each."""
    jax.config.update("jax_enable_compilation_cache", False)  # XLA writes no list of a cached program
    target = Path(__file__).with_name("h100.txtpb").read_text()
    topology = topologies.get_topology_desc(platform="cuda", topology="1x1x1", target_config=target)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    print(f"{date.today()}, NVIDIA H100, K = 30, d = 3, {loops.ACCELERATOR_LANES} trials; {versions}", flush=True)
    for name in sys.argv[1:] or POLICIES:
        start = time.perf_counter()
        counts = compile_tile(policies.PAPER[name], topology.devices[0])
        seconds = time.perf_counter() - start
        print(
            f"{name}: {counts.launches:g} launches and {counts.host_syncs:g} host synchronizations per step, "
            f"compiled in {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
