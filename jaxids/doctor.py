"""Check this machine: versions, settings, devices, and whether its accelerator agrees with the CPU on the same trials.

Two programs round differently. A choice between near-equal actions then falls the other way in a few trials, which go
on as other trials of the same distribution. So two runs of the same trials agree where

- regrets after `FIRST` steps differ by at most `EARLY` of their mean, in all but `SHARE` of the trials;
- final mean regrets differ by at most `ERRORS` standard errors of the paired difference, and `ROUNDING` of the mean.

In order, the second fails with probability 6e-7 (normal tails) for a policy; as to the first, none of 16,384 trials of
any policy here differed between the two loops on a CPU. Without an accelerator it is these loops that are compared.
"""

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import checks, faults, loops, policies, problems, statistics, tiles, ways
from jaxids.workers import cores, placed

POLICIES = ("W-UCB", "W-TS", "IDS-UCB", "IDS-E")
FEW = ("W-UCB", "W-TS")  # without one: the solver of IDS in that form takes XLA 50 s on a CPU
TRIALS, FIRST = 1024, 10  # trials that are compared, and steps after which they are compared first
STEPS = {True: loops.LONG, False: 200}  # by whether there is an accelerator: its loop of many steps is unrolled
EARLY, SHARE, ERRORS, ROUNDING = 1e-3, 0.005, 5, 1e-4
PACKAGES = re.compile(r"(jax|jaxids|jaxlib|numpy|scipy|libtpu|jax[-_](cuda|rocm|metal).*)$", re.IGNORECASE)
SETTINGS = re.compile(r"(JAX|XLA|JAXIDS|TPU|LIBTPU)_|(CUDA|HIP|ROCR)_VISIBLE_DEVICES$")


def run() -> bool:
    """Print what this machine has and what agrees, with progress on standard error; return whether all is right."""
    for name, value in facts().items():
        print(f"{name}: {value}", flush=True)
    try:
        checks.devices()
        devices, cpu = jax.local_devices(), jax.local_devices(backend="cpu")[0]
    except (ValueError, RuntimeError) as error:  # the latter where JAX_PLATFORMS has no CPU to compare with
        print(f"NOT RIGHT: {_line(error)}")
        return False
    for each in devices:
        print(f"device {each}: {each.device_kind}, {' '.join(each.client.platform_version.split())}")
    reasons = _compare(devices[0], cpu)
    print("Something is not right." if any(reasons) else "All that was compared agrees.")
    return not any(reasons)


def _compare(device: Any, cpu: Any) -> list[str]:
    """Compare policies on two devices, or two loops on the CPU; print and return why each disagrees, if it does."""
    found, reasons = device.platform != "cpu", list[str]()
    plan, steps = (device.platform, STEPS[True]) if found else ("gpu", STEPS[False])
    told = f"{device} beside {cpu}" if found else "no accelerator: its loop beside the CPU's, on the CPU"
    print(f"{told}; {TRIALS} trials of {steps} steps, K = 30, d = 3", flush=True)
    for name in POLICIES if found else FEW:
        try:
            reason = disagreement(regrets(name, cpu, "cpu", steps), regrets(name, device, plan, steps))
        except Exception as error:  # compilers and drivers raise what they like
            reason = f"failed: {_line(error)}"
        reasons.append(reason)
        print(f"{name}: {f'NOT RIGHT: {reason}' if reason else 'agrees'}", flush=True)
    return reasons


def facts() -> dict[str, str]:
    """Versions of Python and of the packages that matter, the system, and the settings of JAX and jaxids."""
    installed = {str(each.name): each.version for each in metadata.distributions()}
    home = f"{Path.home()}/"
    settings = {name: value.replace(home, "~/") for name, value in os.environ.items() if SETTINGS.match(name)}
    return {
        "python": platform.python_version(),
        **{name: installed[name] for name in sorted(installed) if PACKAGES.match(name)},
        "system": platform.platform(),
        "cores": f"{cores()} of {os.cpu_count()}",
        "precision": str(jnp.result_type(float)),
        **dict(sorted(settings.items())),
    }


def regrets(name: str, device: Any, plan: str, steps: int) -> np.ndarray:
    """Run trials of a policy, each on a fresh instance.

    Args:
        name: The policy's name in the paper.
        device: The JAX device that runs it.
        plan: The platform whose loop it runs.
        steps: Steps of a trial.

    Returns:
        Regrets after `FIRST` steps and at the end, shape [2, TRIALS].
    """
    print(f"{name}: compiling and running the loop of a {plan} on {device}", file=sys.stderr, flush=True)
    problem = problems.unit_ball(30, 3)
    arguments = placed((problem, policies.PAPER[name], jax.random.key(0)), device)
    width = TRIALS if device.platform == "cpu" else loops.ACCELERATOR_LANES  # as runs there have it
    static = {"width": width, "series": (), "record": None, "total": None, "way": ways.chosen(problem, plan, steps)}
    at = np.array([FIRST, steps], np.int32)
    series, _, _, fault = jax.device_get(tiles.compiled(device.platform)(*arguments, np.uint32(0), at, **static))
    faults.check(fault, 0)
    return series["regret"][:, :TRIALS]


def disagreement(reference: np.ndarray, other: np.ndarray) -> str:
    """Explain why two runs of the same trials disagree; empty where they agree.

    Args:
        reference: Regrets after the first steps and at the end, shape [2, trials].
        other: Those of the other run.
    """
    if not np.all(np.isfinite(reference) & np.isfinite(other)):
        return "some regrets are not finite"
    trials = reference.shape[1]
    differ = np.count_nonzero(np.abs(other[0] - reference[0]) > EARLY * np.mean(reference[0]))
    if differ > SHARE * trials:
        return f"{differ} of {trials} trials differ after the first steps"
    found, mean = statistics.difference(other[1], reference[1]), np.mean(reference[1])
    if abs(found.mean) > ERRORS * found.stderr + ROUNDING * mean:
        return f"mean regret differs by {found.mean:+.4g} ± {found.stderr:.2g} (standard error) from {mean:.4g}"
    return ""


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
