"""The make of this processor, with a digest of what compilers look at: machine code and rounding depend on it."""

import hashlib
import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
MAKE = ("cpu family", "model", "CPU implementer", "CPU part")
FACTS = re.compile(rf"^(?:{'|'.join(MAKE)}|flags|Features)\b.*$", re.MULTILINE)
CODE = re.compile(r"(sse|ssse|avx|fma|f16c|bmi|amx|popcnt|abm|adx|vaes|gfni|asimd|sve|fp)")


def make() -> str:
    """The name of the processor and the digest."""
    try:
        text = CPUINFO.read_text(errors="replace")
    except OSError:
        text = ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    facts = FACTS.findall(text.split("\n\n")[0])  # of the first core
    can = sorted({flag for line in facts for flag in line.split() if line.startswith(MAKE) or CODE.match(flag)})
    name = named[1].strip() if named else platform.processor() or platform.machine()
    return f"{name} ({hashlib.sha256(' '.join([platform.machine(), *can]).encode()).hexdigest()[:8]})"
