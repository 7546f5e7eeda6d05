"""What compilers write is read as it is meant, on small texts by hand, and stops at the host are seen in them."""

import subprocess
import sys

import pytest

from jaxids import cli
from jaxids.bench import measure
from jaxids.bench import targets as bench
from jaxids.targets import NAMES, apart, devices, estimate, hlo, machine_code, thunks, traffic
from jaxids.targets.program import Program, Refused, Request

KNOWN = ', backend_config={"known_trip_count":{"n":"1250"}}'
HLO = """HloModule jit_f, is_scheduled=true

%fused_update (p.0: f32[200,64], p.1: f32[64], p.2: s32[]) -> f32[200,64] {
  %p.0 = f32[200,64]{1,0} parameter(0)
  %p.1 = f32[64]{0} parameter(1)
  %p.2 = s32[] parameter(2)
  %bitcast.1 = f32[1,64]{1,0} bitcast(%p.1)
  ROOT %dus = f32[200,64]{1,0} dynamic-update-slice(%p.0, %bitcast.1, %p.2, %p.2)
}

%fused_slice (q.0: f32[3,64]) -> (f32[64], pred[64]) {
  %q.0 = f32[3,64]{1,0:T(4,128)S(1)} parameter(0)
  %slice.1 = f32[64]{0} slice(%q.0), slice={[0:1], [0:64]}
  %compare.1 = pred[64]{0} compare(%slice.1, %slice.1), direction=LT
  ROOT %tuple.q = (f32[64]{0}, pred[64]{0}) tuple(%slice.1, %compare.1)
}

%pass (arg.1: (s32[], f32[64])) -> (s32[], f32[64]) {
  %arg.1 = (s32[], f32[64]{0}) parameter(0)
  %gte.1 = f32[64]{0} get-tuple-element(%arg.1), index=1
  %copy.1 = f32[64]{0} copy(%gte.1), backend_config={"estimated_cycles":"7"}
  ROOT %tuple.1 = (s32[], f32[64]{0}) tuple(%gte.0, %copy.1)
}

%until (arg.2: (s32[], f32[64])) -> pred[] {
  %arg.2 = (s32[], f32[64]{0}) parameter(0)
  %gte.2 = s32[] get-tuple-element(%arg.2), index=0
  %limit = s32[] constant(LIMIT)
  ROOT %lt = pred[] compare(%gte.2, %limit), direction=DIRECTION
}

%step (arg: (s32[], f32[200,64], f32[3,64])) -> (s32[], f32[200,64], f32[3,64]) {
  %arg = (s32[], f32[200,64]{1,0}, /*index=2*/f32[3,64]{1,0}) parameter(0)
  %now = s32[] get-tuple-element(%arg), index=0
  %rows = f32[200,64]{1,0} get-tuple-element(%arg), index=1
  %state = f32[3,64]{1,0} get-tuple-element(%arg), index=2
  %row = (f32[64]{0}, pred[64]{0}) fusion(%state), kind=kLoop, calls=%fused_slice
  %gte.3 = f32[64]{0} get-tuple-element(%row), index=0
  %inner = (s32[], f32[64]{0}) while(%row), condition=%until, body=%passINNER
  %updated = f32[200,64]{1,0} fusion(%rows, %gte.3, %now), kind=kLoop, calls=%fused_update
  ROOT %tuple = (s32[], f32[200,64]{1,0}, f32[3,64]{1,0}) tuple(%now, %updated, %state)
}

ENTRY %main (given: f32[3,64]) -> f32[200,64] {
  %given = f32[3,64]{1,0} parameter(0)
  %while.0 = (s32[], f32[64]{0}) while(%given), condition=%until, body=%pass
  %while.1 = (s32[], f32[200,64]{1,0}, f32[3,64]{1,0}) while(%given), condition=%until, body=%stepOUTER
  ROOT %out = f32[200,64]{1,0} get-tuple-element(%while.1), index=1
}
"""


def module(inner=', backend_config={"known_trip_count":{"n":"10"}}', outer=KNOWN, direction="NE"):
    text = HLO.replace("INNER", inner).replace("OUTER", outer).replace("DIRECTION", direction)
    parsed = hlo.parse(text.replace("LIMIT", "10"))
    return parsed, hlo.main(parsed)


def test_the_main_loop_is_the_last_of_the_entry():
    parsed, loop = module()
    assert (parsed.entry, loop.name, loop.called("body"), hlo.trips(parsed, loop)) == ("main", "while.1", "step", 1250)


def test_loops_of_known_counts_do_not_stop():
    parsed, loop = module()
    assert hlo.stops(parsed, loop, "gpu") == 0


