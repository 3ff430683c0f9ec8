"""`dalembert cache`: compiled code kept on disk."""

from __future__ import annotations

import click

from dalembert.cli.answer import Answer, titled
from dalembert.cli.options import Group, command


@click.group("cache", cls=Group)
def cache() -> None:
    """Compiled code that is kept: size, clear."""


@command("size", model=False)
def size() -> Answer:
    """Where the cache is, how many entries it has, and how large they are."""
    from dalembert.compiler.cache import LIMIT, kept

    folder, sizes = kept()
    facts = {"folder": str(folder or "none"), "entries": len(sizes), "bytes": sum(sizes), "limit": LIMIT}
    shown = {**facts, "bytes": f"{sum(sizes) / 2**20:.1f} MB of at most {LIMIT / 2**20:.0f} MB"}
    del shown["limit"]
    return Answer(titled("cache", shown), facts)


@command("clear", model=False)
def clear() -> Answer:
    """Remove all of it; what is needed is compiled anew."""
    from dalembert.compiler.cache import clear as cleared

    count, freed = cleared()
    return Answer(f"{count} entries removed, {freed / 2**20:.1f} MB", {"entries": count, "bytes": freed})


cache.add_command(size)
cache.add_command(clear)
