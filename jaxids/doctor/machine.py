"""What is on this machine: devices, versions, settings, as text that can be shown to anyone."""

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxids
from jaxids.workers import cores

__all__ = ["PLUGINS", "devices", "environment", "facts", "one_line", "plugins", "shown"]

PLUGINS = re.compile(r"jax[-_](cuda|rocm|metal)|libtpu|intel[-_]extension[-_]for[-_]openxla", re.IGNORECASE)
SETTINGS = re.compile(r"(JAX|XLA|JAXIDS|TPU|LIBTPU)_|(CUDA|HIP|ROCR)_VISIBLE_DEVICES$")
LONGEST = 200  # characters of what a device or an exception says


def facts() -> dict[str, str]:
    """Everything that holds whatever the devices are, by name."""
    versions = {name: _version(name) for name in ("jax", "jaxlib", "numpy", "scipy")}
    return {
        "jaxids": jaxids.__version__,
        "python": platform.python_version(),
        **versions,
        "plugins": ", ".join(f"{name} {version}" for name, version in plugins().items()) or "none",
        "system": shown(platform.platform()),
        "cores": f"{cores()} of {os.cpu_count()}",
        "precision": str(jnp.result_type(float)),
        "compilation cache": shown(str(jax.config.jax_compilation_cache_dir or "none")),  # pyright: ignore
        **{name: shown(value) for name, value in environment().items()},
    }


def environment() -> dict[str, str]:
    """The variables that change what JAX or jaxids does."""
    return {name: os.environ[name] for name in sorted(os.environ) if SETTINGS.match(name)}


def plugins() -> dict[str, str]:
    """Versions of the packages that bring devices to JAX."""
    found = ((str(each.name), each.version) for each in metadata.distributions())
    return dict(sorted((name, version) for name, version in found if PLUGINS.match(name or "")))


def devices() -> list[dict[str, str]]:
    """Every device of the default platform: its kind, platform, memory, and what its driver calls itself."""
    return [
        {
            "device": str(device.id),
            "kind": shown(str(device.device_kind)),
            "platform": device.platform,
            "memory": _memory(device),
            "version": one_line(_asked(lambda device=device: device.client.platform_version)),
        }
        for device in jax.local_devices()
    ]


def shown(text: str) -> str:
    """A text in one line, without the path of the home folder."""
    line, home = " ".join(text.split()), str(Path.home())
    return line.replace(home, "~") if len(home) > 1 else line


def one_line(given: BaseException | str) -> str:
    """An exception or a text in one short line."""
    line = shown(str(given))
    line = f"{type(given).__name__}: {line}" if isinstance(given, BaseException) else line
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not found"


def _memory(device: Any) -> str:
    stats = _asked(device.memory_stats)
    limit = stats.get("bytes_limit") if isinstance(stats, dict) else None
    return f"{limit / 2**30:.1f} GiB" if limit else "not told"


def _asked(question: Any) -> Any:
    """What a device answers; many do not know."""
    try:
        return question()
    except Exception as error:  # drivers raise what they like
        return one_line(error)
