"""The doctor finds what is wrong, and only that; on the CPU, and on an accelerator that is made up.

Comparisons have controls that must fail. Their rate of false alarms is tested on pairs that agree in law alone, the
least favorable case: of 2400 pairs one has a false alarm in about one of 500 tests.
"""

import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxids import cli, doctor, faults, policies, problems, simulate, tiles


@pytest.fixture(scope="module")
def real():
    """Regrets of 512 trials of real policies, after 10 and after 100 steps."""

    def of(name, seed):
        arguments = {"key": jax.random.key(seed), "trials": 512}
        problem, policy = problems.unit_ball(30, 3), policies.PAPER[name]
        return np.stack([simulate(problem, policy, steps=n, at=[n], **arguments).final for n in (10, 100)])

    return {(name, seed): of(name, seed) for name, seed in (("W-UCB", 0), ("W-UCB", 1), ("UCB", 0))}


def test_the_same_regrets_agree(real):
    each = real["W-UCB", 0]
    assert each.shape == (2, 512)
    assert doctor.disagreement(each, each) == ""
    assert doctor.disagreement(each, each * np.array([[1 + 1e-6], [1 + 1e-5]])) == ""


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_agreement_does_not_depend_on_the_unit_of_reward(unit, rng):
    early, final = rng.gamma(2, 1, 4096) * unit, rng.gamma(9, 3, 4096) * unit
    once = np.stack([early, final])
    assert doctor.disagreement(once, once * (1 + 1e-6)) == ""
    assert "differ after the first steps" in doctor.disagreement(once, np.stack([rng.permutation(early), final]))
    assert "mean regret differs" in doctor.disagreement(once, np.stack([early, 1.1 * final]))


def test_a_few_trials_that_rounding_decides_agree(real):
    each, other = real["W-UCB", 0], real["W-UCB", 1]
    assert doctor.disagreement(each, np.where(np.arange(512) < 2, other, each)) == ""
    assert doctor.disagreement(each, np.where(np.arange(512) < 3, other, each)).startswith("3 of 512 trials differ")


@pytest.mark.parametrize("other", [("W-UCB", 1), ("UCB", 0)])
def test_other_noise_and_another_policy_are_seen_in_the_first_steps(real, other):
    assert "trials differ after the first steps" in doctor.disagreement(real["W-UCB", 0], real[other])


def test_another_policy_is_seen_in_the_mean(real):
    each = real["W-UCB", 0]
    other = np.stack([each[0], real["UCB", 0][1]])
    assert "mean regret differs by" in doctor.disagreement(each, other)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_factor_in_a_hundredth_of_the_trials_is_seen(real, factor):
    each = real["W-UCB", 0]
    wrong = np.where(np.arange(512) % 100 == 0, factor, 1)
    assert doctor.disagreement(each, each * wrong).startswith("6 of 512 trials differ")


