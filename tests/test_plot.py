"""Figures: styles that stay apart, labels that do not meet, the same bytes for the same results."""

import itertools

import numpy as np
import pytest
from curves import STEPS, curve, panel, stored
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.optimize import minimize

from jaxids import cli, load, policies
from jaxids.experiment.again import Watched
from jaxids.moments import Series
from jaxids.plot import along, figures, instances, styles
from jaxids.plot.labels import apart

PLACES = st.lists(st.floats(0, 1), min_size=1, max_size=14)


def test_a_series_that_was_not_kept_cannot_be_drawn(tmp_path, capsys):
    stored(tmp_path, [("UCB", {}, {}, np.ones(600))], record=["ratio", "beta"])
    assert cli.main(["plot", str(tmp_path), "--series", "gain"]) == 2
    assert capsys.readouterr().err == "jaxids: --series: got 'gain'; the results here have regret, ratio, beta\n"
    assert cli.main(["plot", str(tmp_path), "--series", "ratio", "--scale", "log-log"]) == 0
    names = [f"made-ratio-loglog.{end}" for end in ("pdf", "png")]
    assert capsys.readouterr().out.split() == [str(tmp_path / "made" / name) for name in names]


def test_a_series_is_drawn_under_its_name_and_on_axes_that_suit_it():
    """Wide ones on log-log axes, narrow ones on linear ones; where a ratio is infinite there is nothing to draw."""
    wide, narrow = np.geomspace(100, 0.01, len(STEPS)), np.linspace(3, 4, len(STEPS))
    wide[3] = np.inf
    nothing = np.full(len(STEPS), np.nan)
    more = {"simple_regret": Series(wide, nothing, wide[-1:]), "beta": Series(narrow, nothing, narrow[-1:])}
    made = panel(curve("UCB", [3.0], more=more), curve("TS", [4.0]))
    assert figures.views(made)[2:] == [("simple_regret", "log-log"), ("beta", "linear")]
    (axes,) = figures.together([made], "log-log", "simple_regret").axes
    assert axes.get_ylabel() == "simple regret (log)"
    assert [text.get_text() for text in axes.texts] == ["UCB"]
    assert np.array_equal(axes.get_lines()[0].get_ydata(), np.delete(wide, 3))
    with pytest.raises(ValueError, match=r"series: got 'beta'; made/TS has regret"):
        made.curves[1].of("beta")


def test_every_policy_has_a_style_of_its_own():
    assert list(styles.PAPER) == list(policies.PAPER)
    assert len(set(styles.PAPER.values())) == 13
    assert styles.PAPER["UCB"] == ("#56B4E9", (0, (1, 1.2)), "")
    assert styles.PAPER["FW-TS"] == ("#000000", (0, (6, 1.5, 1, 1.5)), "")
    assert styles.PAPER["DIDS-TS"] == ("#D55E00", (0, (5, 2)), "")


def test_other_policies_look_like_none_of_the_paper_s_and_not_like_each_other():
    others = [f"mine:rule{i}" for i in range(40)]
    looks = styles.styles_of(others)
    assert len(set(looks)) == 40
    assert not {look.color for look in looks} & {look.color for look in styles.PAPER.values()}
    assert not {look.line for look in looks} & {look.line for look in styles.PAPER.values()}
    assert len({look.color for look in looks[:4]}) == len({look.line for look in looks[:4]}) == 4


