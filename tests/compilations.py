"""Counts the programs that this process compiles or loads: how trials begin, their steps, whole tiles, instances."""

from jax import monitoring

PROGRAMS = {"jit(_begin)", "jit(_rest)", "jit(_run_tile)", "jit(_drawn)"}
COMPILED = []


def count():
    """How many programs so far."""
    return len(COMPILED)


def _heard(event, seconds, fun_name="", **more):
    if event.endswith("backend_compile_duration") and fun_name in PROGRAMS:
        COMPILED.append(fun_name)


monitoring.register_event_duration_secs_listener(_heard)
