"""Progress, on a terminal and in a log."""

import numpy as np

from jaxids.experiment import progress


class Terminal:
    def __init__(self, is_one):
        self.text, self.isatty = "", lambda: is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_log_has_a_line_for_every_curve(monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 10.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    log = Terminal(False)
    shown = progress.Progress(100 * 1000, log)
    shown.curve("some UCB", 0, 100, 1000)
    shown.compiled()
    shown.advance(50)
    shown.advance(50)
    shown.close()
    assert log.text.splitlines()[-1].startswith("some UCB: 100/100 trials, ")
    assert all("\r" not in line and "\033" not in line for line in log.text.splitlines())


def test_a_terminal_has_one_line_that_fills(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: (79, 24))
    screen = Terminal(True)
    shown = progress.Progress(200 * 1000, screen)
    shown.curve("some UCB", 0, 100, 1000)
    assert "compiling" in screen.text
    clock[0] = 1.0
    shown.compiled()
    clock[0] = 2.0
    shown.advance(50)
    line = screen.text.split("\r\033[K")[-1]
    assert line == "█" * 6 + "░" * 18 + " some UCB  50/100 trials  50000 steps/s  0:06 left"
    clock[0] = 3.0
    shown.advance(50)
    assert "100/100 trials  50000 steps/s  0:03 left" in screen.text
    shown.curve("a long name " * 9, 0, 100, 1000)
    assert len(screen.text.split("\r\033[K")[-1]) == 78  # one line, which a terminal can take back
    shown.close()
    assert "\n" not in screen.text
    assert screen.text.endswith("\r\033[K")


def test_drawing_is_one_line_in_a_log_and_one_that_changes_on_a_terminal(monkeypatch):
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: (40, 24))
    log, screen = Terminal(False), Terminal(True)
    for stream in (log, screen):
        shown = progress.Progress(0, stream)
        for number in (1, 2):
            shown.drawing(f"panel {number} of a long name" * number, number, 2)
        shown.close()
    assert log.text == "drawing 2 panels\n"
    first, second, last = screen.text.split("\r\033[K")[1:]
    assert (first, len(second), last) == ("drawing 1 of 2: panel 1 of a long name", 39, "")
