"""Links lead somewhere, generated pages are what would be generated, and every page can be reached."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import docs_pages
import pytest


def generator() -> ModuleType:
    """The script that writes the generated pages."""
    spec = importlib.util.spec_from_file_location(
        "generate_docs", docs_pages.REPOSITORY / "scripts" / "generate_docs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dead(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    found = []
    for link in docs_pages.links(page):
        if "://" in link:
            continue
        target, _, name = link.partition("#")
        place = (page.parent / target).resolve() if target else page
        if not place.exists() or (name and place.suffix == ".md" and name not in docs_pages.anchors(place)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", docs_pages.PAGES, ids=lambda p: p.relative_to(docs_pages.REPOSITORY).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = docs_pages.REPOSITORY / "docs" / "index.md"
    seen: set[Path] = set()
    queue = [index]
    while queue:
        page = queue.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        queue += [
            (page.parent / link.partition("#")[0]).resolve() for link in docs_pages.links(page) if "://" not in link
        ]
    lost = {p.name for p in docs_pages.PAGES if p.parent != docs_pages.REPOSITORY} - {p.name for p in seen}
    assert lost == set()


def test_generated_pages_are_up_to_date() -> None:
    for path, text in generator().pages().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run make docs"


def test_every_class_has_a_page() -> None:
    from kernel_contracts.classes import classes

    pages = {p.stem for p in (docs_pages.REPOSITORY / "docs" / "classes").glob("*.md")}
    assert pages == set(classes())


def test_the_changelog_speaks_of_this_version() -> None:
    import tomllib

    project = tomllib.loads((docs_pages.REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"## [{project['version']}]" in (docs_pages.REPOSITORY / "CHANGELOG.md").read_text("utf-8")
