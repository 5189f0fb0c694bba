"""Hooks of MkDocs: the search works from files without another host, and short names in the text do not break."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_HERE = "assets/iframe-worker.js"
# A browser would break `--missing zero` after its hyphens.
_SHORT_CODE = re.compile(r"<code>([^<>]{1,24})</code>")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mark short inline code, which assets/site.css keeps on one line."""
    return _SHORT_CODE.sub(r'<code class="short">\1</code>', html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take the script that makes the search work from files out of the site, not from another host."""
    return output.replace(_ELSEWHERE, get_relative_url(_HERE, page.url))


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same in a page that has no source, such as 404.html."""
    return output.replace(_ELSEWHERE, _HERE)
