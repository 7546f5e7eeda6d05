"""Progress of a run, and of drawing its figures: a bar on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from tqdm import tqdm

from jaxids.experiment.curves import Panel

LOG_SECONDS = 30.0  # between lines of a log while one curve is under way


def rate(steps: float) -> str:
    """Steps in a second, in short."""
    return f"{steps / 1e6:.1f} M" if steps >= 1e5 else f"{steps:.0f}"


def clock(seconds: float | None) -> str:
    """Hours, minutes and seconds, if they are known."""
    return "–:––" if seconds is None else tqdm.format_interval(seconds).removeprefix("0")


class _Bar(tqdm):
    """A bar with a text: a line of a terminal that changes and goes in the end, and nothing on what is no terminal."""

    monitor_interval = 0  # no thread that looks after it

    def __init__(self, total: int, stream: TextIO, text: str = "{desc}") -> None:
        hidden, place = not total or not stream.isatty(), {"position": 0, "leave": False, "dynamic_ncols": True}
        super().__init__(total=total, file=stream, disable=hidden, bar_format=f"{{bar}} {text}", **place)


class Progress:
    """Trials done of the curve under way, steps per second, and the time left for everything that is to be run."""

    def __init__(self, work: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar = _Bar(work, self._stream)
        self._began = self._said = self._started = time.monotonic()
        self._name, self._trials, self._of, self._steps, self._here = "", 0, 0, 0, 0

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
        self._bar.n += trials * self._steps
        self._show(f"{self._rate()} steps/s")

    def mixed(self, name: str, trials: int, of: int, work: int) -> None:
        """Some more steps of a curve that now has so many trials are done; curves may come in any order."""
        self._name, self._trials, self._of = name, trials, of
        self._bar.n += work
        self._show(f"{rate(self.rate())} steps/s")

    def less(self, work: int) -> None:
        """Some steps need not be done."""
        self._bar.total -= work

    def stopped(self, trials: int, work: int) -> None:
        """The curve has all the trials it takes; so many steps need not be done."""
        self.less(work)
        self._of = trials
        self._show(f"{self._rate()} steps/s")

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        tqdm.write(text, file=self._stream)

    def close(self) -> None:
        """Leave the terminal's line empty."""
        self._bar.close()

    def _show(self, speed: str) -> None:
        finished, now = self._trials >= self._of, time.monotonic()
        trials = f"{min(self._trials, self._of)}/{self._of} trials"
        text = f"{self._name}: {trials}, {speed}, {self._left()} left"
        self._bar.set_description_str(text)
        if self._bar.disable and (finished or now - self._said > LOG_SECONDS):
            self._said = now
            self.say(text)

    def rate(self) -> float:
        """Steps of a trial in a second, of all that was run."""
        return self._bar.n / max(time.monotonic() - self._began, 1e-9)

    def _rate(self) -> str:
        return rate(self._here / max(time.monotonic() - self._started, 1e-9))

    def _left(self) -> str:
        return clock((self._bar.total - self._bar.n) / self.rate() if self._bar.n else None)


def drawing(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Panels one after the other, while a terminal shows which is drawn, and a log how many there are."""
    bar = _Bar(len(panels), sys.stderr, "drawing {n} of {total}: {desc}")
    if bar.disable and panels:
        print(f"drawing {len(panels)} panel{'s' * (len(panels) > 1)}", file=sys.stderr)
    for panel in panels:
        bar.n += 1
        bar.set_description_str(panel.stem)
        yield panel
    bar.close()
