"""The command line: one small module a verb, each parses, calls the library, prints.

Data goes to stdout, everything else to stderr. A verb is listed when its module is there.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import NoReturn

import click

from undust import __version__
from undust.cli.console import console
from undust.errors import UndustError

VERBS = {
    "learn": "Logs, crawls, lists of URLs in: a rule book out.",
    "apply": "Rewrite URLs by the rules: a filter, one URL a line.",
    "explain": "Which rules fire on a URL, in order, and their evidence.",
    "validate": "Try the rules on the web site itself.",
    "evaluate": "What a book saves and what it risks, in figures.",
    "report": "The same as one HTML page to look at.",
    "export": "Write the rules for another tool.",
    "crawl": "Any input format to one table of pages.",
    "bench": "The papers' tables and figures, and ours.",
    "demo": "The whole way on a small web site that knows its duplicates.",
}
"""The verbs in the order of use, each in one line."""

DONE, FAILED, USAGE, PARTLY, INTERRUPTED = 0, 1, 2, 3, 130


class Verbs(click.Group):
    """Imports a verb when it is called, so that none pays for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb in VERBS if find_spec(f"undust.cli.{verb}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"undust.cli.{cmd_name}").command
        command.short_help = VERBS[cmd_name]
        for option in _console_options():
            if not any(set(option.opts) & set(known.opts) for known in command.params):
                command.params.append(option)
        return command


def _quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console.quiet = console.quiet or value


def _verbose(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console.verbose = console.verbose or value


def _console_options() -> list[click.Option]:
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_quiet,
            help="Only errors on stderr: no progress, no summary.",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_verbose,
            help="Say more; show where an unexpected error came from.",
        ),
    ]


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=_console_options(),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def undust(ctx: click.Context) -> None:
    """Learn, per web site, which differences between URLs do not matter; prove it; rewrite URLs."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line and give its exit code; whatever happens, the user sees no traceback."""
    console.quiet = console.verbose = False
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):  # a URL may hold bytes that are no text: they pass
            stream.reconfigure(errors="surrogateescape")
    try:
        # Not `undust.main`: it has its own mind about closed pipes.
        with undust.make_context("undust", list(sys.argv[1:] if arguments is None else arguments)) as ctx:
            code = undust.invoke(ctx)
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except BrokenPipeError:
        # The reader has had enough. Python would complain once more when it flushes stdout at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE if isinstance(error, click.UsageError) else FAILED
    except UndustError as error:
        click.echo(f"undust: {error}", err=True)
        return error.exit_code
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"undust: {where}{error.strerror or error}", err=True)
        return FAILED
    except MemoryError:
        click.echo("undust: out of memory (try --memory, or fewer inputs at once)", err=True)
        return FAILED
    except ModuleNotFoundError as error:
        if (extra := extra_with(error.name or "")) is None:
            return _unexpected(error)
        click.echo(f"undust: this needs {error.name}: pip install 'undust[{extra}]'", err=True)
        return FAILED
    except Exception as error:
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    if console.verbose:
        traceback.print_exc()
    hint = "" if console.verbose else " (run again with -v to see where, and please report it)"
    click.echo(f"undust: unexpected {type(error).__name__}: {error}{hint}", err=True)
    return FAILED


def extra_with(module: str) -> str | None:
    """The extra of this package that brings a module, if one does.

    >>> extra_with("uvicorn.config"), extra_with("nonsense")
    ('demo', None)
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = requires("undust") or []
    except PackageNotFoundError:  # run from a checkout that is not installed
        return None
    for requirement in wanted:
        found = re.match(r"([\w.-]+).*extra == [\"']([\w-]+)", requirement)
        if found and found[1].replace("-", "_").lower() == module.partition(".")[0].lower():
            return found[2]
    return None


def _terminated(signum: int, frame: FrameType | None) -> NoReturn:
    # As an exception, so that half-written files beside their targets are removed.
    raise SystemExit(128 + signum)


def main() -> NoReturn:
    """The `undust` command."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(run())
