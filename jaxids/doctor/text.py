"""The doctor's page: plain text whose tables are tables in Markdown too, and a verdict in words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxids.agreement import ALPHA, EARLY, Difference, reasons
from jaxids.bench.table import number
from jaxids.doctor.check import FIRST, Ran, Setup

__all__ = ["Compared", "Findings", "agrees", "page", "table", "verdict"]


class Compared(NamedTuple):
    """A policy run two ways."""

    policy: str
    way: str
    reference: str
    difference: Difference


class Findings(NamedTuple):
    """All that there is to tell."""

    facts: Mapping[str, str]
    devices: Sequence[Mapping[str, str]]
    ran: Sequence[Ran]
    compared: Sequence[Compared]
    left_out: Sequence[str]
    troubles: Sequence[str] = ()  # besides what `ran` tells


def page(setup: Setup, found: Findings, under_way: str = "") -> str:
    """Everything as text; while something is under way, its name stands in place of the verdict."""
    parts = ["# jaxids doctor", _facts(found.facts)]
    parts += [table(list(found.devices[0]), [list(each.values()) for each in found.devices])] if found.devices else []
    if found.ran:
        what = "µs for one step of one trial, and seconds to compile (on a CPU alone, side by side)"
        parts += [f"## Times\n\n{_size(setup)}. {what}.", _times(found)]
    if found.compared:
        parts += [f"## Agreement\n\n{_rules(setup, found)}", _agreement(found)]
    if under_way:
        return "\n\n".join([*parts, f"Under way: {under_way}. If this is the end of the page, it ended the process."])
    return "\n\n".join([*parts, "## Verdict", verdict(found)]) + "\n"


def agrees(found: Findings) -> bool:
    """Whether nothing is wrong."""
    return not _wrong(found)


def verdict(found: Findings) -> str:
    """What agrees, what does not, and what was left out, in words."""
    wrong, lines = _wrong(found), []
    said = reasons([each.difference for each in found.compared])
    pairs = dict.fromkeys((each.way, each.reference) for each in found.compared)
    for way, reference in pairs:
        each_said = [s for c, s in zip(found.compared, said, strict=True) if (c.way, c.reference) == (way, reference)]
        good = sum(not s for s in each_said)
        lines.append(f"- {way} agrees with {reference} on {good} of {len(each_said)} policies.")
    lines += [f"- NOT RIGHT: {each}" for each in wrong]
    lines += [f"- Left out: {each}" for each in found.left_out]
    lines.append("\nSomething is not right." if wrong else "\nAll that was compared agrees.")
    return "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns are as wide as what they hold."""
    safe = [[cell.replace("|", "/") or "–" for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in safe]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("-" * width for width in widths), *lines[1:]])


def _wrong(found: Findings) -> list[str]:
    said = reasons([each.difference for each in found.compared])
    raised = [f"{each.place}, {each.policy}: {each.trouble}" for each in found.ran if each.trouble]
    apart = [
        f"{each.way} beside {each.reference}, {each.policy}: {'; '.join(why)}"
        for each, why in zip(found.compared, said, strict=True)
        if why
    ]
    wrong = [*found.troubles, *raised, *apart]
    return wrong if wrong or found.compared else ["nothing could be compared"]


def _facts(facts: Mapping[str, str]) -> str:
    return table(["what", "value"], [[name, value] for name, value in facts.items()])


def _size(setup: Setup) -> str:
    return f"K = 30, d = 3, {setup.trials} trials, {setup.length} steps, a fresh instance for every trial"


def _rules(setup: Setup, found: Findings) -> str:
    return (
        f"{_size(setup)}. Early: trials whose regret differs by more than {EARLY:g} of the mean after "
        f"{min(FIRST, setup.length)} "
        f"steps; {found.compared[0].difference.allowed} may, as rounding decides between near-equals. Late: trials "
        "that differ at the end. Off: their mean difference, in standard errors. p law: of the two-sample test of "
        "final regrets; p pairs: of the difference. With all in order, p-values raise a false alarm in at most "
        f"{ALPHA:.0%} of reports (Holm's method)."
    )


def _times(found: Findings) -> str:
    head = ["policy", "where", "µs", "compile s", "remark"]
    return table(
        head,
        [
            [each.policy, each.place, number(each.microseconds), number(each.compiling), each.trouble]
            for each in sorted(found.ran, key=lambda ran: [other.policy for other in found.ran].index(ran.policy))
        ],
    )


def _agreement(found: Findings) -> str:
    head = [
        "policy",
        "way",
        "reference",
        "early",
        "late",
        "regret",
        "of reference",
        "off",
        "p law",
        "p pairs",
        "faults",
        "verdict",
    ]
    said = reasons([each.difference for each in found.compared])
    rows = []
    for each, why in zip(found.compared, said, strict=True):
        d = each.difference
        numbers = [f"{d.early}", f"{d.late}", f"{d.means[1]:.3f}", f"{d.means[0]:.3f}", f"{d.errors:+.1f}"]
        tests = [f"{d.by_law:.2g}", f"{d.by_pairs:.2g}", f"{d.faults[1]}"]
        rows.append([each.policy, each.way, each.reference, *numbers, *tests, "NOT RIGHT" if why else "agrees"])
    return table(head, rows)
