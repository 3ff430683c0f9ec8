"""Pictures of the studio for the documentation, made in a real browser: python examples/studio_pictures.py [folder]

Needs Chromium and Playwright. Each scene is a mechanism of the zoo, what is done with it, and a theme.
"""

import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from dalembert import view, zoo

ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1366, "height": 768}


def until(page: Page, expression: str) -> None:
    """Wait for an expression of the page."""
    end = time.monotonic() + 300
    while not page.evaluate(f"!!({expression})"):
        if time.monotonic() > end:
            raise TimeoutError(expression)
        page.wait_for_timeout(50)


def run(page: Page, seconds: float, at: float) -> None:
    """Simulate and show a time of the run."""
    page.fill("#duration", str(seconds))
    page.click("#simulate")
    until(page, "studio.state.runs.A?.more")
    page.evaluate(f"studio.timeline.pause(), studio.timeline.set({at}, true)")
    page.wait_for_timeout(900)


def drag(page: Page, body: str, by: tuple[int, int]) -> None:
    """Press on the middle of a body and draw it aside, the button still down."""
    where = """name => { const s = studio.stage, k = s.scene.bodies.findIndex(b => b.name === name), p = s.poses;
      return s.project([p[7 * k], p[7 * k + 1], p[7 * k + 2]]); }"""
    at = page.evaluate(where, body)
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    for k in range(1, 11):
        page.mouse.move(at["x"] + by[0] * k / 10, at["y"] + by[1] * k / 10)
        page.wait_for_timeout(60)
    until(page, "studio.state.last.source === 'drag'")
    page.wait_for_timeout(1200)


def four_bar(page: Page) -> None:
    page.dblclick("#stage", position={"x": 400, "y": 200})
    run(page, 3.0, 0.62)
    page.click("[data-show=forces]")
    page.click("[data-group=energy]")
    page.wait_for_timeout(700)


def stewart(page: Page) -> None:
    drag(page, "platform", (70, -60))


def comparing(page: Page) -> None:
    run(page, 2.0, 1.2)
    page.click("#keep")
    until(page, "studio.state.runs.B")
    page.locator("#inputs input[type=number]").first.fill("1.5")
    page.keyboard.press("Enter")
    until(page, "studio.state.runs.A.number > studio.state.runs.B.number && studio.state.runs.A.more")
    page.evaluate("studio.timeline.set(1.2, true)")
    page.wait_for_timeout(1200)


def modes(page: Page) -> None:
    page.click("#rest")
    page.wait_for_timeout(1500)
    page.click("#tab-linear")
    page.click("#linearize")
    page.wait_for_selector("#linear tr.pick", timeout=300000)
    page.click("#linear tr.pick >> nth=2")
    page.wait_for_timeout(1500)


def mapped(page: Page) -> None:
    page.click("#tab-map")
    page.click("#map-it")
    page.wait_for_selector("#map canvas:not([hidden])", timeout=300000)
    page.wait_for_timeout(600)


def redundant(page: Page) -> None:
    page.wait_for_timeout(600)
    page.hover("#report .item >> nth=0")
    page.wait_for_timeout(500)


SCENES = {
    "run": ("four_bar", "light", four_bar),
    "drag": ("stewart", "dark", stewart),
    "compare": ("five_bar", "light", comparing),
    "modes": ("furuta", "dark", modes),
    "map": ("planar_3rrr", "light", mapped),
    "redundant": ("bennett", "dark", redundant),
}


def main(folder: Path, names: list[str]) -> None:
    """Make the pictures of these scenes, by default of all."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for name in names or SCENES:
            model, theme, act = SCENES[name]
            entry = zoo.CATALOG[model]
            system = entry.build().compile()
            with view.studio(system, state=system.state(*entry.start()), open=False) as studio:
                context = browser.new_context(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")
                page = context.new_page()
                page.on("pageerror", lambda error: print("error:", error))
                page.goto(f"{studio.url}?quality=high")
                until(page, "window.studio?.state.poses && !studio.state.fresh")
                page.evaluate("studio.stage.camera.fit()")
                act(page)
                page.screenshot(path=folder / f"studio-{name}.png")
                context.close()
            print(folder / f"studio-{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"), sys.argv[2:])
