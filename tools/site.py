"""Hooks of the site: pages of the reference, of messages and of the gallery, pictures of recipes, KaTeX for formulas.

`make gallery` writes figures, animations and numbers to build/gallery, `tools/cookbook.py` pictures to build/cookbook.
`npm install --prefix build katex iframe-worker` brings KaTeX, and what search needs where there is no server. The site
is built without them, too: pages then have no pictures, and formulas appear as they are written.
"""

from __future__ import annotations

import ast
import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
GALLERY, BUILT = ROOT / "examples" / "gallery", ROOT / "build" / "gallery"
DRAWN = ROOT / "build" / "cookbook"
MODULES = ROOT / "build" / "node_modules"
PAGES = ROOT / "build" / "live"  # live pages of the zoo, by tools/live_pages.py
KATEX, WORKER = MODULES / "katex" / "dist", MODULES / "iframe-worker" / "shim" / "index.js"
LIVE = "jansen_live.html"  # stands on the first page
FIRST = {  # questions of the cookbook whose pictures stand there too: what they show
    "get the force in a pin over a cycle?": "The force in a pin over a turn of the crank",
    "lead the crank through a turn?": "Angles and speeds over a turn",
    "draw a Bode diagram?": "A linear model as a Bode diagram",
}
SCRIPTS = ("katex.min.js", "contrib/auto-render.min.js")
log = logging.getLogger("mkdocs.hooks.site")


