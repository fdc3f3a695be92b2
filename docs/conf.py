"""The documentation site (``make docs``): the Markdown of this folder, and docstrings."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent / "src"), str(DOCS.parent)]

from docutils import nodes  # noqa: E402
from tools import notebooks, operator_pages, site_pages  # noqa: E402

import rebind  # noqa: E402
from rebind.ops import OPERATORS  # noqa: E402

project = "rebind"
author = copyright = "the rebind authors"
version = release = rebind.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}  # `read_page` writes a notebook as Markdown
nitpicky = True
nitpick_ignore_regex = [
    # Types that other sites describe, which a build does not ask.
    ("py:.*", r"(collections|contextlib|ctypes|nn|np|numpy|onnx_ir|os|pathlib|torch|types)\..*"),
    # Names for unions of types, as annotations write them, and halves of what is between brackets there.
    ("py:class", r"_?[A-Z]\w*|csr_matrix|(dict|Mapping)\[str"),
    # Types that nobody makes by hand: in modules below those that have a page.
    ("py:class", r"rebind(\.[a-z]\w*){2,}\.\w+|rebind\.(config|monitor|params|registry)\.[A-Z]\w*"),
]
toc_object_entries_show_parents = "hide"  # in the list beside a page, which is narrow
default_role = "code"  # of docstrings: `names` are often those of parameters, which are no references
myst_heading_anchors = 4
highlight_language = "none"  # of code without a language: commands, and what they print
smartquotes = False  # 'same' is what a program says

autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88  # a longer one has a line for each parameter
napoleon_custom_sections = ["Shapes"]
# Types are words ("a float, default 1.0"), and no names to look up.
napoleon_use_param = napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "collapse_navigation": True,  # a page has the links of its own section only: there are 400 operators
    "footer_start": ["version"],
    "footer_end": ["sphinx-version"],
    "logo": {"text": f"rebind {release}"},
    "navigation_with_keys": False,
}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}  # light or dark, as the browser is set
html_search_scorer = str(DOCS / "_static" / "scorer.js")
templates_path = ["_templates"]

#: The pages whose links are the navigation.
INDEXES = {"index", "guide", "project", "differences", "api/index", "operators/index"}
#: The modules with a page in ``api/``.
DOCUMENTED = [
    importlib.import_module(name)
    for page in sorted((DOCS / "api").glob("*.md"))
    for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))
]
#: The classes that are described there.
CLASSES = {
    found
    for module in DOCUMENTED
    for name in module.__all__
    if isinstance(found := getattr(module, name), type)
}


def skip_member(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Leave out operators, which have pages of their own, and fields that the docstring of their tuple describes."""
    is_method = hasattr(found, "__wrapped__")
    is_operator = name in OPERATORS and not isinstance(found, type) and (what == "module" or is_method)
    is_field = (getattr(found, "__doc__", None) or "").startswith("Alias for field number")
    return True if is_operator or is_field else None


def show_public_bases(app: Any, name: str, kind: type, options: Any, bases: list[Any]) -> None:
    """Show the nearest bases that are described, instead of those that only divide a class into files."""
    above = [base for base in kind.__mro__[1:] if base in CLASSES or base.__module__ == "builtins"]
    nearest = [base for base in above if not any(base in other.__mro__[1:] for other in above)]
    bases[:] = nearest or [object]


def open_attribute(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Begin an attribute's docstring with an empty comment: napoleon takes words before a colon for a type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def read_page(app: Any, name: str, text: list[str]) -> None:
    """Show a notebook as Markdown, and correct the links out of this folder; those of an index are the navigation."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".ipynb":
        text[0] = notebooks.as_markdown(json.loads(text[0]), page.name)
    text[0] = site_pages.relink(text[0], page, page)
    if name in INDEXES or name.startswith("operators/topic_"):
        text[0] += site_pages.navigation(text[0])


def trim_code(app: Any, document: nodes.document) -> None:
    """Leave out the empty line that a session in Markdown ends with: doctest needs it, readers do not."""
    for block in document.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # it is plain text, which Sphinx highlights
            block.rawsource = block.rawsource.rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


def shorten_defaults(
    app: Any, what: str, name: str, found: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Show modules and functions that are defaults by their names, without paths and addresses of this machine."""
    named = re.sub(r"<(?:module '|function )([\w.]+)[^>]*>", r"\1", signature or "")
    return named or signature, returned


def setup(app: Any) -> None:
    """Write pages, and connect what Sphinx calls while it reads pages and docstrings."""
    site_pages.write_outside()
    operator_pages.write(DOCS / "operators")
    app.connect("source-read", read_page)
    app.connect("doctree-read", trim_code)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-process-signature", shorten_defaults)
    app.connect("autodoc-process-docstring", open_attribute, priority=400)  # before napoleon
