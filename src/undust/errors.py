"""The errors undust raises on purpose: each says what was wrong, where, and what to do."""

from __future__ import annotations


class UndustError(Exception):
    """Base of all errors a user can cause or mend."""

    exit_code = 1


class UsageError(UndustError):
    """The call itself cannot be carried out: wrong option, wrong value, nothing to read."""

    exit_code = 2


class InputError(UndustError):
    """An input cannot be read; names the file, the line and what to do.

    >>> str(InputError("a.log", 7, "no URL in this line", "is it a log? try --format"))
    'a.log:7: no URL in this line (is it a log? try --format)'
    """

    def __init__(self, path: str, line: int | None, why: str, hint: str = "") -> None:
        self.path, self.line, self.why, self.hint = path, line, why, hint
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {why}" + (f" ({hint})" if hint else ""))


class BookError(UndustError):
    """A rule book (or one of its rules) is not valid; names the rule and the field."""

    def __init__(self, why: str, rule: str | None = None, field: str | None = None) -> None:
        self.why, self.rule, self.field = why, rule, field
        where = " ".join(p for p in (f"rule {rule}" if rule else "", f"field {field}" if field else "") if p)
        super().__init__(f"{where}: {why}" if where else why)
