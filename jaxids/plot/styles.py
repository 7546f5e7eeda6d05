"""How a policy looks in every figure: one colour for what it is directed by, one line for how it uses it.

Colours are those of Okabe and Ito, which readers of any colour vision can tell apart; lines differ as well, so that a
copy in grey still reads. Curves of one policy within a panel differ by markers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

BLUE, SKY, VERMILION, ORANGE, GREEN, PURPLE, BLACK = (
    "#0072B2",
    "#56B4E9",
    "#D55E00",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#000000",
)
SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))
MARKERS = ("", "o", "s", "^", "D", "v", "P", "X")


class Style(NamedTuple):
    """Colour and line of a policy, and the marker that tells its curves in one panel apart."""

    color: str
    line: Any
    marker: str = ""


PAPER = {
    "UCB": Style(SKY, DOTTED),
    "W-UCB": Style(SKY, MIXED),
    "TS": Style(ORANGE, DOTTED),
    "W-TS": Style(ORANGE, MIXED),
    "FW-TS": Style(BLACK, MIXED),
    "IDS-F": Style(GREEN, SOLID),
    "DIDS-F": Style(GREEN, DASHED),
    "IDS-UCB": Style(BLUE, SOLID),
    "DIDS-UCB": Style(BLUE, DASHED),
    "IDS-TS": Style(VERMILION, SOLID),
    "DIDS-TS": Style(VERMILION, DASHED),
    "IDS-E": Style(PURPLE, SOLID),
    "DIDS-E": Style(PURPLE, DASHED),
}

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


def styles_of(policies: Sequence[str]) -> list[Style]:
    """The style of every curve of a panel, given the policies of its curves in order."""
    return [
        PAPER[policy]._replace(marker=MARKERS[list(policies[:i]).count(policy) % len(MARKERS)])
        for i, policy in enumerate(policies)
    ]
