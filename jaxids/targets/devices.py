"""Targets: what is known of an accelerator, and which plugin compiles for it."""

import importlib.util
import re
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jaxids.targets import NAMES

__all__ = ["Target", "check", "named", "topology"]

PLUGINS = {"gpu": ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13"), "tpu": ("libtpu",)}
DISTRIBUTIONS = {"gpu": "jax-cuda12-plugin", "tpu": "libtpu"}


class Target(NamedTuple):
    """An accelerator; rates are those its maker names."""

    name: str
    platform: str  # JAX's name of the kind
    title: str
    clock: float  # 1/s
    cores: int
    bandwidth: float  # of memory, bytes/s
    issued: int  # lanes of instructions that a core begins in a cycle
    description: str  # for the compiler
    architecture: str = ""  # for ptxas


@cache
def named(name: str) -> Target:
    """A target by its name."""
    if name not in NAMES:
        raise ValueError(f"target: got {name!r}; it takes one of {', '.join(NAMES)}")
    if name == "v5e":  # one tensor core; a bundle of instructions in a cycle, for vectors of 8 x 128 lanes
        return Target(name, "tpu", "TPU v5e", 1.5e9, 1, 819e9, 1024, "v5e:2x2")
    text = resources.files("jaxids.targets").joinpath(f"{name}.txtpb").read_text(encoding="utf-8")
    found = dict(re.findall(r"(\w+): \"?([^\"\n]+)", text))
    capability = re.search(r"cuda_compute_capability \{ major: (\d+)", text)
    major = int(capability[1]) if capability else 0
    rates = ("clock_rate_ghz", "core_count", "memory_bandwidth", "fpus_per_core")
    clock, cores, bandwidth, issued = (float(found[key]) for key in rates)
    title, architecture = found["device_description_str"], f"sm_{major}0" + "a" * (major == 9)
    return Target(name, "gpu", title, clock * 1e9, int(cores), bandwidth, int(issued), text, architecture)


def check(name: str) -> Target:
    """A target that can be compiled for here, or a ValueError that says what to install."""
    target = named(name)
    if not any(_installed(plugin) for plugin in PLUGINS[target.platform]):
        raise ValueError(
            f"target: got {name!r}, for which {DISTRIBUTIONS[target.platform]} is not installed; it takes what "
            "`pip install 'jaxids[targets]'` brings, best into an environment of its own"
        )
    return target


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of its parent
        return False


def topology(target: Target) -> Any:
    """A device of the target, to compile for."""
    from jax.experimental import topologies

    if target.platform == "tpu":
        return topologies.get_topology_desc(platform="tpu", topology_name=target.description).devices[0]
    given = {"topology": "1x1x1", "target_config": target.description}
    return topologies.get_topology_desc(platform="cuda", **given).devices[0]