def test_a_mean_that_drifts_late_is_seen_by_pairs(real):
    each = real["W-UCB", 0]
    assert "mean regret differs by" in doctor.disagreement(each, each * np.array([[1], [1.02]]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_seen(real, value):
    each = real["W-UCB", 0]
    broken = np.where(np.arange(512) == 5, value, each)
    assert doctor.disagreement(each, broken) == "some regrets are not finite"
    assert doctor.disagreement(broken, each) == "some regrets are not finite"


def test_false_alarms_are_as_rare_as_stated():
    rng, early = np.random.default_rng(0), np.zeros(128)
    for _ in range(2400):
        one, other = rng.lognormal(3, 0.7, (2, 128))
        assert doctor.disagreement(np.stack([early, one]), np.stack([early, other])) == ""


def test_shown_text_has_no_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/home/someone/dump")
    monkeypatch.setenv("JAXIDS_SMALL", "1")
    facts = doctor.facts()
    assert facts["XLA_FLAGS"] == "--xla_dump_to=~/dump"
    assert facts["JAXIDS_SMALL"] == "1"
    assert facts["jax"] == jax.__version__
    assert facts["precision"] == "float32"


def test_packages_are_found_by_name():
    shown = ("jax", "jaxlib", "jaxids", "jax-cuda12-plugin", "jax_cuda13_pjrt", "libtpu", "jax-rocm7-pjrt")
    assert all(doctor.PACKAGES.match(name) for name in shown)
    assert not any(doctor.PACKAGES.match(name) for name in ("jaxtyping", "scipy-stubs", "pytest"))


def of_law(name, device, plan, steps):
    """Regrets that round as their loop does and are right otherwise."""
    rng = np.random.default_rng(doctor.POLICIES.index(name))
    final = rng.lognormal(3, 0.7, doctor.TRIALS)
    return np.stack([final / 10, final]) * (1 + 1e-7 * len(plan))


@pytest.fixture
def answer(monkeypatch, capsys):
    """The command with made-up regrets: its code and what it prints; `accelerator` is a device that is made up."""

    def call(regrets=of_law, accelerator=None):
        monkeypatch.setattr(doctor, "regrets", regrets)
        if accelerator:
            known = jax.local_devices
            device = SimpleNamespace(platform=accelerator, device_kind="X 1")
            device.client = SimpleNamespace(platform_version="PJRT\ndriver 5")
            monkeypatch.setattr(
                jax, "local_devices", lambda backend=None: known(backend=backend) if backend else [device]
            )
        code = cli.main(["doctor"])
        return code, capsys.readouterr().out

    return call


def test_all_agrees_on_a_cpu(answer):
    code, said = answer()
    assert code == 0
    assert f"jax: {jax.__version__}\n" in said
    assert "no accelerator" in said
    assert "\nW-UCB: agrees\nW-TS: agrees\nAll that was compared agrees.\n" in said


@pytest.mark.parametrize("platform", ["gpu", "tpu", "other"])
def test_all_agrees_on_an_accelerator(answer, platform):
    run = []
    code, said = answer(lambda *each: run.append(each) or of_law(*each), platform)
    assert code == 0
    assert "X 1, PJRT driver 5\n" in said
    assert [said.count(f"\n{name}: agrees\n") for name in doctor.POLICIES] == [1] * 4
    assert [(name, device.platform, plan) for name, device, plan, _ in run] == [
        (name, where, where) for name in doctor.POLICIES for where in ("cpu", platform)
    ]


@pytest.mark.parametrize("platform", [None, "gpu"])
def test_a_policy_that_raises_is_reported(answer, platform):
    def raising(name, device, plan, steps):
        if plan == "gpu" and name == "W-UCB":
            raise RuntimeError("INTERNAL: no\nsuch instruction")
        return of_law(name, device, plan, steps)

    code, said = answer(raising, platform)
    assert code == 1
    assert "\nW-UCB: NOT RIGHT: failed: RuntimeError: INTERNAL: no such instruction\n" in said
    assert "\nW-TS: agrees\n" in said
    assert said.endswith("Something is not right.\n")


def test_regrets_that_are_off_are_reported(answer):
    code, said = answer(lambda *each: of_law(*each) * (1 if each[2] == "cpu" else 1.1), "gpu")
    assert code == 1
    assert said.count("NOT RIGHT: 1024 of 1024 trials differ after the first steps\n") == 4


def test_without_devices_there_are_facts_still(answer, monkeypatch):
    def none():
        raise ValueError("JAX_PLATFORMS: got 'cuda'; it takes kinds of devices that JAX finds here, as cpu")

    monkeypatch.setattr(doctor.checks, "devices", none)
    code, said = answer()
    assert code == 1
    assert "NOT RIGHT: ValueError: JAX_PLATFORMS: got 'cuda'" in said
    assert "jaxlib: " in said


def test_agreement_of_nothing_with_nothing_is_not_right(answer, monkeypatch):
    def no_cpu(backend=None):
        if backend == "cpu":
            raise RuntimeError("Unknown backend cpu")
        return [SimpleNamespace(platform="gpu")]

    monkeypatch.setattr(jax, "local_devices", no_cpu)
    code, said = answer()
    assert code == 1
    assert said.endswith("NOT RIGHT: RuntimeError: Unknown backend cpu\n")


def small(monkeypatch, change=lambda outcome: outcome):
    """Few trials and steps, and a change of what the accelerator's loop returns."""
    compiled = tiles.compiled

    def changed(platform):
        def run(*arguments, way, **static):
            outcome = compiled(platform)(*arguments, way=way, **static)
            return outcome if way.platform == "cpu" else change(outcome)

        return run

    monkeypatch.setattr(tiles, "compiled", changed)
    monkeypatch.setattr(doctor, "FEW", ("UCB", "W-UCB"))
    monkeypatch.setattr(doctor, "STEPS", {False: 20})
    monkeypatch.setattr(doctor, "TRIALS", 300)


@pytest.mark.slow
def test_the_real_thing_on_this_cpu(capsys, monkeypatch):
    small(monkeypatch)
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("\nUCB: agrees\nW-UCB: agrees\nAll that was compared agrees.\n")
    lines = said.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["UCB", "UCB", "W-UCB", "W-UCB"]
    assert all("compiling and running the loop of a" in line for line in lines)


def test_a_program_that_gives_other_numbers_is_noticed(capsys, monkeypatch):
    def off(outcome):
        series, *others = outcome
        return {"regret": series["regret"] * np.array([[1], [1.02]])}, *others

    small(monkeypatch, off)
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out.count("NOT RIGHT: mean regret differs by +") == 2


def test_a_program_with_a_fault_is_noticed(capsys, monkeypatch):
    def faulty(outcome):
        *others, fault = outcome
        return *others, faults.Fault(np.where(np.arange(300) == 5, 1, 0), fault.step)

    small(monkeypatch, faulty)
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out.count("NOT RIGHT: failed: ValueError: ") == 2


@pytest.mark.parametrize("arguments", [["--trials", "5"], ["page.txt"]])
def test_bad_input_is_one_line(capsys, arguments):
    assert cli.main(["doctor", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "unrecognized arguments" in captured.err


def test_help_does_not_import_jax():
    script = "import sys, jaxids.cli as cli; code = cli.main(['doctor', '--help']); "
    script += "assert not {'jax', 'numpy', 'scipy'} & set(sys.modules); sys.exit(code)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60).returncode == 0
