"""Progress, on a terminal and in a log."""

import os
import pty
import termios
from dataclasses import replace

import numpy as np
import pytest
from curves import curve, panel

from jaxids.experiment import progress


class Stream:
    """What is written to a terminal of some columns, or to a log."""

    encoding = "utf-8"

    def __init__(self, terminal=None):
        self.text, self.isatty, self.fileno = "", lambda: terminal is not None, lambda: terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    @property
    def line(self):
        """What the line of the bar shows."""
        return self.text.split("\r")[-1].rstrip()


@pytest.fixture
def terminal():
    """A terminal that shows nothing."""
    both = pty.openpty()
    yield both[1]
    for end in both:
        os.close(end)


def resize(terminal, columns):
    termios.tcsetwinsize(terminal, (25, columns))


def test_a_log_has_a_line_for_every_curve(monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 10.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    log = Stream()
    shown = progress.Progress(100 * 1000, log)
    shown.curve("some UCB", 0, 100, 1000)
    shown.compiled()
    shown.advance(50)
    shown.advance(50)
    shown.close()
    assert log.text.splitlines()[-1].startswith("some UCB: 100/100 trials, ")
    assert all("\r" not in line and "\033" not in line for line in log.text.splitlines())


def test_a_log_has_a_line_every_half_a_minute_at_most(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    log = Stream()
    shown = progress.Progress(100, log)
    shown.curve("some UCB", 0, 100, 1)
    for second in range(1, 101):
        clock[0] = float(second)
        shown.advance(1)
    assert [line.split()[2] for line in log.text.splitlines()] == ["31/100", "62/100", "93/100", "100/100"]


def test_a_terminal_has_one_line_that_fills(monkeypatch, terminal):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    resize(terminal, 80)
    screen = Stream(terminal)
    shown = progress.Progress(200 * 1000, screen)
    shown.curve("some UCB", 0, 100, 1000)
    assert screen.line.endswith(" some UCB: 0/100 trials, compiling, –:–– left")
    clock[0] = 1.0
    shown.compiled()
    clock[0] = 2.0
    shown.advance(50)
    text = " some UCB: 50/100 trials, 50000 steps/s, 0:06 left"
    bar = 79 - len(text)
    assert screen.line == "█" * (bar // 4) + "▎" + " " * (bar - bar // 4 - 1) + text
    clock[0] = 3.0
    shown.advance(50)
    assert screen.line.endswith(" some UCB: 100/100 trials, 50000 steps/s, 0:03 left")
    shown.say("a message")
    above, below = screen.text.split("a message\n")
    assert not above.split("\r")[-1].strip()  # the bar has left its line
    assert screen.line.endswith("0:03 left")
    assert "\n" not in below
    shown.curve("a long name " * 9, 0, 100, 1000)
    assert len(screen.line) == 79  # one line, which a terminal can take back
    resize(terminal, 21)
    shown.advance(10)
    assert len(screen.line) == 20
    shown.close()
    assert screen.text.count("\n") == 1
    assert screen.text.endswith("\r")
    assert not screen.text.split("\r")[-2].strip()


def test_the_time_left_counts_no_steps_that_need_not_be_done(monkeypatch, terminal):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    resize(terminal, 80)
    log, screen = Stream(), Stream(terminal)
    shown = [progress.Progress(1000 * 10, stream) for stream in (log, screen)]
    for each in shown:
        each.curve("some UCB", 0, 1000, 10)
        each.compiled()
    clock[0] = 1.0
    for each in shown:
        each.advance(100)
        each.stopped(100, 700 * 10)  # 200 trials of other curves remain
    assert log.text.splitlines()[-1] == "some UCB: 100/100 trials, 1000 steps/s, 0:02 left"
    assert screen.line.endswith(log.text.splitlines()[-1])
    shown[1].close()


def test_drawing_is_one_line_in_a_log_and_one_that_changes_on_a_terminal(monkeypatch, terminal):
    resize(terminal, 50)
    log, screen = Stream(), Stream(terminal)
    one = panel(curve("UCB", [1.0]))
    panels = [replace(one, name=f"panel {number} of a long name" * number) for number in (1, 2)]
    for stream in (log, screen):
        monkeypatch.setattr("sys.stderr", stream)
        assert list(progress.drawing(panels)) == panels
        assert list(progress.drawing([])) == []
    assert log.text == "drawing 2 panels\n"
    first, second, last, end = [text for text in screen.text.split("\r") if "0 of 2" not in text][1:]
    assert first == "█████      drawing 1 of 2: panel 1 of a long name"
    assert (len(second), last.strip(), end) == (49, "", "")