@pytest.mark.parametrize(
    ("changed", "stops"), [({"outer": ""}, 1), ({"inner": ""}, 1), ({"inner": "", "outer": ""}, 2)]
)
def test_a_loop_of_unknown_count_stops_a_gpu_and_no_tpu(changed, stops):
    parsed, loop = module(**changed)
    assert hlo.stops(parsed, loop, "gpu") == stops
    assert hlo.stops(parsed, loop, "tpu") == 0


def test_a_conditional_and_a_transfer_stop():
    branch = "%c = f32[64]{0} conditional(%now, %state, %state), branch_computations={%pass, %until}"
    feed = "%f = (f32[64]{0}, token[]) infeed(%token)"
    for added, on_gpu, on_tpu in ((branch, 1, 0), (feed, 1, 1)):
        text = HLO.replace("  %row = ", f"  {added}\n  %row = ").replace("INNER", KNOWN).replace("OUTER", KNOWN)
        parsed = hlo.parse(text)
        assert hlo.stops(parsed, hlo.main(parsed), "gpu") == on_gpu
        assert hlo.stops(parsed, hlo.main(parsed), "tpu") == on_tpu


def test_bytes_are_those_of_slices_and_updates():
    parsed, _ = module()
    of_slice, of_update, of_copy = 256 + 256 + 64, 256 + 4 + 256, 10 * 2 * 256
    assert traffic.moved(parsed, "step") == of_slice + of_update + of_copy


def test_cycles_are_counted_as_often_as_they_are_spent():
    assert hlo.cycles(module()[0], "step") == 70
    counting, _ = module(inner="", direction="LT")  # from 0 to a constant, which a TPU's compiler does not tell
    assert hlo.cycles(counting, "step") == 70
    assert hlo.cycles(module(inner="")[0], "step") == 7
    assert hlo.cycles(module()[0], "fused_slice") is None


THUNKS = """000: kCommandBuffer [source       | next=002 (1)]
    001: kCopy [source | sink] kCopy
002: kWhile         [prev=000 (1) | sink        ]
condition:
    003: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
  body:
    000: kCommandBuffer [source       | next=006 (1)]
        004: kCopy         [source       | sink        ] kCopy
        005: kCustomKernel [prev=004 (1) | sink        ] kernel grid: [1, 1, 1] threads: [1, 1, 1]
    006: kWhile         [prev=000 (1) | next=000 (1)]
condition:
        007: kCustomKernel [source | sink] loop_compare_fusion_1 grid: [1, 1, 1] threads: [1, 1, 1]
      body:
        000: kCommandBuffer [source | sink]
            008: kCustomKernel [source       | next=009 (1)] input_fusion grid: [8, 1, 1] threads: [128, 1, 1]
            009: kCustomKernel [prev=008 (1) | sink        ] loop_fusion grid: [1, 1, 1] threads: [1, 1, 1]
    000: kCommandBuffer [prev=006 (1) | sink        ]
        010: kDynamicSliceFusion [prev=009 (1) | sink] params=1, results=1
            011: kCopy [source | sink] kCopy
"""


def test_launches_are_kernels_and_copies_of_the_loop():
    loop = thunks.main(thunks.parse(THUNKS))
    assert thunks.launches(loop.body, iter([10])) == 2 + 10 * 2 + 1
    assert [node.kind for node in loop.body] == ["kCommandBuffer", "kWhile", "kCommandBuffer"]
    assert [node.label for node in loop.condition] == ["loop_compare_fusion"]
    assert thunks.main(thunks.parse("000: kCopy [source | sink] kCopy")) is None


def test_instructions_are_those_of_the_longest_loop():
    inner = "$L_2:\n\tmul.f32 %f1, %f1, %f1;\n\t@%p1 bra $L_2;\n"
    ptx = f".entry kernel(\n{{\n\tmov.u32 %r1, 0;\n\t@%p0 bra $L_3;\n$L_1:\n\tadd.s32 %r1, %r1, 1;\n{inner}"
    ptx += "\t// a comment\n\t@%p2 bra $L_1;\n$L_3:\n\tret;\n}\n"
    assert machine_code.instructions(ptx) == 4
    assert machine_code.instructions("\tadd.s32 %r1, %r1, 1;\n\tret;\n") == 0


def test_bundles_are_those_as_deep_as_the_loop_over_steps():
    text = "     0   :  { a }\n  0x1   : > { b }\n  0x2 LB: >> { c }\n  0x3   : >>> { d }\n  0x4 PF:  { e }\n"
    assert [machine_code.bundles(text, depth) for depth in (1, 2, 3)] == [3, 2, 1]


PROGRAM = Program("W-UCB", 4, 8.0, 0.5, 0, 1000.0, 0, None, None, None, None, 1.0)