def test_other_policies_look_alike_in_every_figure_of_a_run(tmp_path):
    """Also where a panel, or an experiment, does not have all of them."""
    one, two, three = "ids(ucb, solver=pairs)", "ucb(scale=0.5)", "mine:rule"
    stored(tmp_path, [(each, {}, {}, np.ones(5)) for each in (one, two)], trials=5, name="first", split=";")
    stored(tmp_path, [(each, {}, {}, np.ones(5)) for each in (three, "UCB", two)], trials=5, name="second", split=";")
    panels = load(tmp_path).panels
    assert {panel.others for panel in panels} == {(one, two, three)}
    looks = [styles.styles_of([curve.policy for curve in panel.curves], panel.others) for panel in panels]
    assert looks[0][1] == looks[1][2]
    assert len({*looks[0], *looks[1]}) == 4
    figure = figures.together(panels)
    for axes, part in zip(figure.axes, looks, strict=True):
        assert [line.get_color() for line in axes.get_lines()[: len(part)]] == [look.color for look in part]


def seen(color, matrix):
    return np.asarray(matrix) @ np.asarray(to_rgb(color)) ** 2.2


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3),
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],  # no red cones (Machado 2009)
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],  # no green cones
    ],
)
def test_colours_stay_apart_for_every_reader(matrix):
    colors = {style.color for style in styles.PAPER.values()} | set(styles.OTHERS)
    for one, other in itertools.combinations(colors, 2):
        assert np.linalg.norm(seen(one, matrix) - seen(other, matrix)) > 0.1


def test_curves_of_one_policy_differ_by_markers():
    looks = styles.styles_of(["UCB", "IDS-UCB", "UCB", "UCB", "IDS-UCB"])
    assert [look.marker for look in looks] == ["", "", "o", "s", "o"]
    assert looks[0].color == looks[2].color


@given(PLACES)
def test_labels_keep_their_order_and_distance(places):
    places, least = np.array(places), 0.05
    spread = apart(places, least, 0.0, 1.0)
    order = np.argsort(places, kind="stable")
    assert np.all(np.diff(spread[order]) >= least - 1e-9)
    assert spread.min() >= -1e-9
    assert spread.max() <= 1 + 1e-9
    if len(places) == 1 or np.min(np.diff(np.sort(places))) >= least:
        assert np.allclose(spread, places)


def test_labels_are_as_near_as_can_be(rng):
    """Against a general solver of the same quadratic program."""
    for _ in range(5):
        places = np.sort(rng.uniform(0, 0.5, 7))
        constraints = {"type": "ineq", "fun": lambda x: np.diff(x) - 0.09}
        start = np.linspace(0.1, 0.9, 7)
        best = minimize(lambda x, p=places: np.sum((x - p) ** 2), start, constraints=constraints, bounds=[(0, 1)] * 7)
        assert np.allclose(apart(places, 0.09, 0.0, 1.0), best.x, atol=1e-3)


@pytest.mark.parametrize("scale", figures.SUFFIX)
def test_a_panel_shows_mean_band_and_labels(scale, rng):
    curves = [curve(name, rng.exponential(mean, 50), name) for name, mean in (("UCB", 50), ("W-TS", 20), ("IDS-F", 90))]
    axes = Figure().add_subplot()
    figures.draw_curves(axes, curves, scale)
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == len(curves[0].steps)]
    for line, one in zip(lines, curves, strict=True):
        assert np.allclose(line.get_ydata(), one.mean)
        assert line.get_color() == styles.PAPER[one.policy].color
    assert len(axes.collections) == 3
    band = axes.collections[0].get_paths()[0].vertices
    assert np.max(band[:, 1]) == pytest.approx(curves[0].mean[-1] + 2 * curves[0].stderr[-1], rel=1e-5)
    assert [text.get_text() for text in axes.texts] == ["UCB", "W-TS", "IDS-F"]
    assert (axes.get_xscale(), axes.get_yscale()) == {
        "linear": ("linear", "linear"),
        "log-log": ("log", "log"),
        "log-time": ("log", "linear"),
    }[scale]
    tops = [text.get_position()[1] for text in axes.texts]
    assert tops[2] > tops[0] > tops[1]


