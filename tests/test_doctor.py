"""The doctor finds what is wrong, and only that; on the CPU, and on an accelerator that is made up.

Comparisons have controls that must fail. Their rate of false alarms is tested on pairs that agree in law alone, the
least favourable case: of 600 reports about 6 may have one, and more than 17 would in 1 of 10 000 tests.
"""

import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxids import agreement, cli, faults, outputs, policies, problems, simulate
from jaxids.agreement import Outcome
from jaxids.doctor import check, machine, run, text

NAMES = ("UCB", "W-UCB", "IDS-UCB")


def outcome(early, final, faulty=()):
    kinds = np.zeros(len(final), np.int32)
    kinds[list(faulty)] = 2
    return Outcome(np.asarray(early), np.asarray(final), kinds)


@pytest.fixture(scope="module")
def real():
    """Outcomes of 512 trials of real policies."""

    def of(name, seed):
        arguments = {"key": jax.random.key(seed), "trials": 512}
        problem, policy = problems.unit_ball(30, 3), policies.PAPER[name]
        early, final = (simulate(problem, policy, steps=n, at=[n], **arguments).final for n in (10, 100))
        return outcome(early, final)

    return {(name, seed): of(name, seed) for name, seed in (("W-UCB", 0), ("W-UCB", 1), ("UCB", 0))}


def why(reference, other):
    return "; ".join(agreement.reasons([agreement.compare(reference, other)])[0])


def test_the_same_outcome_agrees(real):
    each = real["W-UCB", 0]
    assert why(each, each) == ""
    rounded = each._replace(early=each.early * (1 + 1e-6), final=each.final * (1 + 1e-5))
    difference = agreement.compare(each, rounded)
    assert (difference.early, difference.late, difference.errors, difference.by_law) == (0, 0, 0, 1)


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_agreement_does_not_depend_on_the_unit_of_reward(unit, rng):
    early, final, faults = rng.gamma(2, 1, 4096), rng.gamma(9, 3, 4096), np.zeros(4096, int)
    once = Outcome(early * unit, final * unit, faults)
    rounded = Outcome(early * unit * (1 + 1e-6), final * unit * (1 + 1e-6), faults)
    assert why(once, rounded) == ""
    other = Outcome(rng.permutation(early) * unit, 1.1 * final * unit, faults)
    assert "differ after the first steps" in why(once, other)
    assert "standard errors off" in why(once, other)


def test_a_few_trials_that_rounding_decides_agree(real):
    each, other = real["W-UCB", 0], real["W-UCB", 1]
    flipped = np.arange(512) < 2
    mixed = each._replace(**{n: np.where(flipped, getattr(other, n), getattr(each, n)) for n in ("early", "final")})
    assert why(each, mixed) == ""
    assert agreement.compare(each, mixed).early == 2


def test_other_noise_is_seen_in_the_first_steps(real):
    assert "trials differ after the first steps" in why(real["W-UCB", 0], real["W-UCB", 1])


def test_another_policy_is_seen_by_every_test(real):
    said = why(real["W-UCB", 0], real["UCB", 0])
    assert "differ after the first steps" in said
    assert "another distribution" in said
    assert "standard errors off" in said


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_factor_in_a_hundredth_of_the_trials_is_seen(real, factor):
    each, wrong = real["W-UCB", 0], np.where(np.arange(512) % 100 == 0, factor, 1)
    said = why(each, each._replace(early=each.early * wrong, final=each.final * wrong))
    assert said.startswith("6 of 512 trials differ")


def test_a_mean_that_drifts_late_is_seen_by_pairs(real):
    each = real["W-UCB", 0]
    assert "standard errors off" in why(each, each._replace(final=each.final * 1.02))


def test_faults_and_what_is_not_finite_are_seen(real):
    each = real["W-UCB", 0]
    faulty = each._replace(faults=np.where(np.arange(512) == 5, 3, 0))
    assert why(each, faulty) == "1 trials have a fault in this way"
    assert why(faulty, each) == "1 trials have a fault in the way compared with"
    broken = each._replace(final=np.where(np.arange(512) == 5, np.nan, each.final))
    assert why(each, broken) == "1 regrets are not finite in this way"
    assert "512 regrets are not finite" in why(each, each._replace(final=np.full(512, np.inf)))


