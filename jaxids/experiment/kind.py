"""What the bits of a tile depend on besides its cell: versions, the platform, the precision, and the processor.

All but the processor name a cell's folder. The processor is kept in it: one store can go on on another, whose rounding
differs, but not without a word.
"""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

import jaxids
from jaxids import cpu
from jaxids.experiment.keys import Table

CELL = "cell.json"  # in the folder of a cell: what its bits depend on, and the processor
GENERATOR = {
    "jax_threefry_partitionable": True,
    "jax_random_seed_offset": 0,
}  # JAX's settings that change what is drawn


def here() -> Table:
    """What this process computes with."""
    device = jax.local_devices()[0].platform
    versions: dict[str, Any] = {"jaxids": jaxids.__version__, "jax": jax.__version__, "platform": device}
    versions |= {"precision": jnp.result_type(float).name}
    return versions | {name: now for name, usual in GENERATOR.items() if (now := getattr(jax.config, name)) != usual}


@cache
def processor() -> str:
    """The make of what computes: that of an accelerator, or of the CPU with a digest of what it can do."""
    device = jax.local_devices()[0]
    return device.device_kind if device.platform != "cpu" else cpu.make()
