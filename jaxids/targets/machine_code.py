"""Reads the machine code of the kernel in which many steps run: its loop's length, its registers, what it spills.

For a GPU that is PTX, and what `ptxas` says of it; for a TPU the bundles of instructions that its compiler packed.
"""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

__all__ = ["Registers", "bundles", "instructions", "ptxas", "registers"]


class Registers(NamedTuple):
    """What a thread holds."""

    used: int
    spilled: int  # bytes that are stored because registers ran out


def instructions(ptx: str) -> int:
    """PTX instructions of the longest loop; loops inside it count once."""
    lines = [line.strip() for line in ptx.splitlines()]
    labels = {line.rstrip(":"): place for place, line in enumerate(lines) if re.fullmatch(r"\$\w+:", line)}
    longest = 0
    for place, line in enumerate(lines):
        target = re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line)
        if target and (start := labels.get(target[1], place)) < place:
            longest = max(longest, sum(bool(re.match(r"[@a-z]", each)) for each in lines[start : place + 1]))
    return longest


def registers(path: Path, architecture: str) -> Registers | None:
    """Registers of a kernel by `ptxas`, or None where there is none."""
    if not (program := ptxas()):
        return None
    command = [program, "-v", f"-arch={architecture}", str(path), "-o", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    used, spilled = re.search(r"Used (\d+) registers", said), re.search(r"(\d+) bytes spill stores", said)
    return Registers(int(used[1]), int(spilled[1])) if used and spilled else None


def ptxas() -> str | None:
    """The assembler, of the wheel nvidia-cuda-nvcc-cu12 or on the path."""
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations or () if found else ():
        if (path := Path(folder) / "cuda_nvcc/bin/ptxas").exists():
            return str(path)
    return shutil.which("ptxas")


def bundles(text: str, depth: int) -> int:
    """A TPU's bundles in a loop of so many around them, or deeper ones, of the text of its final bundles."""
    return sum(len(found) >= depth for found in re.findall(r"^ *(?:0x)?[0-9a-f]+ +(?:\w\w)?: (>*)", text, re.MULTILINE))
