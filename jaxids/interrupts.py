"""Ctrl-C: one line and exit code 130 at once, whatever is under way.

The command runs on a worker thread. The main thread only waits, so Python runs its signal handler at once, also while
the worker is inside the compiler. The process ends where it stands, as when killed: libraries swallow a
KeyboardInterrupt or print it, and a normal exit aborts inside XLA. A store holds whole files only. The few modules
imported here are all that is imported before interrupts are caught.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable

CODE = 130
LONGEST = 1000  # characters of a command to repeat
STACK = 2**24  # bytes; where the stack of processes is unlimited, threads get only 2 MiB
WAIT = 0.2  # seconds; Windows does not interrupt a wait, and a system may deliver the signal to another thread


def catch() -> None:
    """End the process on Ctrl-C from now on, unless it was started so as to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def run(command: Callable[[], int]) -> None:
    """Run a command on a worker thread, and end the process with its exit code without waiting for other threads."""
    codes: list[int] = []
    threading.stack_size(STACK)
    worker = threading.Thread(target=lambda: codes.append(command()), daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(WAIT)
    os._exit(codes[0] if codes else 1)


def line() -> str:
    """What an interrupted command says."""
    import shlex

    again = f"`{shlex.join(['jaxids', *sys.argv[1:]])}`"
    again = again if len(again) < LONGEST else "the same command"
    advice = f"; finished tiles are kept, {again} goes on" if sys.argv[1:2] == ["run"] else ""
    return " ".join(f"jaxids: interrupted{advice}".split()) + "\n"


def _end(*_: object) -> None:
    """Remove files under way, say one line and end the process."""
    signal.signal(signal.SIGINT, lambda *_: None)  # a second interrupt changes nothing
    try:
        stderr = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the worker goes on until the process ends; nobody hears of it
        store = sys.modules.get("jaxids.experiment.store")
        for path in list(getattr(store, "unfinished", ())):  # none while the store is being imported
            try:
                os.unlink(path)
            except OSError:  # not made yet
                continue
        os.write(stderr, os.fsencode("\n" * os.isatty(stderr) + line()))  # on a terminal, below the ^C
    finally:
        os._exit(CODE)
