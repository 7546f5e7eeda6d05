"""Docstrings as the reference shows them: examples as code, fields in a table, shapes of arrays as they are written."""

import re
from typing import Any

import griffe

from jaxids import names

EXAMPLE = re.compile(r"^ *>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
COMMENT = re.compile(r"^[^#]*?\S\s+#\s(?P<text>.+)$")
ARRAYS = {"Float", "Int", "UInt32", "Bool", "Real", "Key"}  # of jaxtyping
SHORT = {"_DELTA": names.DELTA, "_LAM": names.LAM, "_NORM": names.NORM_BOUND}
DEFAULTS = SHORT | {f"names.{name}": getattr(names, name) for name in names.__all__}


class Docstrings(griffe.Extension):
    """What Griffe reads of the sources, for readers of the site."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Put doctests into fences. What has no docstring is not shown, such as methods that Python calls by itself."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
        if obj.is_function and re.fullmatch(r"__(?!call|getitem)\w+__", obj.name):
            obj.docstring = None

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Mend the shapes in a signature, and show defaults as numbers."""
        func.returns = _shaped(func.returns)
        for parameter in func.parameters:
            parameter.annotation = _shaped(parameter.annotation)
            parameter.default = _plain(parameter.default)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Mend the shapes in a type, and take the comment on the line of a field for its docstring."""
        attr.annotation, attr.value = _shaped(attr.annotation), _shaped(_plain(attr.value))
        if attr.docstring is None and attr.lineno is not None and attr.lineno == attr.endlineno:
            found = COMMENT.match(attr.lines_collection[attr.filepath][attr.lineno - 1])
            if found:
                attr.docstring = griffe.Docstring(_sentence(found["text"]), lineno=attr.lineno, parent=attr)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Bring fields into a table below the docstring of their class."""
        fields = [each for each in cls.members.values() if each.is_attribute and "property" not in each.labels]
        fields = [each for each in fields if each.is_public and each.annotation is not None]
        if not fields or cls.docstring is None:
            return
        rows = [f"    {each.name}: {each.docstring.value if each.docstring else ''}".rstrip() for each in fields]
        cls.docstring.value += "\n\nAttributes:\n" + "\n".join(rows)
        for each in fields:
            each.docstring = None


def _sentence(comment: str) -> str:
    return comment[0].upper() + comment[1:].removesuffix(".") + "."


def _plain(written: Any) -> Any:
    """The number that a constant of the package stands for."""
    return str(DEFAULTS[str(written)]) if str(written) in DEFAULTS else written


def _shaped(written: Any) -> Any:
    """A type in which the shape of an array is a string again, where it was read as a name."""
    if isinstance(written, griffe.ExprSubscript) and str(written.left) in ARRAYS:
        if isinstance(written.slice, griffe.ExprTuple):
            first, shape = written.slice.elements
            written.slice.elements = [first, '"' + str(shape).strip("'\"") + '"']
    elif isinstance(written, griffe.Expr):
        for part in written.iterate(flat=False):
            if part is not written:
                _shaped(part)
    return written