def test_estimates_follow_their_formulas():
    gpu, tpu = devices.named("h100"), devices.named("v5e")
    assert (gpu.cores, gpu.clock, gpu.bandwidth, gpu.architecture) == (132, 1.98e9, 3.35232e12, "sm_90a")
    assert devices.named("a100").architecture == "sm_80"
    small = (8 * 1.3 + 0.5 * 10 + 5 / 4) / 1024
    assert estimate.microseconds(PROGRAM, gpu, 1024) == pytest.approx(small)
    large = 1000 / 3.35232e12 * 1e6 + (0.5 * 10 + 5 / 4) / 2**20
    assert estimate.microseconds(PROGRAM, gpu, 2**20) == pytest.approx(large)
    kernel = PROGRAM._replace(kernels=1, instructions=1500)
    assert estimate.microseconds(kernel, gpu, 16384) == pytest.approx(
        estimate.microseconds(PROGRAM, gpu, 16384) + 1500 / 1.98e3 / 16384
    )
    assert estimate.microseconds(kernel._replace(instructions=None), gpu, 16384) is None
    bundled = kernel._replace(cycles=30.0)
    assert estimate.microseconds(bundled, tpu, 2048) == pytest.approx((1500 * 2 + 30) / 1.5e3 / 2048)
    assert estimate.microseconds(PROGRAM, tpu, 2048) is None


def setup(name="h100"):
    return bench.Setup(name, measure.Setup(["UCB", "IDS-E"], trials=2, steps=2, actions=4, dim=2, repeats=1))


def test_the_table_says_that_nothing_was_executed(capsys, monkeypatch):
    def compiled(request):
        for name in request.policies:
            refused = request.way == "kernel" and name == "IDS-E"
            kernel = {"turn": 100.0, "kernels": 1, "instructions": 10, "registers": 255, "spilled": 8}
            program = PROGRAM._replace(policy=name, **(kernel if request.way == "kernel" else {}))
            yield Refused(name, "too large") if refused else program

    monkeypatch.setattr(devices, "check", devices.named)
    monkeypatch.setattr(apart, "compiled", compiled)
    rows = bench.run(setup())
    head, columns, first, second, *below = capsys.readouterr().out.splitlines()
    assert "target=h100 K=4 d=2 lanes=16384 steps=5000" in head
    assert all(len(text) == len(columns) for text in (first, second))
    assert columns.count("est.") == 2
    assert first.split()[2:5] == ["8", "0.5", "1000"]
    assert first.split()[7:10] == ["100", "255", "8"]
    assert second.split()[-5:] == ["–"] * 5
    assert below[0].startswith("Nothing was executed on this target, NVIDIA H100")
    assert list(below[-2:]) == list(estimate.FORMULAS["gpu"])
    assert rows[1].kernel == Refused("IDS-E", "too large")


def test_what_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr(devices, "_installed", lambda _: False)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    for name, missing in (("h100", "jax-cuda12-plugin"), ("a100", "jax-cuda12-plugin"), ("v5e", "libtpu")):
        assert cli.main(["bench", "--target", name]) == 2
        said = capsys.readouterr().err
        assert f"--target: got '{name}', for which {missing} is not installed" in said
        assert "pip install 'jaxids[targets]'" in said
        assert said.count("\n") == 1


def test_names_and_numbers_that_are_none_are_refused(capsys, monkeypatch):
    assert cli.main(["bench", "--target", "h200"]) == 2
    assert f"--target: got 'h200'; it takes one of {', '.join(NAMES)}" in capsys.readouterr().err
    assert cli.main(["bench", "--kernel", "--target", "h100"]) == 2
    assert "--target: got one together with --kernel" in capsys.readouterr().err
    with pytest.raises(ValueError, match="target: got 'h200'; it takes one of h100, a100, v5e"):
        devices.named("h200")
    monkeypatch.setattr(devices, "check", devices.named)
    with pytest.raises(ValueError, match="every: got 50; it takes a whole number from 1 to steps = 40"):
        next(apart.compiled(Request("h100", [], 6, 2, "loop", 1024, 40, 50)))


def test_a_compiler_that_fails_is_quoted(monkeypatch):
    monkeypatch.setattr(devices, "check", lambda _: None)
    with pytest.raises(ChildProcessError, match=r"^h300: ValueError: target: got 'h300'; it takes one of"):
        list(apart.compiled(Request("h300", ["W-UCB"], 6, 2, "loop", 1024, 40, 10)))


def test_descriptions_ship_with_the_package():
    script = "from jaxids.targets import devices; print(devices.named('a100').title)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.stdout == "NVIDIA A100-SXM4-80GB\n"
