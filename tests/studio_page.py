"""A page of the studio in a real browser."""

from browser_waiting import until


class Page:
    """A page of the studio; it notes errors and requests to elsewhere."""

    def __init__(
        self, browser, url, size=(1000, 620), ready="window.studio?.state.poses && !studio.state.fresh", touch=False
    ):
        view = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=view, reduced_motion="reduce", has_touch=touch)
        self.page, self.trouble = self.context.new_page(), []
        self.page.on("pageerror", lambda e: self.trouble.append(str(e)))
        self.page.on("console", lambda m: self.trouble.append(m.text) if m.type == "error" else None)
        own = url.split("/", 3)[2]
        self.page.on(
            "request", lambda r: r.url.startswith(("blob:", "data:")) or own in r.url or self.trouble.append(r.url)
        )
        self.page.goto(f"{url}?quality=low")
        self.until(ready)

    def until(self, expression, seconds=120.0):
        return until(self.page, expression, seconds)

    def __call__(self, expression, argument=None):
        return self.page.evaluate(expression, argument)


def drop(page, name, text):
    """Drop a file on a page."""
    script = """([name, text]) => { const d = new DataTransfer(); d.items.add(new File([text], name));
      window.dispatchEvent(new DragEvent("drop", {dataTransfer: d, bubbles: true, cancelable: true})); }"""
    page(script, [name, text])
