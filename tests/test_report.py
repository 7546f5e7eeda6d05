"""The paper's panels from end to end, small, and their page in a browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import jax
import numpy as np
import pytest
from markupsafe import escape

from jaxids import cli, load, policies, problems, simulate
from jaxids.experiment import again, build, read
from jaxids.policies import Choice, Policy
from jaxids.report import pictures

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
PANELS = ("fig1a", "fig1b", "fig2a", "fig2b")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """All panels, and three policies on fresh instances, with few trials and steps."""
    out, small = tmp_path_factory.mktemp("paper"), ["--trials", "12", "--steps", "60"]
    assert cli.main(["run", str(EXPERIMENTS / "paper"), "--out", str(out), *small]) == 0
    some = ["--set", 'policies=["W-UCB", "W-TS", "IDS-UCB"]']
    assert cli.main(["run", str(EXPERIMENTS / "instances.toml"), "--out", str(out), *small, *some]) == 0
    return out


def test_every_panel_is_drawn(paper):
    for name in PANELS:
        for end in ("", "-loglog"):
            assert (paper / name / f"{name}{end}.png").stat().st_size > 10_000
            assert (paper / name / f"{name}{end}.pdf").stat().st_size > 5_000
    assert (paper / "panels.png").exists()
    assert (paper / "instances" / "instances-pairs.png").exists()


def test_every_claim_is_on_the_page_with_numbers_and_a_verdict(paper):
    page = (paper / "report.html").read_text()
    for name in (*PANELS, "instances"):
        folder = EXPERIMENTS / "paper" if name in PANELS else EXPERIMENTS
        claims = read.read(folder / f"{name}.toml").table["claims"]
        section = page.split(f'<section id="{name}">')[1].split("</section>")[0]
        assert "steps = 60, trials = 12 in place of what the file says" in section
        assert section.count("<td class='verdict ") == len(claims)
        for claim in claims:
            assert str(escape(claim["says"])) in section
    assert page.count(">not run</td>") == 4  # of the fresh instances only two claims have their curves
    for curve in load(paper):
        cells = [curve.label, f"{curve.mean[-1]:.1f}", f"± {2 * curve.stderr[-1]:.1f}"]
        for name in (0.5, 0.9, 0.99):
            value, error, _, _ = curve.quantile(name)
            cells += [f"{value:.1f}", "± –" if np.isnan(error) else f"± {2 * error:.1f}"]
        row = re.sub(r"<td class='number'>|<td>", "<td>", page)
        assert f"<tr><td>{'</td><td>'.join(map(str, cells))}</td><td>12</td></tr>" in row


def test_differences_are_on_the_page_paired_and_not(paper):
    for name, panel in zip((*PANELS, "instances"), load(paper).panels, strict=True):
        section = (paper / "report.html").read_text().split(f'<section id="{name}">')[1].split("</section>")[0]
        least = min(panel.curves, key=lambda curve: curve.mean[-1])
        shown = section.split("<table class='differences'>")[1].split("</table>")[0]
        assert f"regret − that of {least.label}<" in shown
        assert shown.count("<tr>") == len(panel.curves)
        for other in panel.curves:
            apart = other.final.astype(float) - least.final.astype(float)
            error = 2 * np.std(apart, ddof=1) / np.sqrt(12)
            row = (
                f"<td>{other.label}</td><td class='number'>{apart.mean():.1f}</td><td class='number'>± {error:.2f}</td>"
            )
            assert (row in shown) == (other is not least)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_the_page_needs_nothing_else(paper):
    links, page = Links(), (paper / "report.html").read_text()
    links.feed(page)
    inside = [link for link in links.found if link.startswith("#")]
    assert inside == [f"#{name}" for name in (*PANELS, "instances")]
    assert all(link.startswith("data:image/png;base64,") for link in links.found if link not in inside)
    assert len(links.found) == 11 + 5
    assert not re.search(r"@import|url\(", page)


COUNT = """<script>addEventListener("load", () => { document.body.innerHTML = JSON.stringify({
  images: [...document.images].map(i => [i.alt, i.complete, i.naturalWidth, i.getBoundingClientRect().width]),
  rows: [...document.querySelectorAll("table.finals")].map(t => t.rows.length),
  verdicts: document.querySelectorAll("table.claims td.verdict").length,
  wide: document.documentElement.scrollWidth, title: document.title,
}) })</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [1280, 420])
def test_a_browser_shows_images_and_tables(paper, tmp_path, width):
    (tmp_path / "page.html").write_text((paper / "report.html").read_text().replace("</body>", COUNT))
    options = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    ended = subprocess.run(
        [
            CHROMIUM,
            *options.split(),
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={tmp_path}/browser",
            f"--window-size={width},900",
            "--virtual-time-budget=20000",
            "--dump-dom",
            (tmp_path / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(re.search(r"<body>(\{.*\})</body>", ended.stdout, re.S)[1])
    names = [f"{name}{end}" for name in (*PANELS, "instances") for end in ("", "-loglog")] + ["instances-pairs"]
    assert [image[0] for image in found["images"]] == names
    assert all(complete and natural > 800 and shown > 300 for _, complete, natural, shown in found["images"])
    assert found["rows"] == [1 + 8, 1 + 10, 1 + 15, 1 + 13, 1 + 3]
    assert found["verdicts"] == 7 + 5 + 5 + 10 + 6
    assert found["title"] == "jaxids: fig1a, fig1b, fig2a, fig2b, instances"


def always_noisier(band, source):
    """UCB that takes the noisier copy of the action it would take: the paper's UCB-σ, word for word."""
    chosen = policies.Optimistic()(band, source).action
    half = band.rho.shape[0] // 2
    return Choice(chosen % half)


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_the_noisier_copy_alone_is_ucb_that_always_takes_it(sigma):
    cells = {cell.label: cell.setting for cell in read.read(EXPERIMENTS / "paper" / "fig2a.toml").cells}
    alone = build.problem_of(cells[f"UCB-{sigma:g}"]["problem"])
    both = build.problem_of(cells[f"IDS-UCB, σ = {sigma:g}"]["problem"])
    assert isinstance(both, problems.LowHigh)
    size = {"key": jax.random.key(0), "trials": 64, "steps": 300}
    expected = simulate(both, Policy(always_noisier, policies.bounded), **size)
    found = simulate(alone, policies.PAPER["UCB"], **size)
    assert np.mean(np.isclose(found.final, expected.final, rtol=1e-3)) > 0.9  # rounding turns few trials
    assert found.mean[-1] == pytest.approx(expected.mean[-1], rel=0.05)


def test_the_paper_s_policies_never_take_the_noisier_copy_and_the_control_does(paper):
    chosen = [curve for curve in load(paper / "fig2a") if "σ" in curve.label]
    assert len(chosen) == 7
    for curve in chosen:
        assert curve.pulls.shape == (12, 60)
        assert curve.pulls.sum() == 12 * 60
        assert curve.pulls[:, :30].sum() == (12 * 60 if curve.policy == "W-UCB" else 0)


def test_instances_are_those_the_trials_met(paper):
    """The regret of a trial after one step is a gap of its instance."""
    curve = load(paper / "instances")["W-UCB"]
    met = again.instances(curve.setting, curve.trials)
    gaps = met.mean.max(axis=1, keepdims=True) - met.mean
    nearest = np.abs(gaps - curve.regret[:, :1]).min(axis=1)
    assert curve.steps[0] == 1
    assert nearest.max() < 1e-5
    assert np.abs(gaps[::-1] - curve.regret[:, :1]).min(axis=1).max() > 1e-3  # and not of another's
    best = [rho[np.argmax(mean)] for mean, rho in zip(met.mean, met.rho, strict=True)]
    assert np.array_equal(pictures._noise_of_best(curve, load(paper / "instances")["W-TS"]), best)
