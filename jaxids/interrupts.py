"""Ctrl-C: one line and code 130 at once, whatever is under way.

An interrupt is no exception here: libraries swallow those, turn them into others, or print them from where nobody can
catch them. The process ends where it stands, as when killed; a store holds whole files only. All that is imported is
there when the interpreter has started, so that this is in place before anything else runs.
"""

import _signal  # pyright: ignore[reportMissingImports]  # `signal` would import a good part of the library first
import _thread
import os
import sys
import time

__all__ = ["CODE", "catch", "leave", "line"]

CODE = 130
GRACE = 0.2  # seconds for the main thread to answer: it may be in a long call, as into the compiler
LONGEST = 1000  # characters of a command to say again
SAFE = frozenset("%+,-./:=@_")  # signs that a shell takes as they are
unfinished: set[str] = set()  # files under way, that nobody would miss

_leaving = False  # whether the main thread is on its way out
_turn = _thread.allocate_lock()  # of whoever ends the process


def catch() -> None:
    """From now on Ctrl-C ends the process, unless it was started so as to ignore it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the shell may have closed some of the first three,
        continue  # and no other file, such as the pipe below, may take their place
    os.close(descriptor)
    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return
    _signal.signal(_signal.SIGINT, _interrupted)
    if os.name == "posix":
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        _thread.start_new_thread(_watch, (reader,))


def leave(code: int) -> None:
    """End the process, waiting for no thread."""
    global _leaving
    _leaving = True
    _turn.acquire()  # for good; if another thread has it, it ends the process
    os._exit(code)


def line() -> str:
    """What an interrupted command says."""
    again = f"`{' '.join(['jaxids', *map(_quoted, sys.argv[1:])])}`"
    again = again if len(again) < LONGEST else "the same command"
    advice = f"; finished tiles are kept, {again} goes on" if sys.argv[1:2] == ["run"] else ""
    return " ".join(f"jaxids: interrupted{advice}".split()) + "\n"


def _interrupted(*_: object) -> None:
    """The answer of the main thread, between any two of its steps."""
    global _leaving
    if _leaving:
        return
    _leaving = True
    _turn.acquire()
    for path in list(unfinished):
        try:
            os.unlink(path)
        except OSError:  # not made yet
            continue
    _say_and_exit()


def _watch(reader: int) -> None:
    """The answer of another thread, when the main thread gives none."""
    while os.read(reader, 1) != bytes([_signal.SIGINT]):  # other signals are none of ours
        continue
    time.sleep(GRACE)
    if _turn.acquire(blocking=False):
        _say_and_exit()


def _say_and_exit() -> None:
    try:
        os.write(2, os.fsencode("\n" * os.isatty(2) + line()))  # on a terminal, below the ^C
    finally:
        os._exit(CODE)


def _quoted(text: str) -> str:
    """An argument as it is typed; `shlex` may be half imported when this runs."""
    if text and all(letter.isalnum() or letter in SAFE for letter in text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"
