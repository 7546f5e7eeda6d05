"""Processes that tests start: none of them outlives its test, also of one that fails."""

import subprocess

STARTED = []


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
