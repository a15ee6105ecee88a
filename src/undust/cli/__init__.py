"""The command line: one small module a verb, each parses, calls the library, prints.

Data goes to stdout, everything else to stderr. A verb is listed when its module is there.
"""

from __future__ import annotations

import os
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

VERBS = (
    "learn",
    "apply",
    "explain",
    "validate",
    "evaluate",
    "report",
    "export",
    "crawl",
    "bench",
    "demo",
)

DONE, FAILED, USAGE, PARTLY, INTERRUPTED = 0, 1, 2, 3, 130


class Verbs(click.Group):
    """Imports a verb when it is called, so that none pays for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb in VERBS if find_spec(f"undust.cli.{verb}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"undust.cli.{cmd_name}").command
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
    except Exception as error:
        if console.verbose:
            traceback.print_exc()
        hint = "" if console.verbose else " (run again with -v to see where, and please report it)"
        click.echo(f"undust: unexpected {type(error).__name__}: {error}{hint}", err=True)
        return FAILED


def _terminated(signum: int, frame: FrameType | None) -> NoReturn:
    # As an exception, so that half-written files beside their targets are removed.
    raise SystemExit(128 + signum)


def main() -> NoReturn:
    """The `undust` command."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(run())
