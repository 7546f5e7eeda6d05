"""Compiles for a target in a process of its own, which tells of every policy as soon as it is done.

The request goes in by a pipe, programs come out, all as lines of JSON. What the compilers say on standard error is
kept, and shown only if they fail.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from jaxids.targets import devices
from jaxids.targets.program import Program, Refused, Request

__all__ = ["compiled"]


def compiled(request: Request) -> Generator[Program | Refused, None, None]:
    """The programs of a request, in the order of its policies, each as soon as it is compiled."""
    devices.check(request.target)
    if not 1 <= request.every <= request.steps:
        raise ValueError(f"every: got {request.every}; it takes a whole number from 1 to steps = {request.steps}")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        command = [sys.executable, "-W", "ignore", "-m", "jaxids.targets.apart", folder, str(os.getpid())]
        pipe, environment = subprocess.PIPE, _environment(request, folder)
        with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=said) as process:
            try:
                yield from _told(process, json.dumps(request._asdict()).encode())
            finally:
                process.kill()
        said.seek(0)
        if process.returncode:
            last = said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise ChildProcessError(f"{request.target}: {''.join(last) or 'the compiler ended without a word'}")


def _told(process: subprocess.Popen[bytes], request: bytes) -> Iterator[Program | Refused]:
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(BrokenPipeError):  # of one that has failed already, and says why
        process.stdin.write(request)
        process.stdin.close()
    for line in process.stdout:
        content = json.loads(line)
        yield (Refused if "reason" in content else Program)(**content)
    process.wait()


def _environment(request: Request, folder: str) -> dict[str, str]:
    """JAX itself runs on the CPU; a TPU's compiler writes the code of kernels to the folder."""
    given = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    given |= {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}  # no TPU is asked for, and none is held
    if request.way == "kernel" and request.code:
        given["LIBTPU_INIT_ARGS"] = f"--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true"
    return given


def _end_with(parent: int, folder: Path) -> None:
    """End when the process that asked is gone, whatever the compiler does, and leave nothing behind."""
    while os.getppid() == parent:
        time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _main(folder: Path, parent: int) -> None:
    tempfile.tempdir = str(folder)
    threading.Thread(target=_end_with, args=(parent, folder), daemon=True).start()
    request = Request(**json.load(sys.stdin))
    from jaxids.targets import build

    for name in request.policies:
        for path in folder.iterdir():
            path.unlink()
        of_tpu = devices.named(request.target).platform == "tpu"
        found = build.built(request, name, folder if of_tpu else None)
        print(json.dumps(found._asdict()), flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
