"""What a store holds, as arrays, frames and CSV."""

import csv
import io
import json
import re
import shutil
import sys

import numpy as np
import pytest
from curves import STEPS, stored

from jaxids import cli, load, statistics
from jaxids.experiment import curves, sound, store


@pytest.fixture
def folder(tmp_path, rng):
    tables = [
        (label, {"delta": delta}, {}, rng.exponential(10.0, 600)) for delta in (0.01, 0.1) for label in ("UCB", "W-TS")
    ]
    return stored(tmp_path, tables)


def test_curves_and_finals(folder, rng):
    results = load(folder)
    assert [curve.name for curve in results] == [
        f"made-delta={delta}/{label}" for delta in (0.01, 0.1) for label in ("UCB", "W-TS")
    ]
    curve = results["made-delta=0.1/UCB"]
    assert curve.regret.shape == (600, len(STEPS))
    assert np.array_equal(curve.final, curve.regret[:, -1])
    assert np.allclose(curve.mean, curve.regret.astype(float).mean(axis=0))
    assert np.allclose(curve.stderr, curve.regret.astype(float).std(axis=0, ddof=1) / np.sqrt(600), rtol=1e-5)
    assert len(results.select(delta=0.1)) == 2
    assert len(results.select(policy="UCB", experiment="made")) == 2
    with pytest.raises(ValueError, match=r"dleta: got 0\.1; nearest: delta"):
        results.select(dleta=0.1)
    assert len(repr(results)) < 200
    assert repr(curve) == "Curve('made-delta=0.1/UCB': 600 trials of 1000 steps)"
    assert [panel.stem for panel in results.panels] == ["made-delta=0.01", "made-delta=0.1"]


def test_one_experiment_or_all_of_a_folder(folder):
    one, everything = load(folder / "made"), load(str(folder))
    assert [curve.name for curve in one] == [curve.name for curve in everything]
    assert {panel.folder for results in (one, everything) for panel in results.panels} == {folder / "made"}


def test_a_name_that_is_none_or_not_one_is_said(folder):
    results = load(folder)
    with pytest.raises(KeyError, match=r"UBC: no such curve; nearest: UCB"):
        results["UBC"]
    with pytest.raises(KeyError, match=r"made/UCB: no such curve; nearest: made-delta=0.1/UCB"):
        results["made/UCB"]
    with pytest.raises(KeyError, match=r"UCB: 2 curves have this label: made-delta=0.01/UCB, made-delta=0.1/UCB"):
        results["UCB"]


def test_names_and_labels_are_in_the_results(folder):
    results = load(folder)
    assert "UCB" in results
    assert "made-delta=0.1/UCB" in results
    assert results["made-delta=0.1/UCB"] in results
    assert all(name not in results for name in ("UBC", "made/UCB", 3))


def test_messages_about_long_names_are_short(folder):
    results, name = load(folder), "x" * 10**6
    for call in (lambda: results[name], lambda: results.select(**{name: 1}), lambda: load(name), lambda: load("a\0b")):
        with pytest.raises((KeyError, ValueError)) as caught:
            call()
        assert len(str(caught.value)) < 600
    with pytest.raises(ValueError, match=r"^policy: got 'xxx.*; it takes one of") as caught:
        results.select(policy=name)
    assert len(str(caught.value)) < 600


def test_arrays_name_no_curve(folder):
    results = load(folder)
    assert np.ones(3) not in results
    with pytest.raises(KeyError, match="no such curve"):
        results[np.ones(3)]
    for value in (np.ones(3), {}, [[np.ones(2)]], np.array("UCB")):
        with pytest.raises(ValueError, match=r"^policy: got .*; it takes one of \['UCB', 'W-TS'\]"):
            results.select(policy=value)
    with pytest.raises(ValueError, match=r"^delta: got .*; it takes one of"):
        results.select(delta=np.ones(3))
    assert len(results.select(delta=np.float64(0.1))) == 2


