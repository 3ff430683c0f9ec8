"""Waiting for a page without evaluating strings in it, which the policies of the pages forbid."""

import time


def until(page, expression, seconds=120.0):
    """Wait until an expression of the page is true, and return its value."""
    end = time.monotonic() + seconds
    while not (found := page.evaluate(expression)):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(25)
    return found