@pytest.mark.parametrize("scale", figures.SUFFIX)
@pytest.mark.filterwarnings("error")
def test_one_trial_no_regret_and_one_step_can_be_drawn(scale):
    steps = np.array([1], np.int32)
    figures.draw_curves(Figure().add_subplot(), [curve("UCB", [0.0]), curve("TS", [3.0])], scale)
    figures.draw_curves(Figure().add_subplot(), [curve("UCB", [0.0], steps=steps)], scale)


def test_the_command_draws_every_panel_as_pdf_and_png(tmp_path, rng, capsys):
    tables = [(label, {"delta": d}, {}, rng.exponential(9, 20)) for d in (0.01, 0.1) for label in ("UCB", "TS")]
    stored(tmp_path, tables, trials=20)
    assert cli.main(["plot", str(tmp_path), "--scale", "log-time"]) == 0
    names = [f"made-delta={delta}-logtime.{end}" for delta in (0.01, 0.1) for end in ("pdf", "png")]
    assert capsys.readouterr().out.split() == [str(tmp_path / "made" / name) for name in names]
    assert (tmp_path / "made" / names[0]).read_bytes().startswith(b"%PDF")
    assert (tmp_path / "made" / names[1]).read_bytes().startswith(b"\x89PNG")


def test_words_are_not_formulas_and_fit_the_picture(rng):
    """A dollar sign is a dollar sign, and long titles and labels stay inside."""
    curves = [curve("a price of $5 to $10 " * 2, rng.exponential(9, 20)), curve(r"$\frac$", rng.exponential(9, 20))]
    figure = figures.together([panel(*curves, title=r"cost $\frac$ " * 20)] * 2)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for axes in figure.axes:
        for text in [*axes.texts, axes.get_children()[axes.get_children().index(axes._left_title)]]:
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= width
            assert box.y1 <= height
    titles = [axes._left_title.get_window_extent() for axes in figure.axes]
    assert titles[0].x1 < titles[1].x0


def test_instances_are_drawn_as_they_are(rng):
    """Each trial a point, theirs across and mine up, and its ratio over the noise of its best action."""
    mine, theirs = (curve(label, rng.gamma(2.0, 20.0, 40), label) for label in ("IDS-UCB", "W-UCB"))
    best = rng.uniform(0.1, 1, 40)
    left, right = instances.compare([instances.Pair(mine, theirs, best)]).axes
    assert np.allclose(left.collections[0].get_offsets(), np.column_stack([theirs.final, mine.final]))
    assert np.allclose(right.collections[0].get_offsets(), np.column_stack([best, mine.final / theirs.final]))
    wins = np.mean(mine.final < theirs.final)
    assert f"IDS-UCB has less regret on {wins:.0%} of 40 instances" in left.get_title(loc="left")


def test_the_same_results_give_the_same_bytes(tmp_path, rng):
    stored(tmp_path, [("UCB", {}, {}, rng.exponential(9, 20))], trials=20)
    first = {path: path.read_bytes() for path in figures.draw(load(tmp_path))}
    for path in first:
        path.unlink()
    assert {path: path.read_bytes() for path in figures.draw(load(tmp_path))} == first


def test_long_texts_are_cut():
    """30 000 characters took a minute to draw."""
    long = "word " * 6000
    made = panel(curve("UCB" + long, [3.0, 4.0]), curve("TS", [4.0, 5.0]), title=long)
    pair = instances.Pair(*made.curves, np.array([0.1, 0.2]))
    points = np.linspace(0, 1, 5)[:, None]
    known = np.ones((1, 5))
    seen = Watched(
        points, known[0], known[0], np.array([1]), known, known, known, None, np.array([2]), None, None, None
    )
    drawn = [figures.together([made]), instances.compare([pair]), along.figure(seen, f"{long}\n{long}")]
    for figure in drawn:
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert any("…" in text for text in texts)
        assert all(len(text) < 700 for text in texts)
    assert drawn[0].get_size_inches()[0] < 25
    assert drawn[-1].get_suptitle().replace("\n", " ").endswith("Dots: what is played. Dotted: the function")
