"""A cell's setting, made of names and numbers, as the problem and the policy it stands for."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxids
from jaxids import policies, problems, simulator
from jaxids.experiment import kernel_problems, policy_names
from jaxids.experiment.keys import Table
from jaxids.problems import Fixed, Instance, Problem
from jaxids.tiles import tile_width

KEPT = 8  # problems: one of 4096 points takes 64 MB
NOISE = {"gaussian": problems.gaussian, "rademacher": problems.rademacher, "uniform": problems.uniform}


def problem_of(table: Table) -> Problem:
    """The problem of a setting; impossible values are ValueErrors that name the key.

    The latest few are kept: curves of an experiment share problems, and some take long to build and much memory.
    """
    return _built(json.dumps(table, sort_keys=True), jnp.result_type(float).name)


@lru_cache(KEPT)
def _built(text: str, precision: str) -> Problem:
    table = json.loads(text)
    base: Any = _base(table, NOISE[table["noise"]])
    if "sigma" in table:
        if not isinstance(table["rho"], float):
            raise ValueError(f"sigma: got {table['sigma']} beside rho = {table['rho']}; with it, rho takes one number")
        if table["sigma"] < table["rho"]:
            raise ValueError(f"sigma: got {table['sigma']}; it takes a number ≥ rho = {table['rho']}")
        with _called(low="rho", high="sigma"):
            base = problems.low_high(base, low=table["rho"], high=table["sigma"])
    if "probes" in table:
        with _called(rho="probes", scale="probe_scale", base="probes"):
            base = problems.probes(base, rho=table["probes"], scale=table["probe_scale"])
    return base


def _base(table: Table, noise: problems.Noise) -> Problem:
    """The problem before actions are added to it."""
    base: Any
    if "kernel" in table:
        base = kernel_problems.problem_of(table, noise)
    elif table["kind"] == "linear":
        bound = table.get("rho_bound")
        base = problems.linear(table["actions"], table["theta"], table["rho"], rho_bound=bound, noise=noise)
    else:
        size = {"num_actions": table["actions"], "dim": table["dim"]}
        with _called(num_actions="actions"):
            base = problems.unit_ball(**size, rho=table["rho"], theta=table.get("theta"), noise=noise)
    if table.get("instance", "fresh") != "fresh":
        return Fixed(_drawn(base, jax.random.key(table["instance"])), noise, base.belief)
    return base


@contextmanager
def _called(**keys: str) -> Iterator[None]:
    """Where the arguments of a function have other names than the keys of a file, errors have the keys'."""
    try:
        yield
    except ValueError as error:
        name, _, rest = str(error).partition(":")
        raise ValueError(f"{keys.get(name, name)}:{rest}") from None


@jax.jit
def _drawn(problem: Problem, key: jax.Array) -> Instance:
    """An instance, drawn by one compiled function for all seeds and noise ranges."""
    return problem.draw(key)


def policy_of(setting: Table) -> policies.Policy:
    """The policy of a setting, with the numbers of its estimator."""
    named = policy_names.built(setting["policy"])
    try:
        return policies.check(dataclasses.replace(named, **setting["estimator"]))
    except ValueError as error:
        raise ValueError(f"estimator.{error}") from None


def full_setting(setting: Table, width: int) -> Table:
    """The setting with what a tile's bits depend on besides."""
    versions = {"jaxids": jaxids.__version__, "jax": jax.__version__, "platform": jax.local_devices()[0].platform}
    return (
        setting
        | policy_names.source(setting["policy"])
        | versions
        | {"precision": jnp.result_type(float).name, "width": width}
    )


def width_of(problem: Problem) -> int:
    """How many trials a tile of this problem holds here."""
    return tile_width(problem, jax.local_devices()[0].platform)


def recorded_steps_of(setting: Table) -> np.ndarray:
    """The steps at which a cell's series are recorded."""
    return simulator.recorded_steps(setting["steps"], setting["points"])
