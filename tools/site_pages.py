"""What the documentation site makes of Markdown that code hosts show too: links out of ``docs``, and the navigation.

``docs/conf.py`` calls it while Sphinx reads the pages.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

#: Pages of the site that lie elsewhere in the repository, by their path there.
OUTSIDE = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "RELEASING.md": "releasing",
    "benchmarks/README.md": "benchmarks",
    "findings/README.md": "findings",
    "tests/parity/README.md": "parity",
}
#: The folder of ``docs`` that they are written into, which git ignores.
GENERATED = "generated"

_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def listed(text: str) -> list[str]:
    r"""Return the pages and notebooks with which the entries of a page's lists begin.

    >>> listed("- [a](a.md): as [b](b.md)\n- [c](c/index.ipynb)\n- text\n\n[d](d.md)")
    ['a.md', 'c/index.ipynb']
    """
    return re.findall(r"^- \[[^\]]*\]\(([^)#:]+\.(?:md|ipynb))\)", text, re.MULTILINE)


def relink(text: str, source: Path, page: Path) -> str:
    """Return the text of a page with links that are right on the site; one by the name of a file is without words.

    Parameters
    ----------
    text
        The Markdown.
    source
        The file that it was written for, to which its links are relative.
    page
        The file of ``docs`` that the site reads.

    Examples
    --------
    >>> relink(
    ...     "[a](docs/svrg.md#use), [b](CHANGELOG.md), [c](tests)", ROOT / "README.md", DOCS / "api" / "x.md"
    ... )
    '[a](../svrg.md#use), [b](../generated/changelog.md), c'
    >>> relink("[docs/svrg.md](docs/svrg.md) has more", ROOT / "README.md", DOCS / "x.md")
    '[](svrg.md) has more'
    """

    def change(match: re.Match[str]) -> str:
        words, (target, anchor) = match[1], (match[2], match[3] or "")
        file = (source.parent / target).resolve()
        if file.is_dir():  # a site shows no folders
            return words
        path = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else target
        if path in OUTSIDE:
            file = DOCS / GENERATED / f"{OUTSIDE[path]}.md"
        elif path == "README.md":
            file = DOCS / "index.md"
        if file.suffix == ".md" and Path(words).name == Path(target).name:  # the site fills in the title
            words = ""
        return f"[{words}]({Path(os.path.relpath(file, page.parent)).as_posix()}{anchor})"

    return re.sub(rf"\[([^\]]*){_LINK.pattern}", change, text)


def write_outside() -> None:
    """Write the pages that lie out of ``docs`` into it."""
    folder = DOCS / GENERATED
    folder.mkdir(exist_ok=True)
    for path, name in OUTSIDE.items():
        page = folder / f"{name}.md"
        text = relink((ROOT / path).read_text(encoding="utf-8"), ROOT / path, page)
        if (
            not page.exists() or page.read_text(encoding="utf-8") != text
        ):  # what is unchanged is not read again
            page.write_text(text, encoding="utf-8")


def navigation(text: str) -> str:
    r"""Return a table of contents, for Sphinx, of the pages that a page lists.

    >>> print(navigation("- [a](a.md)\n- [b](b.md)"))
    <BLANKLINE>
    ```{toctree}
    :hidden:
    a.md
    b.md
    ```
    <BLANKLINE>
    """
    return "\n```{toctree}\n:hidden:\n" + "".join(f"{page}\n" for page in listed(text)) + "```\n"
