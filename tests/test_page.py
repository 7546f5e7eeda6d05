"""The page of a report: what it is made anew for, and that it shows what users wrote as text."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from curves import stored

from jaxids import cli, load
from jaxids.experiment import claims
from jaxids.experiment.results import Results
from jaxids.report import page

HOSTILE = """<script>alert("1")</script><img src=x onerror='alert(2)'> & &amp; {{ 7 * 7 }} {% raw %} ]]> -->"""


@pytest.mark.parametrize("name", ["folder", "point", "missing", "others", "curves"])
def test_a_page_is_made_anew_for_panels_that_look_different(tmp_path, name):
    stored(tmp_path, [("UCB", {}, {}, [1.0, 2.0]), ("TS", {}, {}, [3.0, 4.0])], trials=2)
    (panel,) = load(tmp_path).panels
    others = {
        "folder": replace(panel, name="two"),
        "point": replace(panel, point={"delta": 0.1}),
        "missing": replace(panel, missing=["IDS-UCB"]),
        "others": replace(panel, others=("mine.py:Mine",)),
        "curves": replace(panel, curves=[replace(panel.curves[0], digest="0"), *panel.curves[1:]]),
    }
    same, other = (page._digest(Results(tmp_path, panels)) for panels in (load(tmp_path).panels, [others[name]]))
    assert page._digest(Results(tmp_path, [panel])) == same != other


class Read(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def test_what_users_wrote_is_text(tmp_path):
    """Labels, titles, notes, claims, values of the grid, the file itself, and the name of the experiment."""
    name = "a\"<b>&'"
    labels = [f"UCB {HOSTILE} {i}" for i in range(2)]
    points = [{"problem": f"{HOSTILE} {i}"} for i in range(2)]
    cells = [(label, point, {}, [1.0, 2.0, 5.0]) for point in points for label in labels]
    claim = claims.checked({"says": f"claim {HOSTILE}", "test": "less", "curves": labels})
    described = {"title": f"title {HOSTILE}", "notes": f"notes {HOSTILE} `code {HOSTILE}`", "source": f"file {HOSTILE}"}
    described |= {"changes": {"policies": f"change {HOSTILE}"}, "claims": [claim]}
    stored(tmp_path, cells, trials=3, name=name, split=" ", **described)
    assert cli.main(["report", str(tmp_path)]) == 0
    read = Read((tmp_path / "report.html").read_text())
    shown = "".join(read.texts)
    assert not {"script", "b"} & read.tags
    assert read.attributes == {"lang", "charset", "name", "content", "href", "id", "class", "colspan", "alt", "src"}
    for what in ("title", "claim", "change", "notes", "code", "file"):
        assert f"{what} {HOSTILE}" in shown
    for label in labels:
        assert label in read.texts  # in a cell of its own
    assert all(f"problem = {HOSTILE} {i}" in shown for i in range(2))
    assert name in read.texts
