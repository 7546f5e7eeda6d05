r"""Formulas as MathML, which browsers draw by themselves: \(…\) and \[…\] of pages, $…$ and $$…$$ of notebooks."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

OF_PAGES = re.compile(r'<(span|div) class="arithmatex">\\(?:\(|\[)(.*?)\\(?:\)|\])</\1>', re.DOTALL)
CODE = re.compile(r"(<(?:pre|code|script|style)\b.*?</(?:pre|code|script|style)>)", re.DOTALL)
OF_NOTEBOOKS = re.compile(
    r"\$\$(?P<block>.+?)\$\$|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$]*?[^\s$\\])?)\$(?!\w)", re.DOTALL
)
CELL = re.compile(r'(?=<div class="jp-Cell jp-)')
NAME = re.compile(r"((?<!<msub>)(?<!<msup>)(?<!<munder>)(?<!<msubsup>)<mi>(?:log|exp)</mi>)")
OUTSIDE = re.compile(
    r'<script[^>]*\bsrc="https?://[^>]*></script>|<script type="text/x-mathjax-config">.*?</script>', re.DOTALL
)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """A page with its formulas drawn."""
    if page.file.src_uri.endswith(".ipynb"):
        return "".join(_cell(cell) for cell in CELL.split(OUTSIDE.sub("", html)))
    return OF_PAGES.sub(lambda found: _drawn(found[2], found[1] == "div"), html)


def _cell(cell: str) -> str:
    """A cell of a notebook; only its text has formulas, and code in it none."""
    if "jp-MarkdownCell" not in cell.split(">", 1)[0]:
        return cell
    parts = CODE.split(cell)
    return "".join(part if i % 2 else OF_NOTEBOOKS.sub(_found, part) for i, part in enumerate(parts))


def _found(found: re.Match[str]) -> str:
    return _drawn(found["block"] or found["inline"], found["block"] is not None)


def _drawn(formula: str, block: bool) -> str:
    """MathML, with the space that names of functions have after them."""
    drawn = convert(html.unescape(formula).strip(), display="block" if block else "inline")
    return NAME.sub(r'\1<mspace width="0.17em" />', drawn)
