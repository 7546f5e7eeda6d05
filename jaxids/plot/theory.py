"""Regret beside its bounds, policy by policy, and how many times the regret each bound is."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from jaxids.plot.labels import label_ends, short
from jaxids.plot.styles import BLACK, DASHED, DOTTED, DPI, MIXED, RC, SOLID, styles_of
from jaxids.report.theory import Theory

COLUMNS = 4
SIZE = 2.5, 2.1  # inches of one policy's axes
LINES = {"from Ψ": SOLID, "from Ψ⁺": DASHED, "worst case": MIXED}


def beside(theories: Sequence[Theory], title: str, others: Sequence[str] = ()) -> Figure:
    """Mean regret and mean bounds of every policy, on logarithmic axes."""
    columns, rows = min(COLUMNS, len(theories)), -(-len(theories) // COLUMNS)
    looks = styles_of([theory.curve.policy for theory in theories], others)
    with matplotlib.rc_context(RC):
        size = max(columns * SIZE[0], 5.5), rows * SIZE[1] + 0.8
        figure = Figure(figsize=size, dpi=DPI, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, theory, look in zip(grid, theories, looks, strict=False):
            _one(axes, theory, look.color)
        for axes in grid[len(theories) :]:
            axes.set_axis_off()
        for axes in grid[max(len(theories) - columns, 0) : len(theories)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("steps (log)")
        lines = {line.get_label(): line for axes in grid for line in axes.get_lines()}
        shown = {label: line for label, line in lines.items() if not label.startswith("_")}
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False)
        figure.supylabel("regret and its bounds (log)", size=8)
        figure.suptitle(short(title), x=0.01, ha="left", size=8.5, parse_math=False)
    return figure


def _one(axes: Any, theory: Theory, color: str) -> None:
    steps = theory.curve.steps
    axes.plot(steps, theory.trivial.mean(axis=0), color=BLACK, ls=DOTTED, lw=0.9, label="trivial, S·T")
    for bound in theory.bounds:
        axes.plot(steps, bound.values.mean(axis=0), color="#777777", ls=LINES[bound.name], lw=1.1, label=bound.name)
    regret = theory.regret.mean(axis=0)
    axes.plot(steps[regret > 0], regret[regret > 0], color=color, lw=1.8)[0].set_label("_regret")
    axes.plot([], [], color=BLACK, lw=1.8, label="regret (in the policy's colour)")
    axes.set(xscale="log", yscale="log", xlim=(steps[0], max(steps[-1], 2)))
    axes.set_title(f"{short(theory.curve.label)} ({theory.theorem})", loc="left", parse_math=False)


def looseness(theories: Sequence[Theory], others: Sequence[str] = ()) -> Figure:
    """How many times the mean regret each bound is, over time: one picture for each bound, all policies in it."""
    looks = styles_of([theory.curve.policy for theory in theories], others)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(len(LINES) * 4.4, 3.2), dpi=DPI)
        figure.subplots_adjust(left=0.06, right=0.9, wspace=0.6, bottom=0.15, top=0.9)
        for axes, name in zip(figure.subplots(1, len(LINES)), LINES, strict=True):
            ends, labels, colors = [], [], []
            for theory, look in zip(theories, looks, strict=True):
                for bound in (each for each in theory.bounds if each.name == name):
                    times = bound.looseness(theory.regret)
                    axes.plot(theory.curve.steps, times, color=look.color, ls=look.line)
                    ends.append(float(times[-1]))
                    labels.append(theory.curve.label)
                    colors.append(look.color)
            axes.set(xscale="log", yscale="log", xlabel="steps (log)", ylabel="bound / regret (log)")
            axes.set_title(f"bound {name}" if name in ("from Ψ", "from Ψ⁺") else "worst-case bound", loc="left")
            if any(np.isfinite(ends)):
                axes.set_xlim(right=float(max(t.curve.steps[-1] for t in theories)))
                label_ends(axes, np.nan_to_num(ends, nan=1.0).tolist(), labels, colors)
    return figure
