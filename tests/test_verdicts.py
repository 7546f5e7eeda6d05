"""Claims: the numbers against naive formulas, and how often a test decides wrongly."""

import numpy as np
import pytest
from curves import STEPS, claim, curve, panel

from jaxids.experiment.claims import TESTS
from jaxids.report import verdicts
from jaxids.report.verdicts import FAILS, HOLDS, MISSING, OPEN, decide, judge


def decided(test, *curves, also=(), **numbers):
    return judge(claim(test, *curves, **numbers), panel(*{c.label: c for c in (*curves, *also)}.values()))


def test_every_test_is_known_to_files_and_report():
    assert list(verdicts.TESTS) == list(TESTS)


def test_a_quantity_is_below_a_border_above_it_or_neither():
    assert decide(1.0, 0.4, 2.0) == HOLDS
    assert decide(1.0, 0.6, 2.0) == OPEN
    assert decide(3.0, 0.6, 2.0) == OPEN
    assert decide(3.0, 0.4, 2.0) == FAILS
    assert decide(1.0, np.inf, 2.0) == OPEN


def test_order_is_decided_by_paired_differences(rng):
    """A common part of each trial far larger than the difference does not blur it."""
    common = rng.normal(100, 30, 500)
    low, high = curve("low", common + rng.normal(0, 1, 500)), curve("high", common + 0.5 + rng.normal(0, 1, 500))
    difference = low.final.astype(float) - high.final
    error = 2 * difference.std(ddof=1) / np.sqrt(500)
    verdict = decided("less", low, high)
    assert verdict.verdict == HOLDS
    assert (
        f"low − high = {difference.mean():.1f} ± {error:.1f}, negative in {np.mean(difference < 0):.0%}"
        in (verdict.measured[0])
    )
    assert decided("less", high, low).verdict == FAILS
    twin = curve("twin", low.final)
    assert decided("less", low, twin).verdict == OPEN  # equal is not less
    assert decided("less", low, twin, high).verdict == OPEN


def test_a_factor_asks_for_more(rng):
    low, high = curve("low", rng.normal(10, 1, 400)), curve("high", rng.normal(18, 1, 400))
    assert [decided("less", low, high, factor=f).verdict for f in (1.0, 1.5, 1.8, 2.0)] == [HOLDS, HOLDS, OPEN, FAILS]


def test_same_is_a_ratio_within_a_margin(rng):
    base = rng.normal(50, 10, 1000)
    one, other = curve("one", base * 1.04 + rng.normal(0, 1, 1000)), curve("other", base)
    assert [decided("same", one, other, margin=m).verdict for m in (0.1, 0.04, 0.01)] == [HOLDS, OPEN, FAILS]
    assert "a difference of +4." in decided("same", one, other).measured[0]


def test_the_ratio_s_error_is_that_of_resampling(rng):
    """The delta method against the bootstrap; both have a relative error of some 5 %."""
    theirs = rng.gamma(4.0, 10.0, 400)
    mine = 0.8 * theirs + rng.gamma(2.0, 5.0, 400)
    measured = decided("same", curve("one", mine), curve("other", theirs)).measured[0]
    error = float(measured.rsplit("± ", 1)[1].rstrip("%")) / 100 / 2
    chosen = rng.integers(0, 400, (2000, 400))
    ratios = mine[chosen].mean(axis=1) / theirs[chosen].mean(axis=1)
    assert error == pytest.approx(ratios.std(), rel=0.2)


def test_lowest_is_below_every_other(rng):
    low, middle, high = (curve(name, rng.normal(mean, 1, 300)) for name, mean in (("a", 5), ("b", 9), ("c", 20)))
    assert decided("lowest", low, also=(middle, high)).verdict == HOLDS
    assert decided("lowest", low, also=(middle, high)).measured[0].startswith(f"a {low.mean[-1]:.1f} ± ")
    assert decided("lowest", low, also=(middle, high)).measured[0].endswith("(of 2 others the lowest)")
    assert decided("lowest", middle, high, also=(low,)).verdict == HOLDS  # of those named
    assert decided("lowest", middle, also=(low, high)).verdict == FAILS
    twin = curve("twin", low.final + rng.normal(0, 1, 300).astype(np.float32))
    assert decided("lowest", low, also=(twin, high)).verdict == OPEN
    assert decided("lowest", low).verdict == OPEN


