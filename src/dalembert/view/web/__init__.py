"""The browser's part: three.js, the stage that draws scenes, and how they are packed into pages of one file.

A server gives the files of this folder as they are, with an import map {"three": "…/three.js", "dalembert/": "…/"}. A
page of one file holds them compressed: `packed`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from importlib.resources import files

#: modules by the name they are imported by, and their files here
MODULES = {
    "three": "three.js",
    "dalembert/solids.js": "solids.js",
    "dalembert/marks.js": "marks.js",
    "dalembert/sight.js": "sight.js",
    "dalembert/overlays.js": "overlays.js",
    "dalembert/ground.js": "ground.js",
    "dalembert/gizmo.js": "gizmo.js",
    "dalembert/pointer.js": "pointer.js",
    "dalembert/stage.js": "stage.js",
    "dalembert/poses.js": "poses.js",
}

_LOADER = """<script id="packed" type="text/plain">__DATA__</script>
<script>
window.unpacked = (async () => {
  const text = document.getElementById("packed").textContent, bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const held = JSON.parse(await new Response(stream).text()), imports = {};
  for (const [name, source] of Object.entries(held.modules)) {
    imports[name] = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  }
  const map = document.createElement("script");
  map.type = "importmap";
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  return held.data;
})();
window.unpacked.then(data => import("__MAIN__").then(m => m.main(data))).catch(error => {
  const text = `This page cannot be shown: ${error.message ?? error}`;
  document.body.append(Object.assign(document.createElement("p"), { className: "trouble", textContent: text }));
  throw error;
});
</script>"""


def source(name: str) -> str:
    """The text of a file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with its places "__NAME__" filled by the parts of these names.

    >>> filled("<title>__TITLE__</title>__BODY__", {"TITLE": "__BODY__", "BODY": "<p>"})
    '<title>__BODY__</title><p>'
    """
    return re.sub(f"__({'|'.join(parts)})__", lambda found: parts[found[1]], page)


def packed(data: object, main: str, modules: Mapping[str, str] | None = None) -> str:
    """HTML that holds modules and data, compressed, and calls `main(data)` of the module named `main`.

    data: what JSON can hold. modules: {name: source} beside those of `MODULES`. The HTML needs no network; put it at
    the end of a page's body.
    """
    texts = {name: source(file) for name, file in MODULES.items()} | dict(modules or {})
    held = json.dumps({"modules": texts, "data": data}, separators=(",", ":"), ensure_ascii=False)
    text = base64.b64encode(gzip.compress(held.encode(), 9, mtime=0)).decode()
    return filled(_LOADER, {"MAIN": main, "DATA": text})
