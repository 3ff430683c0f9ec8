"""`dalembert studio`: the studio with an empty stage."""

from __future__ import annotations

from contextlib import suppress

import click

from dalembert.cli.options import Command, debug_option


@click.command("studio", cls=Command)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on. Default: a free one.")
@click.option("--open/--no-open", "opened", default=True, help="Open it in a browser, or only print its address.")
@debug_option
def studio(port: int, opened: bool) -> int:
    """Sketch a linkage in the browser, or begin with a template, the zoo or a file.

    The studio runs until Ctrl-C, on this computer only. `dalembert view MODEL` opens it with a model.
    """
    from dalembert.studio import studio as studio_of

    shown = studio_of(port=port, open=opened)
    with suppress(KeyboardInterrupt), shown:  # Ctrl-C may come before it waits
        click.echo(f"{shown.url}\nCtrl-C ends it.")
        shown.wait()
    return 0
