"""Pages whose text lies outside `docs/`: the README, that of the experiments, the changelog, and the notebooks."""

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "experiments/README.md": "experiments.md", "CHANGELOG.md": "changelog.md"}
NOTEBOOKS = ("quickstart", "paper", "ratio_surfaces", "kernel_bandits", "bounds", "your_own_policy")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages from elsewhere, and the pictures that they show."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
            place = normpath(f"{Path(source).parent.as_posix()}/{picture}")
            files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
        files.append(File.generated(config, page, content=text))
    for notebook in notebooks():
        files.append(File.generated(config, notebook, abs_src_path=str(ROOT / notebook)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between files of the project as links between pages."""
    return LINK.sub(lambda link: _moved(link, page.file.src_uri), markdown)


def _moved(link: re.Match[str], page: str) -> str:
    """A link from where its text lies as one from where the page is; to code that is no page, only its name."""
    homes = {page: source for source, page in PAGES.items()}
    source = homes.get(page, f"docs/{page}")
    target = normpath(f"{Path(source).parent.as_posix()}/{link['target']}")
    if target.endswith((".py", ".toml", ".cff")) and (ROOT / target).exists():
        return link["text"]
    place = PAGES.get(target, target.removeprefix("docs/"))
    place = relpath(place, Path(page).parent.as_posix())
    return f"{link['image']}[{link['text']}]({place}{link['anchor'] or ''})"
