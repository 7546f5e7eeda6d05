"""Every policy lowers for GPUs and TPUs, which needs neither: a tile is one module with its loop over steps inside."""

import re

import jax
import numpy as np
import pytest

from jaxids import policies, problems, tiles

WIDTH, AT = 64, np.array([5, 10], np.int32)


@pytest.fixture(scope="module", params=policies.PAPER)
def traced(request):
    run, policy = tiles.compiled("gpu"), policies.PAPER[request.param]
    hooks = {"series": (), "record": None, "total": None}
    return run.trace(problems.unit_ball(6, 2), policy, jax.random.key(0), 0, AT, width=WIDTH, **hooks)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_a_tile_lowers_to_one_portable_module(traced, platform):
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert re.search(rf"func\.func public @main\(.*\) -> \(?tensor<{len(AT)}x{WIDTH}xf32>", text)
    assert text.count("stablehlo.while") >= 2  # the scan over recorded steps, and the loop up to each of them
    assert not re.search(r"custom_call|f64", text)