def test_only_tiles_that_are_there_are_looked_for(tmp_path, monkeypatch):
    """Of 10⁹ trials nearly all may be missing."""
    asked, check = [], sound.check_tiles
    monkeypatch.setattr(sound, "check_tiles", lambda *given: asked.append(given[-1].first) or check(*given))
    stored(tmp_path, [("UCB", {}, {}, np.ones(600)), ("TS", {}, {}, np.ones(600))], missing={("UCB", 1)})
    record = tmp_path / "made" / "experiment.json"
    store.seal(record, store.as_json(json.loads(record.read_text()) | {"trials": 10**9}))
    for stranger in ("1.npz", "00000 (copy).npz", "x.npz"):
        (next((tmp_path / "made" / "tiles").glob("UCB-*")) / stranger).touch()
    results = load(tmp_path)
    assert asked == [0, 2, 0, 1, 2]
    assert np.array_equal(results["UCB"].trials, [*range(256), *range(512, 768)])
    assert results["UCB"].asked == 10**9


def test_what_was_stopped_gives_what_is_there(tmp_path, rng):
    final = rng.exponential(10.0, 600)
    tables = [("UCB", {}, {}, final), ("TS", {}, {}, final), ("W-TS", {}, {}, final)]
    gone = {("UCB", 1), ("TS", 0), ("TS", 1), ("TS", 2)}
    results = load(stored(tmp_path, tables, missing=gone))
    assert [curve.label for curve in results] == ["UCB", "W-TS"]
    assert np.array_equal(results["UCB"].trials, [*range(256), *range(512, 600)])
    assert np.array_equal(results["UCB"].final, results["W-TS"].final[results["UCB"].trials])
    assert results["UCB"].asked == 600
    assert results.panels[0].missing == ["TS"]
    assert np.array_equal(results["UCB"].regret[:, -1], results["UCB"].final)


def test_a_copied_folder_is_an_experiment_of_its_own(folder):
    shutil.copytree(folder / "made", folder / "backup")
    assert [panel.stem for panel in load(folder).panels] == [
        f"{name}-delta={delta}" for name in ("backup", "made") for delta in (0.01, 0.1)
    ]


POINTS = [
    {"delta": 0.1},
    {"rho": [0.1, 1.0], "instance": "fresh"},
    {"rho": [0.1 + i / 1000 for i in range(300)]},
    {"rho": [0.1 + i / 1000 for i in range(299)] + [7.0]},
    {"rho": "x1 / 2"},
    {"rho": "x1 - 2"},
    {"rho": "x1 * 2"},
    {"rho": "../../x1"},
    {"rho": "x1"},
]


def test_names_of_files_are_short_and_safe_and_never_shared():
    names = [
        curves.file_name(name, point, ending)
        for name in ("made", "größe")
        for point in POINTS
        for ending in ("", "-loglog", "-UCB-along", "-UCB/2-along", "-UCB∕2-along", "-UCB_2-along", "-σ\0-along")
    ]
    assert names[0] == "made-delta=0.1"
    assert "größe-rho=[0.1,1]-instance=fresh-loglog" in names
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert len(name.encode()) <= 120
        assert re.fullmatch(r"(made|größe)[A-Za-z0-9.,=+()\[\] _-]+", name)
    long = curves.file_name("ö" * 127, {}, "-loglog")  # a folder of results may have any name
    assert len(long.encode()) <= 120
    assert long != curves.file_name("ö" * 127, {}, "-pairs")


def test_formulas_with_a_dash_do_not_run_into_labels():
    assert curves.file_name("made", {"rho": "x1"}, "-x2-UCB") != curves.file_name("made", {"rho": "x1-x2"}, "-UCB")


def test_a_grid_over_long_lists_is_drawn(tmp_path, capsys):
    lists = [[0.1 + i / 1000 for i in range(100)], [0.2 + i / 1000 for i in range(100)]]
    stored(tmp_path, [("UCB", {"rho": values}, {}, [1.0, 2.0]) for values in lists], trials=2)
    names = [curve.name for curve in load(tmp_path)]
    assert [len(name) > 500 and load(tmp_path)[name].name == name for name in names] == [True, True]
    for _ in range(2):
        assert cli.main(["report", str(tmp_path)]) == 0
    assert len(list((tmp_path / "made").glob("*.png"))) == 4
    assert (tmp_path / "report.html").read_text().count("<img") == 4


def test_ranges_can_be_selected(tmp_path):
    points = [[0.1, 1.0], [0.4, 0.6]]
    stored(tmp_path, [("UCB", {"rho": rho}, {}, np.ones(5)) for rho in points], trials=5)
    assert load(tmp_path).select(rho=[0.1, 1.0]).curves[0].panel == {"rho": [0.1, 1.0]}


