"""`undust crawl`: any input format to one table of pages."""

from __future__ import annotations

import click

from undust.cli.console import console, in_part, max_bad_ratio, rejects, url_field
from undust.cli.inputs import sketched
from undust.files import replacing


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(allow_dash=True))
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The table (Parquet).")
@click.option("--format", "format_", help="Force a format; else the first lines decide.")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@url_field
@click.option("--memory", help="How much may be used before spilling to disk, e.g. 2GB.")
@rejects
@max_bad_ratio
def command(
    inputs: tuple[str, ...],
    out: str,
    format_: str | None,
    host: str | None,
    url_field: str | None,
    memory: str | None,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Read logs, URL lists, archives, feeds into one table: a row for each distinct URL.

    Directories, globs and compressed files are taken; `-` is stdin. Texts are sketched and not kept.
    """
    from pyarrow import parquet

    from undust.cli.overview import overview

    read = sketched(
        inputs,
        format=format_,
        host=host,
        url_field=url_field,
        memory=memory,
        rejects=rejects,
    )
    with replacing(out) as file:
        parquet.write_table(read.pages, file, compression="zstd")
    for text in overview(read):
        console.note(text)
    console.reading(read.stats)
    console.summary(
        in_=read.stats.lines, out=read.n, merged=read.stats.records - read.n, rules=0, bad=read.stats.bad
    )
    return 3 if in_part(read.stats, max_bad_ratio) else 0
