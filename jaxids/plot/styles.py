"""How a policy looks in every figure: one colour for what it is directed by, one line for how it uses it.

Policies that are not of the paper have colours and lines of their own, in the order in which a run has them.

Colours are those of Okabe and Ito, which readers of any colour vision can tell apart; lines differ as well, so that a
copy in grey still reads. Curves of one policy within a panel differ by markers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxids.names import THIRTEEN, Plan

BLUE, SKY, VERMILION, ORANGE, GREEN, PURPLE, BLACK = (
    "#0072B2",
    "#56B4E9",
    "#D55E00",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#000000",
)
OTHERS = INDIGO, BROWN, MAGENTA, GREY = "#332288", "#8C510A", "#AA4499", "#666666"
SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))
OTHER_LINES = (0, (9, 1.5)), (0, (4, 1.2, 1, 1.2, 1, 1.2)), (0, (2.5, 1.2)), (0, (1, 3))
DPI = 160
MARKERS = ("", "o", "s", "^", "D", "v", "P", "X")


class Style(NamedTuple):
    """Colour and line of a policy, and the marker that tells its curves in one panel apart."""

    color: str
    line: Any
    marker: str = ""


DIRECTED_BY = {"F": GREEN, "UCB": BLUE, "TS": VERMILION, "E": PURPLE}


def _of_plan(plan: Plan) -> Style:
    """The look of one of the paper's policies."""
    if plan.family == "IDS":
        return Style(DIRECTED_BY[plan.gain], DASHED if plan.deterministic else SOLID)
    color = SKY if plan.family == "UCB" else BLACK if plan.inflated else ORANGE
    return Style(color, MIXED if plan.weighted else DOTTED)


PAPER = {name: _of_plan(plan) for name, plan in THIRTEEN.items()}

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "jaxids",
}


def look(policy: str, others: Sequence[str] = ()) -> Style:
    """The style of a policy, one of the paper's or one of the others of a run, which are given in their order."""
    if policy in PAPER:
        return PAPER[policy]
    number = others.index(policy) if policy in others else len(others)
    line, color = divmod(number, len(OTHERS))
    round_, line = divmod(line, len(OTHER_LINES))
    return Style(OTHERS[color], OTHER_LINES[(line + color) % len(OTHER_LINES)], MARKERS[round_ % len(MARKERS)])


def styles_of(policies: Sequence[str], others: Sequence[str] = ()) -> list[Style]:
    """The style of every curve of a panel, given the policies of its curves in order and all others of the run."""
    others = list(dict.fromkeys([*others, *(policy for policy in policies if policy not in PAPER)]))
    looks, found = [look(policy, others) for policy in policies], []
    for i, (policy, style) in enumerate(zip(policies, looks, strict=True)):
        repeat = MARKERS.index(style.marker) + list(policies[:i]).count(policy)
        found.append(style._replace(marker=MARKERS[repeat % len(MARKERS)]))
    return found
