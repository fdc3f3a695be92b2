"""Links in the Markdown of the repository lead to files and headings that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tools.site_pages import listed

ROOT = Path(__file__).parent.parent.parent
#: What the site makes when it is built.
MADE = ROOT / "docs" / "operators"
PAGES = sorted(
    page
    for folder in (
        "",
        "docs",
        "docs/api",
        "docs/differences",
        "benchmarks",
        "findings",
        "examples",
        "tests/parity",
    )
    for page in (ROOT / folder).glob("*.md")
)


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the targets of a page's links and pictures, with their text."""
    for block in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        for token in block.children or ():
            if token.type == "image":
                yield str(token.attrs["src"]), token.content
            elif token.type == "link_open":
                yield str(token.attrs["href"]), "a link"


def anchors(page: Path) -> set[str]:
    """Return the names that code hosts give the headings of a page."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page(page: Path) -> None:
    for target, text in links(page):
        assert text, f"{page.name}: the picture {target} has no words for those who do not see it"
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if file.is_relative_to(MADE):
            continue
        assert file.exists(), f"{page.name}: {target} is not there"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target} has no such heading"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.is_relative_to(ROOT / "docs")],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_says_first_for_whom_it_is(page: Path) -> None:
    title, empty, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ") and not empty and first.startswith("For "), f"{page.name}: {first}"


def test_each_page_is_in_the_navigation() -> None:
    """The site's navigation is made of the pages with which entries of lists begin."""
    in_navigation = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in listed(page.read_text(encoding="utf-8"))
    }
    sections = {ROOT / "docs" / name for name in ("index.md", "guide.md", "project.md", "differences.md")}
    pages = {
        page
        for page in (ROOT / "docs").rglob("*.*")
        if page.suffix in (".md", ".ipynb") and MADE not in page.parents and "generated" not in page.parts
    }
    missing = [page.relative_to(ROOT).as_posix() for page in sorted(pages - in_navigation - sections)]
    assert missing == []