@pytest.mark.parametrize(("exponent", "verdict"), [(0.57, HOLDS), (0.6, HOLDS), (0.9, FAILS), (0.2, FAILS)])
def test_growth_is_an_exponent(rng, exponent, verdict):
    grown = curve("IDS-F", rng.normal(100, 5, 200), exponent=exponent)
    found = decided("growth", grown)
    late = STEPS >= 100
    slope = np.polyfit(np.log(STEPS[late]), np.log(grown.mean[late]), 1)[0]
    bound = np.polyfit(np.log(STEPS[late]), 0.5 * np.log(STEPS[late] * np.log(STEPS[late])), 1)[0]
    assert found.verdict == verdict
    assert found.measured[0].startswith(f"IDS-F grows as T^{slope:.3f} ± ")
    assert found.measured[0].endswith(f"√(T log T) as T^{bound:.3f}")


def test_growth_s_error_is_that_of_resampling(rng):
    regret = np.cumsum(rng.gamma(0.5, 2.0, (300, len(STEPS))), axis=1).astype(np.float32)
    grown = curve("x", regret[:, -1], regret=regret)
    error = float(decided("growth", grown).measured[0].split("± ")[1].split(",")[0]) / 2
    late, slopes = STEPS >= 100, []
    for _ in range(2000):
        mean = regret[rng.integers(0, 300, 300)].mean(axis=0)[late]
        slopes.append(np.polyfit(np.log(STEPS[late]), np.log(mean), 1)[0])
    assert error == pytest.approx(np.std(slopes), rel=0.2)


def test_noisier_copies_are_counted():
    pulls = np.zeros((3, 6), np.int32)
    pulls[:, 1] = 100
    clean = curve("clean", np.ones(3), pulls=pulls)
    taken = pulls.copy()
    taken[1, 4] = 2
    other = curve("other", np.ones(3), pulls=taken)
    assert decided("never noisier", clean).verdict == HOLDS
    assert decided("never noisier", clean).measured == ["clean: 0 of 300"]
    assert decided("never noisier", clean, other).verdict == FAILS
    assert decided("never noisier", clean, other).measured[1] == "other: 2 of 302"
    probed = curve("probed", np.ones(3), pulls=np.hstack([pulls, np.ones((3, 2), np.int32)]))
    assert decided("never noisier", probed).verdict == HOLDS  # probes come after the copies
    assert decided("never noisier", curve("uncounted", np.ones(3))).verdict == MISSING


def test_what_was_not_run_is_not_decided(rng):
    one = curve("one", rng.normal(5, 1, 20))
    gone = curve("gone", rng.normal(5, 1, 20))
    assert judge(claim("less", one, gone), panel(one, missing=["gone"])).verdict == MISSING
    assert judge(claim("lowest", one), panel(one, missing=["gone"])).verdict == MISSING
    apart = curve("apart", rng.normal(50, 1, 20), trials=np.arange(100, 120))
    assert decided("less", one, apart).verdict == MISSING
    single = curve("single", [4.0])
    found = decided("less", single, curve("two", [9.0]))
    assert found.verdict == OPEN
    assert found.measured[0].startswith("single 4.0 ± –, two 9.0 ± –; single − two = -5.0 ± –")


@pytest.mark.filterwarnings("error")
def test_no_regret_is_said():
    none, some = curve("none", np.zeros(5)), curve("some", np.ones(5))
    assert decided("same", none, some).verdict == FAILS
    assert decided("same", some, none).verdict == FAILS
    assert decided("same", none, curve("other", np.zeros(5))).verdict == HOLDS
    assert decided("growth", none).verdict == MISSING
    assert decided("growth", curve("short", [1.0, 2.0], steps=np.array([1], np.int32))).verdict == MISSING


@pytest.mark.parametrize("test", ["less", "same"])
def test_on_the_border_wrong_verdicts_are_as_rare_as_stated(test):
    """At the border of a claim each verdict but `within error` is wrong with probability Φ(−2) = 0.0228.

    Of 2000 made-up runs at the border 45.5 of each are expected; more than 80 has probability 1e-6 (binomial).
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(2000):
        base = rng.normal(100, 5, 200)
        one = base * (1.1 if test == "same" else 1) + rng.normal(0, 3, 200)
        found.append(decided(test, curve("one", one), curve("other", base + rng.normal(0, 3, 200))).verdict)
    assert found.count(HOLDS) <= 80
    assert found.count(FAILS) <= 80
    assert found.count(OPEN) >= 1840
