"""Every policy lowers for GPUs and TPUs, which needs neither: a tile is one module with its loop over steps inside.

What the compiler for an H100 makes of two of them is in `tools/compile_for_gpu.py`.
"""

import re

import jax
import numpy as np
import pytest

from jaxids import layouts, loops, policies, problems, tiles

WIDTH, AT = 128, np.array([5, 10], np.int32)


def test_gpus_and_tpus_have_one_layout():
    assert layouts.of_platform("gpu") == layouts.of_platform("tpu") == layouts.ACCELERATOR != layouts.of_platform("cpu")


@pytest.mark.parametrize("name", policies.PAPER)
def test_a_tile_lowers_to_one_portable_module(name):
    hooks = {"series": (), "record": None, "total": None, "way": loops.Way("gpu", steps=10)}
    given = problems.unit_ball(6, 2), policies.PAPER[name], jax.random.key(0), 0, AT
    traced = tiles.compiled("gpu").trace(*given, width=WIDTH, **hooks)
    for platform in ("cuda", "tpu"):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert re.search(rf"func\.func public @main\(.*\) -> \(?tensor<{len(AT)}x{WIDTH}xf32>", text)
        assert "stablehlo.while" in text
        assert not re.search(r"custom_call|f64|stablehlo\.(case|if)\b", text)
