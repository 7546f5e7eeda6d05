"""Pages whose text lies outside `docs/`: the README, that of the experiments, the changelog, and the notebooks."""

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "experiments/README.md": "experiments.md",
    "experiments/scale.md": "sweeps.md",
    "CHANGELOG.md": "changelog.md",
}
NOTEBOOKS = ("quickstart", "paper", "ratio_surfaces", "kernel_bandits", "bounds", "your_own_policy")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")

HREF = re.compile(r'href="(?P<target>(?!\w+:|#)[^"#?]+)')

DASH = re.compile(r'–\s*<div class="doc-md-description">\s*</div>')


def notebooks() -> list[str]:
    """Those there are, in the order in which to read them."""
    found = [path.stem for path in ROOT.glob("notebooks/*.ipynb")]
    known = [name for name in NOTEBOOKS if name in found]
    return [f"notebooks/{name}.ipynb" for name in known + sorted(set(found) - set(known))]


def on_config(config: MkDocsConfig) -> None:
    """Notebooks come before the reference."""
    config.watch += [str(ROOT / name) for name in (*PAGES, "jaxids")]
    if (found := notebooks()) and config.nav:
        place = next(i for i, entry in enumerate(config.nav) if "Reference" in entry)
        config.nav.insert(place, {"Notebooks": found})


@event_priority(100)  # before plugins look for notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages from elsewhere, and the pictures that they show."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            place = normpath(f"{Path(source).parent.as_posix()}/{picture}")
            files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for notebook in notebooks():
        files.append(File(notebook, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between files of the project as links between pages."""
    return LINK.sub(lambda link: _moved(link, page.file.src_uri), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The same for notebooks, which are HTML by then; and no dash where a field has no words after it."""
    if not page.file.src_uri.endswith(".ipynb"):
        return DASH.sub("", html)
    return HREF.sub(lambda link: f'href="{_place(link["target"], page.file.src_uri, ".html")}', html)


def _moved(link: re.Match[str], page: str) -> str:
    """A link from where its text lies as one from where the page is; to code that is no page, only its name."""
    if link["target"].endswith((".py", ".toml", ".cff")):
        return link["text"]
    return f"{link['image']}[{link['text']}]({_place(link['target'], page)}{link['anchor'] or ''})"


def _place(target: str, page: str, ending: str | None = None) -> str:
    """Where on the site a file of the project is, seen from a page, with another ending if it is a page."""
    homes = {page: source for source, page in PAGES.items()}
    source = homes.get(page, page if page.startswith("notebooks/") else f"docs/{page}")
    target = normpath(f"{Path(source).parent.as_posix()}/{target}")
    place = PAGES.get(target, target.removeprefix("docs/"))
    if ending is not None and place.endswith((".md", ".ipynb")):
        place = place.rsplit(".", 1)[0] + ending
    return relpath(place, Path(page).parent.as_posix())