def test_outcomes_of_other_sizes_are_refused(real):
    each = real["W-UCB", 0]
    with pytest.raises(ValueError, match="same trials"):
        agreement.compare(each, Outcome(*(part[:5] for part in each)))


def test_false_alarms_are_as_rare_as_stated():
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(600):
        pairs = rng.lognormal(3, 0.7, (13, 2, 128))
        same = np.zeros(128)
        differences = [agreement.compare(outcome(same, a), outcome(same, b)) for a, b in pairs]
        alarms += any(agreement.reasons(differences))
    assert alarms <= 17


def test_holm_takes_p_values_together():
    rejected = agreement._holm(np.array([0.02, 0.001, 0.5, 0.004]), 0.0125)
    assert rejected.tolist() == [False, True, False, True]
    assert agreement._holm(np.array([]), 0.01).size == 0


def test_shown_text_has_no_home_folder_and_one_line(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/home/someone/dump")
    monkeypatch.setenv("JAXIDS_SMALL", "1")
    facts = machine.facts()
    assert facts["XLA_FLAGS"] == "--xla_dump_to=~/dump"
    assert facts["JAXIDS_SMALL"] == "1"
    assert facts["jax"] == jax.__version__
    assert facts["precision"] == "float32"
    assert machine.one_line(RuntimeError("a\n b" + "c" * 500)).startswith("RuntimeError: a bccc")
    assert len(machine.one_line("c" * 500)) == machine.LONGEST


def test_plugins_are_found_by_name():
    assert all(machine.PLUGINS.match(n) for n in ("jax-cuda12-plugin", "jax_cuda13_plugin", "libtpu", "jax-rocm7-pjrt"))
    assert not any(machine.PLUGINS.match(name) for name in ("jax", "jaxlib", "jaxids", "numpy"))


def test_a_device_that_answers_nothing_is_shown(monkeypatch):
    def silent():
        raise NotImplementedError("no\nstats")

    device = SimpleNamespace(id=0, device_kind="X 1", platform="x", memory_stats=silent, client=None)
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    (shown,) = machine.devices()
    assert (shown["kind"], shown["memory"]) == ("X 1", "not told")
    assert "AttributeError" in shown["version"]


def test_tables_are_tables_in_markdown():
    assert text.table(["a", "b"], [["x|y", ""]]) == "| a   | b |\n| --- | - |\n| x/y | – |"


def of_law(setup, place, policy):
    """A program that rounds as its place does and is right otherwise."""
    rng = np.random.default_rng(list(policies.PAPER.values()).index(policy))
    final = rng.lognormal(3, 0.7, 2**15)
    regret = np.stack([final / 10, final]) * (1 + 1e-7 * len(place.name))

    def tile(first):
        width = slice(first, first + place.width)
        none = np.zeros(place.width, np.int32)
        return {"regret": regret[-len(setup.at) :, width]}, None, (), faults.Fault(none, none)

    return tile


@pytest.fixture
def doctor(monkeypatch, capsys, tmp_path):
    """The command with made-up programs, some of them changed: its code, its page, and the file."""

    def call(*arguments, changed=of_law, accelerator=None):
        monkeypatch.setattr(check, "program", changed)
        if accelerator:
            monkeypatch.setattr(check, "accelerator", lambda: SimpleNamespace(platform=accelerator))
        out = tmp_path / "page.txt"
        code = cli.main(["doctor", *arguments, "--out", str(out)])
        page = capsys.readouterr().out
        assert out.read_text() == page
        return code, page

    return call


def test_all_agrees_on_a_cpu(doctor):
    code, page = doctor()
    assert code == 0
    assert "gpu layout agrees with cpu on 13 of 13 policies." in page
    assert "Left out: an accelerator" in page
    assert page.endswith("All that was compared agrees.\n")


@pytest.mark.parametrize("platform", ["gpu", "tpu", "other"])
def test_all_agrees_on_an_accelerator(doctor, platform):
    code, page = doctor(accelerator=platform)
    assert code == 0
    assert f"{platform} loop agrees with cpu on 13 of 13 policies." in page
    assert "1024 trials, 1000 steps" in page
    times = page.split("## Agreement")[0].split("## Times")[1]
    assert sum(line.count(f"{platform} ") for line in times.splitlines()) == 13


@pytest.mark.parametrize("platform", [None, "gpu"])
def test_a_way_that_raises_is_reported(doctor, platform):
    def raising(setup, place, policy):
        if place.way.platform == "gpu" and policy is policies.PAPER["UCB"]:
            raise RuntimeError("INTERNAL: no\nsuch instruction")
        return of_law(setup, place, policy)

    code, page = doctor("--policies", *NAMES, changed=raising, accelerator=platform)
    assert code == 1
    assert "UCB: does not compile: RuntimeError: INTERNAL: no such instruction" in page
    assert "agrees with cpu on 2 of 2 policies" in page
    assert page.endswith("Something is not right.\n")


def test_a_program_that_fails_when_it_runs_is_reported(doctor):
    def failing(setup, place, policy):
        return of_law(setup, place, policy) if place.name == "cpu" else lambda first: 1 / 0

    code, page = doctor("--policies", "UCB", changed=failing)
    assert code == 1
    assert page.count("does not run: ZeroDivisionError: division by zero") == 2


def test_regrets_that_are_off_are_reported(doctor):
    def off(setup, place, policy):
        def tile(first):
            series, *rest = of_law(setup, place, policy)(first)
            return {"regret": series["regret"] * (1.1 if place.way.steps else 1)}, *rest

        return tile

    code, page = doctor("--policies", *NAMES, changed=off)
    assert code == 1
    assert "gpu layout agrees with cpu on 0 of 3 policies." in page
    assert page.count("NOT RIGHT: gpu layout beside cpu") == 3


def test_what_is_under_way_is_in_the_file(doctor, tmp_path):
    seen = []

    def looking(setup, place, policy):
        seen.append((tmp_path / "page.txt").read_text())
        return of_law(setup, place, policy)

    doctor("--policies", "UCB", changed=looking, accelerator="gpu")
    assert "Under way: UCB on gpu loop." in seen[-1]


def test_without_devices_there_is_a_page_still(doctor, monkeypatch):
    def none():
        raise ValueError("JAX_PLATFORMS: got 'cuda'; it takes kinds of devices that JAX finds here, as cpu")

    monkeypatch.setattr(run.checks, "devices", none)
    code, page = doctor("--steps", "5")
    assert code == 1
    assert "NOT RIGHT: JAX_PLATFORMS: got 'cuda'" in page
    assert "| jaxlib" in page


def test_agreement_of_nothing_with_nothing_is_not_right(doctor, monkeypatch):
    monkeypatch.setattr(check, "cpu", lambda: None)
    code, page = doctor("--policies", "UCB", accelerator="gpu")
    assert code == 1
    assert "NOT RIGHT: nothing could be compared" in page


def test_standard_output_alone(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(check, "program", of_law)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["doctor", "--policies", "UCB", "UCB", "--steps", "3", "--out", "-"]) == 0
    assert capsys.readouterr().out.count("# jaxids doctor") == 1
    assert list(tmp_path.iterdir()) == []
    assert outputs.is_stdout("-")
    assert not outputs.is_replaced("/dev/null")


def test_the_real_thing_on_this_cpu(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "THIRTEEN", ("W-UCB", "UCB"))
    assert cli.main(["doctor", "--trials", "300", "--steps", "20", "--out", str(tmp_path / "page.txt")]) == 0
    page = capsys.readouterr().out
    assert "gpu layout agrees with cpu on 2 of 2 policies." in page


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--policies", "IDS-UBC"], ["--policies", "nearest: IDS-UCB"]),
        (["--trials", "0"], ["--trials", "a whole number ≥ 1"]),
        (["--steps", "9999999999"], ["--steps", "from 1 to 2³¹ − 1"]),
        (["--out", "/no/such/folder/x.txt"], ["--out", "a file in a folder"]),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, expected):
    assert cli.main(["doctor", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert all(part in captured.err for part in expected)


def test_help_does_not_import_jax():
    script = "import sys, jaxids.cli as cli; code = cli.main(['doctor', '--help']); "
    script += "assert not {'jax', 'numpy', 'scipy'} & set(sys.modules); sys.exit(code)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60).returncode == 0
