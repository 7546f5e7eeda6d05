"""Who may compute: by what a store has, by most of the workers, and never one that differs."""

from collections import Counter

import pytest

from jaxids.experiment import build, jobs, kind, policy_names, read, store
from jaxids.experiment.dask_workers import (
    Fingerprint,
    choose_kind,
    count_stored_kinds,
    explain_mismatch,
    fingerprint,
)

A, B = {"jax": "1", "processor": "P"}, {"jax": "2", "processor": "P"}


def made(table, **sources):
    return Fingerprint(table, sources)


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
    assert choose_kind(map(made, workers), known(*there), here) == expected


def test_a_worker_is_fit_or_it_is_told_why_not():
    wanted = made(A, **{"mine:policy": "0" * 64})
    assert explain_mismatch(made(dict(A), **{"mine:policy": "0" * 64}), wanted) == ""
    assert explain_mismatch(made(B, **{"mine:policy": "0" * 64}), wanted) == "jax: got '2', it takes '1'"
    other = explain_mismatch(made(A | {"kernel": False}, **{"mine:policy": "1" * 64}), wanted)
    assert "kernel: got False, it takes none" in other
    assert f"source of mine:policy: got '{'1' * 16}', it takes '{'0' * 16}'" in other
    assert explain_mismatch(ValueError("policies: it\ncannot"), wanted) == "policies: it cannot"
    assert "No module named 'jaxids'" in explain_mismatch(ModuleNotFoundError("No module named 'jaxids'"), wanted)


def test_what_a_store_has_is_of_the_experiment_and_of_a_known_processor(tmp_path):
    (tmp_path / "some.toml").write_text('policies = ["UCB", "TS"]\ntrials = 3\nsteps = 4\nproblem.actions = 3\n')
    experiment = read.read(tmp_path / "some.toml")
    for number, job in enumerate(jobs.jobs_of(experiment, tmp_path, {"jax": "1", "platform": "cpu"})):
        processor = {"processor": "P"} if number else {}
        store.write(job.folder / kind.CELL, store.as_json(job.setting | processor))
    there, more, other = (read.read(tmp_path / "some.toml", c) for c in ({}, {"trials": 9}, {"steps": 5}))
    for each in (there, more):
        assert count_stored_kinds([each], tmp_path) == known(A | {"platform": "cpu"})
    assert not count_stored_kinds([other], tmp_path)
    job.folder.joinpath(kind.CELL).write_text("{")
    assert not count_stored_kinds([there], tmp_path)


def test_the_facts_of_a_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_facts.py").write_text("from jaxids import policies\nmine = policies.ucb()\n")
    found = fingerprint(["UCB", "mine_for_facts:mine"])
    assert found.kind == kind.here() | {"processor": kind.processor()}
    assert found.sources == {"mine_for_facts:mine": policy_names.source("mine_for_facts:mine")["source"]}
    with pytest.raises(ValueError, match="mine_of_nobody cannot be imported"):
        fingerprint(["mine_of_nobody:mine"])
    monkeypatch.setattr(build, "GENERATOR", "rbg")
    with pytest.raises(ValueError, match="JAX_DEFAULT_PRNG_IMPL: got 'threefry2x32'"):
        fingerprint([])