sys.path.insert(0, str(ROOT / "tools"))
error_page, reference_pages = import_module("error_page"), import_module("reference_pages")
cookbook = import_module("cookbook")
PACKAGE = ROOT / "src" / "dalembert"
LISTING = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def on_config(config: MkDocsConfig) -> None:
    """Ask for KaTeX's style and scripts if they are there."""
    if KATEX.is_dir():
        config.extra_css = ["assets/katex/katex.min.css", *config.extra_css]
        config.extra_javascript = [*(f"assets/katex/{s}" for s in SCRIPTS), *config.extra_javascript]
    else:
        log.info("no KaTeX in build/node_modules: formulas appear as they are written")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each case of the gallery, what the cases wrote, and KaTeX."""
    for path in sorted(DRAWN.glob("*.png")):
        files.append(_copied(config, f"cookbook/{path.name}", path))
    for address, text in reference_pages.pages(LISTING).items():
        files.append(File.generated(config, address, content=text))
    files.append(File.generated(config, "messages.md", content=error_page.page(error_page.sentences(PACKAGE))))
    for case in _cases():
        files.append(File.generated(config, f"gallery/{case}.md", content=_page(case)))
        for ending in (".png", "_card.png", ".html", "_live.html"):
            if (BUILT / f"{case}{ending}").exists():
                files.append(_copied(config, f"gallery/files/{case}{ending}", BUILT / f"{case}{ending}"))
    for path in sorted(PAGES.glob("*.html")):
        files.append(_copied(config, f"live/{path.name}", path))
    if WORKER.exists():
        files.append(_copied(config, "assets/iframe-worker/shim.js", WORKER))
    if KATEX.is_dir():
        for path in [KATEX / "katex.min.css", *(KATEX / s for s in SCRIPTS), *(KATEX / "fonts").glob("*.woff2")]:
            files.append(_copied(config, f"assets/katex/{path.relative_to(KATEX).as_posix()}", path))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Append the pictures of all cases to the gallery's page, link the zoo's live pages, show live mechanisms.

    The list of the reference becomes an overview, and recipes get their pictures, also on the pages of classes.
    Guides begin with a picture.
    """
    if page.file.src_uri == "cookbook.md":
        return str(cookbook.with_pictures(markdown, "cookbook", DRAWN))
    markdown, of = cookbook.led(page.file.src_uri, markdown, DRAWN), page.file.src_uri.split("/")
    if of[0] == "reference" and len(of) == 3:
        shown = cookbook.example(of[2].removesuffix(".md"), cookbook.PAGE.read_text(encoding="utf-8"), "../..", DRAWN)
        return markdown.replace("\n\n::: ", f"\n\n{shown}\n\n::: ", 1)
    if page.file.src_uri == "reference.md":
        return reference_pages.overview(LISTING)
    if page.file.src_uri == "index.md":
        markdown = markdown.replace("<!-- results -->", cookbook.cards(FIRST, "cookbook", DRAWN))
    if page.file.src_uri == "index.md" and (BUILT / LIVE).exists():
        frame = (
            f'<iframe class="player" src="gallery/files/{LIVE}" title="A mechanism to drag" loading="lazy"></iframe>'
        )
        return markdown.replace("<!-- live -->", f"Drag it: its loops stay closed, computed in this page.\n\n{frame}\n")
    if page.file.src_uri == "playground.md" and (PAGES / "playground.html").exists():
        frame = (
            '<iframe class="player" src="../live/playground.html" title="A four-bar to drag" loading="lazy"></iframe>'
        )
        return markdown.replace("<!-- playground -->", frame)
    if page.file.src_uri == "zoo.md":
        for path in PAGES.glob("*.html"):
            markdown = markdown.replace(f"| `{path.stem}` |", f"| [`{path.stem}`](live/{path.name}) |")
        return markdown
    return markdown + _overview() if page.file.src_uri == "gallery.md" else markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link public names to the reference."""
    return reference_pages.linked(html, reference_pages.addresses(LISTING), page.file.dest_uri)


def _cases() -> list[str]:
    return [case for cases in _groups().values() for case in cases]


def _groups() -> dict[str, tuple[str, ...]]:
    """GROUPS of cases.py, read and not imported."""
    tree = ast.parse((GALLERY / "cases.py").read_text(encoding="utf-8"))
    return next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))


def _described(case: str) -> tuple[str, str]:
    """Title and text of a case, from its docstring."""
    text = ast.get_docstring(ast.parse((GALLERY / f"{case}.py").read_text(encoding="utf-8"))) or case
    title, _, rest = text.partition("\n\n")
    return title.rstrip("."), rest


def _page(case: str) -> str:
    title, text = _described(case)
    parts = [f"# {title}", text]
    if (BUILT / f"{case}.html").exists():
        parts.append(f'<iframe class="player" src="files/{case}.html" title="{title}" loading="lazy"></iframe>')
    if (BUILT / f"{case}_live.html").exists():
        parts.append(
            f"[Move it, drop it, see its modes](files/{case}_live.html): the mechanism itself, in your browser."
        )
    if (BUILT / f"{case}.json").exists():
        rows = json.loads((BUILT / f"{case}.json").read_text(encoding="utf-8"))
        parts.append("\n".join(["| | |", "|---|---|", *(f"| {_cell(k)} | {_cell(v)} |" for k, v in rows.items())]))
    if (BUILT / f"{case}.png").exists():
        parts.append(f"![figures of {case}](files/{case}.png)")
    source = (GALLERY / f"{case}.py").read_text(encoding="utf-8")
    parts.append(f"## `{case}.py`\n\n```python\n{source}```\n")
    parts.append(f"Run it with `python examples/gallery {case}`.")
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "&#91;").replace("]", "&#93;").strip()


def _overview() -> str:
    parts = []
    for group, cases in _groups().items():
        cards = []
        for case in cases:
            title, text = _described(case)
            shown = f"![{title}](gallery/files/{case}_card.png)"
            picture = f"[{shown}](gallery/{case}.md)\n\n    " if (BUILT / f"{case}_card.png").exists() else ""
            first = text.replace("\n", " ").split(". ")[0].rstrip(".")
            cards.append(f"-   {picture}**[{title}](gallery/{case}.md)**\n\n    {first}.")
        parts.append(f'\n\n## {group}\n\n<div class="grid cards" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>")
    return f"\n{len(_cases())} machines so far.\n" + "".join(parts) + "\n"


def _copied(config: MkDocsConfig, uri: str, path: Path) -> Any:
    return File.generated(config, uri, abs_src_path=str(path))


if __name__ == "__main__":
    sys.stdout.write("\n".join(_cases()) + "\n")
