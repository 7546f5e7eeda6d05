"""The tool that compiles for a GPU reads the compiler's text as it is meant."""

import importlib.util
from pathlib import Path

import pytest

THUNKS = """000: kCommandBuffer [source       | next=003 (1)]
    001: kCopy         [source       | sink        ] kCopy
    002: kCustomKernel [source       | sink        ] loop_broadcast_fusion grid: [157, 1, 1]
003: kWhile         [prev=000 (1) | sink        ]
condition:
    004: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1]
  body:
    000: kCommandBuffer [source | sink]
        005: kCopy         [source       | next=006 (2)] kCopy
        006: kCustomKernel [source       | sink        ] loop_add_fusion grid: [960, 1, 1]
    007: kKernel [prev=000 (1) | sink] loop_add_fusion_1 grid: [960, 1, 1]
008: kCopy [prev=003 (1) | sink] kCopy
"""
KNOWN = '  %while.1 = (s32[]) while(%tuple), body=%b, backend_config={"known_trip_count":{"n":"1250"}}\n'
UNKNOWN = "  %while.2 = (s32[]) while(%tuple), condition=%c, body=%b\n"
CONDITIONAL = "  ROOT %conditional = f32[] conditional(%p, %a, %a), true_computation=%t, false_computation=%f\n"


@pytest.fixture(scope="module")
def tool():
    path = Path(__file__).parents[1] / "tools/compile_for_gpu.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_PLATFORMS", "cpu")  # as the tool does, and back
        spec.loader.exec_module(module)
    return module


def test_launches_of_an_iteration_are_counted(tool):
    assert tool.count_launches(THUNKS) == 3


def test_a_list_with_another_loop_or_none_is_refused(tool):
    with pytest.raises(ValueError, match="expected one loop, got 2"):
        tool.count_launches(THUNKS * 2)
    with pytest.raises(ValueError, match="expected one loop, got 0"):
        tool.count_launches(THUNKS.replace("kWhile", "kKernel"))


def test_host_synchronizations_are_counted(tool):
    assert tool.count_host_syncs(KNOWN) == 0
    assert tool.count_host_syncs(KNOWN + UNKNOWN + CONDITIONAL) == 2
