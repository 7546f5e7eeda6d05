"""How far a run is: a bar on a terminal, plain lines in a log."""

import shutil
import sys
import time
from typing import TextIO

__all__ = ["BAR", "LOG_SECONDS", "Progress", "bar", "clock", "rate"]

BAR = 24
LOG_SECONDS = 30.0  # between lines of a log while one curve is under way


def bar(done: int, of: int, size: int = BAR) -> str:
    """A bar that is filled as far as something is done."""
    return ("█" * (size * done // max(of, 1))).ljust(size, "░")


def rate(steps: float) -> str:
    """Steps in a second, in short."""
    return f"{steps / 1e6:.1f} M" if steps >= 1e5 else f"{steps:.0f}"


def clock(seconds: float | None) -> str:
    """Hours, minutes and seconds, if they are known."""
    if seconds is None:
        return "–:––"
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours}:{minutes:02d}:{round(seconds) % 60:02d}" if hours else f"{minutes}:{round(seconds) % 60:02d}"


class Progress:
    """Trials done of the curve under way, steps per second, and the time left for everything that is to be run."""

    def __init__(self, work: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._work, self._done, self._began = work, 0, time.monotonic()
        self._name, self._trials, self._of, self._steps, self._here = "", 0, 0, 0, 0
        self._said = self._started = self._began

    def curve(self, name: str, trials: int, of: int, steps: int) -> None:
        """Go on with a curve that has some of its trials."""
        self._name, self._trials, self._of, self._steps = name, trials, of, steps
        self._said = time.monotonic()
        self._show("compiling")

    def compiled(self) -> None:
        """The curve's first tiles begin."""
        self._started, self._here = time.monotonic(), 0

    def advance(self, trials: int) -> None:
        """Some more trials of the curve are done."""
        self._trials, self._here = self._trials + trials, self._here + trials * self._steps
        self._done += trials * self._steps
        self._show(f"{self._rate()} steps/s")

    def mixed(self, name: str, trials: int, of: int, work: int) -> None:
        """Some more steps of a curve that now has so many trials are done; curves may come in any order."""
        self._name, self._trials, self._of = name, trials, of
        self._done += work
        self._show(f"{rate(self.rate())} steps/s")

    def less(self, work: int) -> None:
        """Some steps need not be done."""
        self._work -= work

    def stopped(self, trials: int, work: int) -> None:
        """The curve has all the trials it takes; so many steps need not be done."""
        self.less(work)
        self._of = trials
        self._show(f"{self._rate()} steps/s")

    def say(self, text: str) -> None:
        """A line that stays."""
        self._write(f"\r\033[K{text}\n" if self._terminal else f"{text}\n")

    def drawing(self, name: str, number: int, of: int) -> None:
        """Go on with the figures of a panel."""
        if self._terminal:
            room = shutil.get_terminal_size()[0] - 1
            self._write(f"\r\033[Kdrawing {number} of {of}: {name}"[: room + 4])
        elif number == 1:
            self._write(f"drawing {of} panel{'s' * (of > 1)}\n")

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._terminal:
            self._write("\r\033[K")

    def _show(self, speed: str) -> None:
        finished, now = self._trials >= self._of, time.monotonic()
        trials = f"{min(self._trials, self._of)}/{self._of} trials"
        if self._terminal:
            room, line = shutil.get_terminal_size()[0] - 1, f"{self._name}  {trials}  {speed}  {self._left()} left"
            size = min(BAR, max(0, room - len(line) - 1))
            self._write(f"\r\033[K{bar(self._done, self._work, size)} {line}"[: room + 4].rstrip())
        elif finished or now - self._said > LOG_SECONDS:
            self._said = now
            self._write(f"{self._name}: {trials}, {speed}, {self._left()} left\n")

    def rate(self) -> float:
        """Steps of a trial in a second, of all that was run."""
        return self._done / max(time.monotonic() - self._began, 1e-9)

    def _rate(self) -> str:
        return rate(self._here / max(time.monotonic() - self._started, 1e-9))

    def _left(self) -> str:
        if not self._done:
            return clock(None)
        return clock((self._work - self._done) * (time.monotonic() - self._began) / self._done)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
