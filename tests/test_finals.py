"""The tables of a page on final values."""

from dataclasses import replace

import numpy as np
from curves import curve, panel
from pages import rendered

from jaxids import statistics
from jaxids.report import finals


def test_a_curve_that_was_stopped_says_after_how_many_trials_and_at_which_error(rng):
    one, other = (curve(label, rng.exponential(10.0, 2048)) for label in ("UCB", "TS"))
    assert "stopped" not in rendered("finals", finals.section(panel(one, other)))
    until = statistics.Stop(0.25)
    done = replace(one, until=until, stopped=True, asked=10**6)
    cut = replace(other, until=statistics.Stop(0.01), asked=10**6)
    page = rendered("finals", finals.section(panel(done, cut)))
    error, left = (f"{each.stderr[-1]:.3g}" for each in (one, other))
    assert f"<td class='number'>2048</td><td>after 2048 trials, standard error {error} ≤ 0.25</td>" in page
    assert f"2048 of 1000000</td><td>not yet, standard error {left} &gt; 0.01</td>" in page


def test_one_trial_has_no_errors_and_one_curve_no_differences():
    page = rendered("finals", finals.section(panel(curve("UCB", [3.0]))))
    assert page.count("± –") == 4
    assert "differences" not in page
    both = rendered("finals", finals.section(panel(curve("UCB", [3.0]), curve("TS", [2.0]))))
    assert "<td>UCB</td><td class='number'>1.0</td><td class='number'>± –</td>" in both
    assert "nan" not in both


def test_differences_are_of_regret_whatever_series_there_are(rng):
    one, other = (curve(label, np.arange(8.0) + more) for label, more in (("UCB", 3.0), ("TS", 0.0)))
    page = rendered("finals", finals.section(panel(one, other)))
    row = "<td class='number'>3.0</td><td class='number'>± 0.00</td><td class='number'>± 2.45</td>"
    assert f"<td>UCB</td>{row}<td class='number'>1.00</td><td class='number'>8</td>" in page
