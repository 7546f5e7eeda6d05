"""What XLA is told when it compiles a tile, as far as the one at hand takes it.

On a CPU, XLA drops the barriers of `lanes.shared` before it fuses, and splits small loops over threads that are busy
with other tiles. Each costs up to a factor of two, so those two passes are left out. A third goes on moving
reshapes back and forth, so that all the others run three times as often. Since jaxlib 0.12 barriers last
long enough by themselves, and a loop that has them to the end is refused. So the order of trying follows the version,
and what compiles is found by compiling.
"""

from functools import cache
from typing import Any

import jax
import jaxlib.version
from jax import lax

BARRIERS, THREADS = "cse_barrier_expander", "cpu-parallel-task-assigner"  # passes by XLA's names
IDLE = "reshape-mover"
SHAPE = (32, 256)  # of a small tile: other rules hold for still smaller loops


@cache
def options(platform: str) -> dict[str, Any] | None:
    """Compiler options for a platform: the first that compile a loop with a barrier, or none."""
    if platform != "cpu":
        return None
    threads, recent = f"{THREADS},{IDLE}", jaxlib.version.__version_info__ >= (0, 12)
    left_out = (threads, f"{BARRIERS},{threads}") if recent else (f"{BARRIERS},{threads}", threads)
    return next((each for passes in left_out if _compiles(each := {"xla_disable_hlo_passes": passes})), None)


def _compiles(given: dict[str, Any]) -> bool:
    """Whether a small loop compiles; its barrier has one operand, because jaxlib 0.12 ends the process at two."""

    def loop(x: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 5, lambda _, y: lax.optimization_barrier(y + 1) * 2, x)

    sharding = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    shape = jax.ShapeDtypeStruct(SHAPE, "float32", sharding=sharding)
    try:
        jax.jit(loop, compiler_options=given).lower(shape).compile()
    except RuntimeError:  # JAX's own, whatever XLA says
        return False
    return True
