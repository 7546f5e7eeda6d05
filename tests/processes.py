"""Processes that tests start: none of them outlives its test, also of one that fails."""

import signal
import subprocess

STARTED = []
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts a job in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def started(command, **options):
    """A process whose output can be read as text."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    STARTED.append(subprocess.Popen(command, **pipes | options))
    return STARTED[-1]


def end_all():
    """End those that still run."""
    while STARTED:
        if (process := STARTED.pop()).poll() is None:
            process.kill()
            process.communicate()