@pytest.mark.parametrize("package", ["pandas", "xarray"])
def test_without_the_extra_packages_the_error_says_how_to_get_them(folder, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package} is not installed; `pip install 'jaxids\[frames\]'` brings it"):
        load(folder).frame() if package == "pandas" else load(folder).dataset()


def test_damage_is_an_error_or_leaves_an_experiment_out(folder, rng):
    stored(folder, [("UCB", {}, {}, np.ones(5))], trials=5, name="other")
    for content in (b"{", b"{}", b"[]", (folder / "made" / "experiment.json").read_bytes().replace(b"600", b"300")):
        (folder / "made" / "experiment.json").write_bytes(content)
        with pytest.raises(ValueError, match=r"made/experiment\.json: damaged"):
            load(folder)
        said = []
        assert [curve.name for curve in load(folder, said)] == ["other/UCB"]
        assert len(said) == 1


def test_nothing_to_read_is_said(tmp_path):
    with pytest.raises(ValueError, match="no results here; it takes a folder that `jaxids run` wrote to"):
        load(tmp_path)
    stored(tmp_path, [("UCB", {}, {}, np.ones(5))], trials=5, missing={("UCB", 0)})
    with pytest.raises(ValueError, match="no tile is finished here yet"):
        load(tmp_path)
    (tmp_path / "made" / "experiment.json").write_text("{")
    with pytest.raises(ValueError, match=r"experiment\.json: damaged"):
        load(tmp_path)


def test_frames_hold_the_same_numbers(folder):
    results = load(folder)
    frame = results.frame()
    assert list(frame.columns) == ["experiment", "label", "policy", "delta", "step", "mean", "stderr"]
    chosen = frame[(frame.label == "W-TS") & (frame.delta == 0.1)]
    assert np.array_equal(chosen["mean"], results["made-delta=0.1/W-TS"].mean)
    finals = results.frame(finals=True)
    assert len(finals) == 4 * 600
    assert np.allclose(finals.groupby(["delta", "label"]).regret.mean().loc[0.01, "UCB"], results.curves[0].mean[-1])


def test_the_dataset_has_the_same_numbers(folder):
    results, data = load(folder), load(folder).dataset()
    assert dict(data.sizes) == {"curve": 4, "step": len(STEPS), "trial": 600}
    for curve in results:
        assert np.array_equal(data["mean"].sel(curve=curve.name), curve.mean)
        assert np.array_equal(data["final"].sel(curve=curve.name), curve.final)


def test_numbers_of_a_curve_are_those_of_its_last_values(folder):
    curve = load(folder).curves[0]
    assert curve.quantile(0.9) == statistics.quantiles(curve.final, [0.9])[0]
    assert curve.tail(12.0) == statistics.tail(curve.final, 12.0)


@pytest.mark.parametrize("gone", [(), {("TS", 2)}, {("UCB", 1)}, {("UCB", 0), ("TS", 2)}])
def test_differences_are_of_the_trials_of_both(tmp_path, rng, gone):
    """Of all, where one has only the first, and where there are gaps."""
    finals = {label: rng.exponential(scale, 600).astype(np.float32) for label, scale in (("UCB", 10.0), ("TS", 5.0))}
    results = load(stored(tmp_path, [(label, {}, {}, final) for label, final in finals.items()], missing=gone))
    tiles = [range(256), range(256, 512), range(512, 600)]
    both = [i for index, tile in enumerate(tiles) if not {("UCB", index), ("TS", index)} & set(gone) for i in tile]
    trials, mine, theirs = curves.paired(results["UCB"], results["TS"])
    assert np.array_equal(trials, both)
    assert np.array_equal(mine, finals["UCB"][both].astype(float))
    assert np.array_equal(theirs, finals["TS"][both].astype(float))
    apart = mine - theirs
    found = results["UCB"].minus(results["TS"])
    assert found.trials == len(both)
    assert found[:2] == pytest.approx((apart.mean(), apart.std(ddof=1) / np.sqrt(len(both))))
    assert results.differences() == results.differences("TS") == {"made/UCB": found}
    assert results.differences("UCB")["made/TS"].mean == -found.mean


def test_nothing_is_searched_or_copied_where_trials_are_the_same(folder, monkeypatch):
    monkeypatch.setattr(np, "intersect1d", None)
    one, other, *_ = load(folder).curves
    _, mine, theirs = curves.shared(one, other)
    assert np.shares_memory(mine, one.final)
    assert np.shares_memory(theirs, other.final)


