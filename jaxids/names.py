"""Names and defaults that everything shares, as plain data: the command line answers without JAX.

The thirteen policies of the paper, numbers for where none is given, and the series a run can keep besides regret.
"""

from typing import Literal, NamedTuple

__all__ = [
    "BOUNDS",
    "DELTA",
    "LAM",
    "LEAST",
    "NORM_BOUND",
    "PROPOSALS",
    "SERIES",
    "THIRTEEN",
    "Plan",
]

DELTA = 0.01
LAM = 1.0
NORM_BOUND = 1.0
LEAST = 1024  # trials before a standard error is looked at
PROPOSALS = 10  # posterior draws that I^E averages over


class Plan(NamedTuple):
    """What sets one policy apart from the others."""

    family: Literal["UCB", "TS", "IDS"]
    weighted: bool = True  # by each action's ρ, else by one bound R for all
    inflated: bool = False  # TS: a posterior draw with β_t times the spread
    gain: Literal["F", "UCB", "TS", "E"] = "F"  # IDS: the information function
    deterministic: bool = False  # IDS: the best single action


THIRTEEN: dict[str, Plan] = {
    "UCB": Plan("UCB", weighted=False),
    "W-UCB": Plan("UCB"),
    "TS": Plan("TS", weighted=False),
    "W-TS": Plan("TS"),
    "FW-TS": Plan("TS", inflated=True),
    "IDS-F": Plan("IDS", gain="F"),
    "DIDS-F": Plan("IDS", gain="F", deterministic=True),
    "IDS-UCB": Plan("IDS", gain="UCB"),
    "DIDS-UCB": Plan("IDS", gain="UCB", deterministic=True),
    "IDS-TS": Plan("IDS", gain="TS"),
    "DIDS-TS": Plan("IDS", gain="TS", deterministic=True),
    "IDS-E": Plan("IDS", gain="E"),
    "DIDS-E": Plan("IDS", gain="E", deterministic=True),
}

SERIES: dict[str, str] = {
    "simple_regret": "regret of the action of the highest estimate after the step",
    "ratio": "Ψ of what was played: of its mix, or of the one action with I^F",
    "gain": "the gain expected of what was played, by the policy's own information function, or by I^F",
    "beta": "β_t, the width of the confidence band in σ_t, times the policy's scale",
    "information": "I^F of the action played, log(1 + σ²/ρ²): its sum over steps is log det V_t − log det V_0",
}
BOUNDS: dict[str, str] = {  # what the regret bounds are made of, as series
    "ratio_sum": "ΣΨ_t of what was played, with the true gaps",
    "surrogate_sum": "ΣΨ_t⁺ of what was played, with the surrogate gaps",
    "gain_sum": "ΣI_t(x_t) of the actions played, by the policy's own information function, or by I^F",
    "gamma": "γ_t, a bound of that sum whatever is played: r log(1 + t s/r), r the rank of the features",
    "signal": "s, the largest σ_0(x)²/ρ(x)²; on a box or ball, of many points inside and on its boundary",
    "spread": "the largest σ_0(x)²/log(1 + σ_0(x)²/ρ(x)²), of the same points",
    "gap_bound": "S, the largest regret of an action",
    "chain_breaks": "at how many steps not Ψ⁺(IDS) ≤ Ψ⁺(DIDS) ≤ Ψ⁺(UCB)",
}
