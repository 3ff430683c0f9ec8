"""Pictures of the zoo for the studio's start page: `python tools/thumbnails.py [name …]`."""

from __future__ import annotations

import base64
import io
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps
from playwright.sync_api import sync_playwright

from dalembert import view
from dalembert.zoo import CATALOG

TARGET = Path(__file__).parent.parent / "src" / "dalembert" / "studio" / "web"
SIZE, COLORS = (240, 165), 48
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PICTURE = """async () => { const blob = await studio.stage.screenshot(), reader = new FileReader();
  return await new Promise(done => { reader.onload = () => done(reader.result); reader.readAsDataURL(blob); }); }"""


def thumbnail(page: Any, studio: view.Studio, name: str) -> bytes:
    """A mechanism of the zoo as a small PNG."""
    studio.session.do({"do": "zoo", "name": name})
    studio.session.idle(120)
    page.wait_for_function(
        "name => studio.state.model?.name === name && !studio.state.fresh", arg=studio.system.name, timeout=180000
    )
    page.evaluate(
        "studio.stage.setTheme('light'); studio.stage.show({axes: false, gravity: false}); studio.stage.camera.fit()"
    )
    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(base64.b64decode(page.evaluate(PICTURE).split(",")[1]))).convert("RGB")
    picture = ImageOps.fit(picture, SIZE, Image.Resampling.LANCZOS).quantize(COLORS)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def main(names: list[str]) -> None:
    """Write the pictures."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as p, view.studio(open=False) as studio:
        page = p.chromium.launch(executable_path=path, args=ARGUMENTS).new_page(viewport={"width": 1160, "height": 730})
        page.goto(studio.url)
        page.wait_for_function("window.studio")
        for name in names:
            data = thumbnail(page, studio, name)
            (TARGET / f"zoo-{name}.png").write_bytes(data)
            print(name, len(data))


if __name__ == "__main__":
    main(sys.argv[1:] or list(CATALOG))