def test_curves_without_a_common_trial_have_no_difference(tmp_path):
    tables = [(label, {}, {}, np.ones(4)) for label in ("UCB", "TS")]
    results = load(stored(tmp_path, tables, trials=4, width=2, missing={("UCB", 0), ("TS", 1)}))
    assert results.differences() == {}
    with pytest.raises(ValueError, match=r"other: got made/TS; it takes a curve with trials of made/UCB"):
        results["UCB"].minus(results["TS"])
    with pytest.raises(ValueError, match=r"reference: got 'UBC'; nearest: UCB"):
        results.differences("UBC")


def test_statistics_as_csv(folder, capsys):
    assert cli.main(["export", str(folder), "--statistics", "--above", "10", "25.5"]) == 0
    rows, results = list(csv.DictReader(io.StringIO(capsys.readouterr().out))), load(folder)
    assert [row["label"] for row in rows] == ["UCB", "W-TS"] * 2
    assert [row["delta"] for row in rows] == ["0.01", "0.01", "0.1", "0.1"]
    for row, curve in zip(rows, results, strict=True):
        assert [float(row[name]) for name in ("trials", "mean", "stderr")] == [600, curve.mean[-1], curve.stderr[-1]]
        for name, found in (
            ("median", curve.quantile(0.5)),
            ("quantile_90", curve.quantile(0.9)),
            ("quantile_99", curve.quantile(0.99)),
            ("above_10", curve.tail(10.0)),
            ("above_25.5", curve.tail(25.5)),
        ):
            assert tuple(float(row[name + end]) for end in ("", "_stderr", "_low", "_high")) == found
        found = results.differences().get(curve.name)
        assert (row["against"] == "") == (found is None)
        if found:
            names = ("difference", "difference_stderr", "difference_unpaired", "correlation")
            assert tuple(float(row[name]) for name in names) == (*found[:3], found.correlation)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--finals", "--statistics"], "jaxids export: --statistics: not allowed with argument --finals"),
        (["--above", "3"], "jaxids: --above: got one without --statistics, of which it is a part"),
        (["--statistics", "--above", "nan"], "jaxids export: --above: got 'nan'; it takes a number"),
    ],
)
def test_slips_of_export_are_named(folder, options, said, capsys):
    assert cli.main(["export", str(folder), *options]) == 2
    assert capsys.readouterr().err == said + "\n"


@pytest.mark.parametrize("finals", [False, True])
def test_csv_comes_back_to_the_bit(folder, finals, capsys, tmp_path):
    options = ["--finals"] * finals
    assert cli.main(["export", str(folder), *options]) == 0
    printed = capsys.readouterr().out
    assert cli.main(["export", str(folder), "--csv", str(tmp_path / "x.csv"), *options]) == 0
    assert (tmp_path / "x.csv").read_text() == printed
    rows, frame = list(csv.DictReader(io.StringIO(printed))), load(folder).frame(finals)
    assert len(rows) == 4 * (600 if finals else len(STEPS))
    assert list(rows[0]) == list(frame.columns)
    for name, column in frame.items():  # pandas' own reader of numbers rounds, unless it is of version 3
        assert [type(value)(row[name]) for row, value in zip(rows, column, strict=True)] == column.tolist()


def test_experiments_of_different_grids_share_a_table(folder, rng):
    stored(folder, [("UCB, sigma = 1", {}, {"sigma": 1.0}, rng.exponential(1.0, 50))], trials=50, name="other")
    frame = load(folder).frame()
    assert frame[frame.experiment == "other"].delta.isna().all()
    assert frame[frame.experiment == "made"].sigma.isna().all()
    out = io.StringIO()
    load(folder).write_csv(out)
    assert out.getvalue().splitlines()[0] == "experiment,label,policy,delta,sigma,step,mean,stderr"


@pytest.mark.parametrize("command", ["plot", "report", "export"])
def test_a_folder_that_is_none_is_said(tmp_path, command, capsys):
    assert cli.main([command, str(tmp_path / "nowhere")]) == 2
    nowhere = f"DIR: got '{tmp_path}/nowhere'; it takes a folder that `jaxids run` wrote to"
    assert capsys.readouterr().err == f"jaxids {command}: {nowhere}\n"
    assert cli.main([command, str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err
        == f"jaxids: {tmp_path}: no results here; it takes a folder that `jaxids run` wrote to\n"
    )
