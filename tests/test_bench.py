"""The benchmark measures what it is asked for; the command line answers what is put well and badly."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxids
from jaxids import cli
from jaxids.bench import curves, measure, points, scaling, searches

TINY = ["bench", "--trials", "8", "--steps", "5", "--actions", "8", "--dim", "2", "--repeats", "1"]


def test_searches_are_timed(capsys, monkeypatch):
    monkeypatch.setattr(searches, "OBSERVATIONS", (3,))
    monkeypatch.setattr(searches, "SEARCHES", ("W-UCB",))
    found = searches.run(repeats=1)
    assert list(found) == ["search W-UCB 3"]
    assert (
        capsys.readouterr().out
        == f"W-UCB on a square with 3 observations: {found['search W-UCB 3']:.1f} ms for one action\n"
    )


def test_the_kernel_benchmark_takes_no_sizes(capsys):
    assert cli.main(["bench", "--kernel", "--trials", "3"]) == 2
    assert "--trials: got one together with --kernel, which takes --repeats and --json only" in capsys.readouterr().err


def parse(output):
    headline, columns, *rows = output.splitlines()
    about = dict(part.split("=", 1) for part in headline.split() if "=" in part)
    return about, columns, {row.split()[0]: row.split()[1:] for row in rows}


def test_bench_prints_a_row_for_every_policy_asked(capsys, tmp_path):
    asked = ["UCB", "IDS-UCB"]
    assert cli.main([*TINY, "--policies", *asked, "--json", str(tmp_path / "times.json")]) == 0
    about, columns, rows = parse(capsys.readouterr().out)
    assert (about["K"], about["d"], about["trials"], about["steps"]) == ("8", "2", "8", "5")
    assert about["jax"] == jax.__version__
    assert columns.split()[0] == "policy"
    assert list(rows) == asked
    assert rows["UCB"][1] == "–"
    for cells in rows.values():
        assert len(cells) == 3
        assert all(float(cell) > 0 for cell in cells if cell != "–")
    assert "–" not in rows["IDS-UCB"]
    written = json.loads((tmp_path / "times.json").read_text())
    assert [row["policy"] for row in written["rows"]] == asked
    assert float(rows["IDS-UCB"][1]) == pytest.approx(written["rows"][1]["pairs"], rel=0.01)


def test_numbers_on_standard_output_come_alone(capsys):
    assert cli.main([*TINY, "--policies", "UCB", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert [row["policy"] for row in json.loads(said.out)["rows"]] == ["UCB"]
    assert list(parse(said.err)[2]) == ["UCB"]


def test_numbers_of_kernels_on_standard_output_come_alone(capsys, monkeypatch):
    monkeypatch.setattr(points, "run", lambda **_: print("points") or {"a": 1.0})
    monkeypatch.setattr(searches, "run", lambda _: print("searches") or {"b": 2.0})
    assert cli.main(["bench", "--kernel", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"a": 1.0, "b": 2.0}
    assert said.err == "points\nsearches\n"


@pytest.mark.parametrize(("arguments", "expected"), [(["--help"], "bench"), (["bench", "--help"], "--trials")])
def test_help(capsys, arguments, expected):
    assert cli.main(arguments) == 0
    assert expected in capsys.readouterr().out


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxids {jaxids.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bench", "--policies", "IDS-UBC"], ["--policies", "'IDS-UBC'", "nearest: IDS-UCB"]),
        (["bench", "--policies", "ids-ts"], ["--policies", "'ids-ts'", "nearest: IDS-TS"]),
        (["bench", "--policies", "greedy"], ["--policies", "'greedy'", "DIDS-E"]),
        (["bench", "--trials", "0"], ["--trials", "'0'", "a whole number ≥ 1"]),
        (["bench", "--steps", "-5"], ["--steps", "'-5'", "a whole number ≥ 1"]),
        (["bench", "--actions", "3.5"], ["--actions", "'3.5'", "a whole number ≥ 1"]),
        (["bench", "--dim", "²"], ["--dim", "'²'", "a whole number ≥ 1"]),
        (["bench", "--repeats", "many"], ["--repeats", "'many'", "a whole number ≥ 1"]),
        (["bench", "--repeats"], ["--repeats", "expected one argument"]),
        (["bench", "--json", "/no/such/folder/x.json"], ["--json", "/no/such/folder", "a file in a folder"]),
        (["bench", "--trial", "3"], ["--trial", "unrecognized"]),
        (["brench"], ["COMMAND", "'brench'", "bench"]),
        ([], ["COMMAND", "required"]),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, arguments, expected):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("jaxids")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    for part in expected:
        assert part in captured.err


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "jaxids: interrupted\n"),
        (ValueError("rho: got 0;\nit takes numbers > 0"), 2, "jaxids: rho: got 0; it takes numbers > 0\n"),
    ],
)
def test_what_a_command_raises_ends_in_one_line(capsys, monkeypatch, raised, code, said):
    def fail(*_):
        raise raised

    monkeypatch.setattr(measure, "run", fail)
    assert cli.main(["bench"]) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("arguments", [["--help"], ["bench", "--help"]])
def test_the_command_line_itself_imports_no_numbers_and_no_figures(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "jaxids", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "jaxids" in imported
    assert not {"jax", "jaxlib", "matplotlib", "numpy", "scipy"} & imported


def test_a_mistake_in_a_cluster_is_answered_without_jax():
    code = "import sys; from jaxids import cli; assert cli.main(['run', 'some.toml', '--cluster', 'host']) == 2; "
    code += "assert not {'jax', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_scaling_is_measured_drawn_and_written(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "SECONDS", 0.01)
    monkeypatch.setattr(scaling, "sizes", lambda: [(2, 8), (16, 8), (16, 20), (16, 10**9)])
    plot, numbers = tmp_path / "scaling.png", tmp_path / "times.json"
    arguments = ["--policies", "W-UCB", "--repeats", "1", "--plot", str(plot), "--json", str(numbers)]
    assert cli.main(["bench", "--scaling", *arguments]) == 0
    _, columns, *rows = capsys.readouterr().out.splitlines()
    assert columns.split() == ["policy", "d", "K", "width", "step", "µs", "compile", "s"]
    assert [tuple(row.split()[1:3]) for row in rows[:3]] == [("2", "8"), ("16", "8"), ("16", "20")]
    assert rows[3].startswith("d = 16, K = 1000000000 is left out: it takes about")
    assert plot.read_bytes().startswith(b"\x89PNG")
    written = json.loads(numbers.read_text())
    assert [(row["dim"], row["actions"]) for row in written["rows"]] == [(2, 8), (16, 8), (16, 20)]
    assert all(row["step"] > 0 and row["compile"] > 0 for row in written["rows"])
    assert [(each["d"], each["K"]) for each in written["skipped"]] == [(16, 10**9)]


def test_the_curves_show_both_times_over_both_sizes():
    sizes = [(2, 100), (20, 100), (200, 100), (20, 10), (20, 1000)]
    figure = curves.figure([scaling.Row("W-UCB", d, k, 8, d * k / 100, 5.0) for d, k in sizes], {})
    over_d, over_k, *_ = figure.axes
    assert [axes.get_title() for axes in (over_d, over_k)] == ["K = 100", "d = 20"]
    np.testing.assert_array_equal(over_d.lines[0].get_xydata(), [(2, 2), (20, 20), (200, 200)])
    np.testing.assert_array_equal(over_k.lines[0].get_xydata(), [(10, 2), (100, 20), (1000, 200)])
    np.testing.assert_allclose(over_d.lines[1].get_xydata(), [(2, 2), (200, 200)])  # the guide


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plot", "a.png"], "--plot: got one without --scaling"),
        (["--fresh"], "--fresh: got one without --scaling"),
        (["--scaling", "--trials", "3"], "--trials: got one together with --scaling"),
        (["--scaling", "--kernel"], "--kernel: got it together with --scaling"),
        (["--scaling", "--plot", "a.txt"], "a.txt; it takes a name that ends in .png or .pdf"),
    ],
)
def test_scaling_takes_what_it_is_about(capsys, arguments, said):
    assert cli.main(["bench", *arguments]) == 2
    assert said in capsys.readouterr().err
