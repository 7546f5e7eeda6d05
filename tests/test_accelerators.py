"""Every policy lowers for GPUs and TPUs, which needs neither: a tile is one module with its loop over steps inside.

What their compilers make of it is in `test_targets`.
"""

import re

import jax
import numpy as np
import pytest

from jaxids import loops, policies, problems, tiles

WIDTH, AT = 128, np.array([5, 10], np.int32)
WAYS = {"cuda": loops.Way("gpu", steps=10), "tpu": loops.Way("tpu", steps=10, folded=True)}


@pytest.mark.parametrize("platform", WAYS)
@pytest.mark.parametrize("name", policies.PAPER)
def test_a_tile_lowers_to_one_portable_module(name, platform):
    hooks = {"series": (), "record": None, "total": None, "way": WAYS[platform]}
    given = problems.unit_ball(6, 2), policies.PAPER[name], jax.random.key(0), 0, AT
    traced = tiles.compiled(WAYS[platform].platform).trace(*given, width=WIDTH, **hooks)
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert re.search(rf"func\.func public @main\(.*\) -> \(?tensor<{len(AT)}x{WIDTH}xf32>", text)
    assert "stablehlo.while" in text
    assert not re.search(r"custom_call|f64|stablehlo\.(case|if)\b", text)
