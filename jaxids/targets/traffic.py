"""Bytes that a compiled program moves: those of operands and results of whatever is launched.

Of a slice it is what the slice takes, of an update in place what it writes. Values that stay inside a fusion are not
moved, and what a cache holds is moved all the same.
"""

from jaxids.targets import hlo

__all__ = ["moved"]

FREE = {"parameter", "constant", "get-tuple-element", "tuple", "bitcast", "while", "conditional", "call", "after-all"}
SLICES = {"slice", "dynamic-slice"}


def moved(module: hlo.Module, computation: str) -> int:
    """Bytes read and written by one run of a computation."""
    sizes = {each.name: each.size for body in module.computations.values() for each in body}
    return sum(times * _traffic(module, each, sizes) for each, times in hlo.inside(module, computation))


def _traffic(module: hlo.Module, each: hlo.Instruction, sizes: dict[str, int]) -> int:
    if each.code in FREE or each.code.endswith("-done") or "AllocateBuffer" in each.rest:
        return 0
    if each.code == "fusion":
        return _fused(module.computations[each.called("calls")])
    if each.code in SLICES:
        return 2 * each.size
    if each.code == "dynamic-update-slice":
        return 2 * sizes[each.operands[1]]
    return each.size + sum(sizes[name] for name in each.operands)


def _fused(body: list[hlo.Instruction]) -> int:
    by_name = {each.name: each for each in body}
    read = sum(_read(each, body) for each in body if each.code == "parameter")
    return read + _written(body[-1], by_name)


def _read(value: hlo.Instruction, body: list[hlo.Instruction]) -> int:
    """Bytes that a fusion reads of a parameter."""
    total = 0
    for user in body:
        if value.name not in user.operands:
            continue
        if user.code == "bitcast":
            total += _read(user, body)
        elif user.code in SLICES and user.operands[0] == value.name:
            total += user.size
        elif not (user.code == "dynamic-update-slice" and user.operands[0] == value.name):
            total += value.size
    return min(total, value.size)


def _written(root: hlo.Instruction, by_name: dict[str, hlo.Instruction]) -> int:
    if root.code == "tuple":
        return sum(_written(by_name[name], by_name) for name in root.operands)
    if root.code == "bitcast":
        return _written(by_name[root.operands[0]], by_name)
    return by_name[root.operands[1]].size if root.code == "dynamic-update-slice" else root.size
