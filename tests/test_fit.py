"""Who may compute: by what a store has, by most of the workers, and never one that differs."""

from collections import Counter

import pytest

from jaxids.experiment import build, fit, jobs, kind, policy_names, read, store

A, B = {"jax": "1", "processor": "P"}, {"jax": "2", "processor": "P"}


def facts(table, **sources):
    return fit.Facts(table, sources)


def known(*tables):
    return Counter(map(store.as_json, tables))


@pytest.mark.parametrize(
    ("workers", "there", "here", "expected"),
    [
        ([A, B, B], (), A, B),  # most of a new store's
        ([A, B], (), B, B),  # as many: the one here
        ([B, A], (), A, A),
        ([A, B, B], (A,), B, A),  # the store's, however few
        ([A, A, B], (A, B, B), A, B),  # what most of its cells are of
        ([B], (A,), B, A),  # none like it
    ],
)
def test_the_kind_of_a_run(workers, there, here, expected):
    assert fit.chosen(map(facts, workers), known(*there), here) == expected


def test_a_worker_is_fit_or_it_is_told_why_not():
    wanted = facts(A, **{"mine:policy": "0" * 64})
    assert fit.reason(facts(dict(A), **{"mine:policy": "0" * 64}), wanted) == ""
    assert fit.reason(facts(B, **{"mine:policy": "0" * 64}), wanted) == "jax: got '2', it takes '1'"
    other = fit.reason(facts(A | {"kernel": False}, **{"mine:policy": "1" * 64}), wanted)
    assert "kernel: got False, it takes none" in other
    assert f"source of mine:policy: got '{'1' * 16}', it takes '{'0' * 16}'" in other
    assert fit.reason(ValueError("policies: it\ncannot"), wanted) == "policies: it cannot"
    assert "No module named 'jaxids'" in fit.reason(ModuleNotFoundError("No module named 'jaxids'"), wanted)


def test_what_a_store_has_is_of_the_experiment_and_of_a_known_processor(tmp_path):
    (tmp_path / "some.toml").write_text('policies = ["UCB", "TS"]\ntrials = 3\nsteps = 4\nproblem.actions = 3\n')
    experiment = read.read(tmp_path / "some.toml")
    for number, job in enumerate(jobs.jobs_of(experiment, tmp_path, {"jax": "1", "platform": "cpu"})):
        processor = {"processor": "P"} if number else {}
        store.write(job.folder / fit.CELL, store.as_json(job.setting | processor))
    there, more, other = (read.read(tmp_path / "some.toml", c) for c in ({}, {"trials": 9}, {"steps": 5}))
    assert fit.stored([there], tmp_path) == fit.stored([more], tmp_path) == known(A | {"platform": "cpu"})
    assert not fit.stored([other], tmp_path)
    job.folder.joinpath(fit.CELL).write_text("{")
    assert not fit.stored([there], tmp_path)


def test_the_facts_of_a_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_facts.py").write_text("from jaxids import policies\nmine = policies.ucb()\n")
    found = fit.facts(["UCB", "mine_for_facts:mine"])
    assert found.kind == kind.here() | {"processor": kind.processor()}
    assert found.sources == {"mine_for_facts:mine": policy_names.source("mine_for_facts:mine")["source"]}
    with pytest.raises(ValueError, match="mine_of_nobody cannot be imported"):
        fit.facts(["mine_of_nobody:mine"])
    monkeypatch.setattr(build, "GENERATOR", "rbg")
    with pytest.raises(ValueError, match="JAX_DEFAULT_PRNG_IMPL: got 'threefry2x32'"):
        fit.facts([])
