"""`dalembert completion`: the script by which a shell completes commands, options and names."""

from __future__ import annotations

import click

from dalembert.cli.options import debug_option


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """The completion script of a shell.

    Put eval "$(dalembert completion bash)" into ~/.bashrc, the same with zsh into ~/.zshrc; for fish write the script
    to ~/.config/fish/completions/dalembert.fish.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "dalembert", "_DALEMBERT_COMPLETE").source())
    return 0
