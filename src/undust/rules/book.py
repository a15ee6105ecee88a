"""The rule book: the rules of each site in one versioned JSON file; equal content, equal bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from undust.errors import BookError
from undust.files import replacing
from undust.rules.compiled import compile_rule
from undust.rules.fits import Fits, compile_schema
from undust.rules.rule import Rule

VERSION = 1
SITE_KEYS = ("host", "domain", "all")


@dataclass
class SiteRules:
    """The rules of one site, the hosts they are for, and what was rejected and why."""

    name: str
    hosts: tuple[str, ...] = ()
    rules: list[Rule] = field(default_factory=list)
    rejected: list[Rule] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts = tuple(sorted({host.lower() for host in self.hosts}))
        if not self.hosts and self.name != "*":
            self.hosts = (self.name.lower(),)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "hosts": list(self.hosts),
            "rules": [rule.to_dict() for rule in sorted(self.rules, key=lambda rule: rule.rank)],
        }
        if self.rejected:
            out["rejected"] = [rule.to_dict() for rule in sorted(self.rejected, key=lambda rule: rule.rank)]
        if self.notes:
            out["notes"] = self.notes
        return out

    @classmethod
    def from_dict(cls, name: str, data: Mapping[str, Any]) -> SiteRules:
        return cls(
            name,
            tuple(data.get("hosts", ())),
            [_rule(name, "rules", place, rule) for place, rule in enumerate(data.get("rules", ()))],
            [_rule(name, "rejected", place, rule) for place, rule in enumerate(data.get("rejected", ()))],
            dict(data.get("notes", {})),
        )


@dataclass
class RuleBook:
    """Rules of many sites. Load, save, look up.

    >>> from undust.rules import Rule, Scope
    >>> book = RuleBook()
    >>> drop = Rule(Scope(("example.com",)), do={"query[sid]": None})
    >>> book.add(SiteRules("example.com", ("example.com", "www.example.com"), [drop]))
    >>> RuleBook.from_dict(book.to_dict()) == book
    True
    >>> [rule.describe() for rule in book.rules()]
    ['example.com: drop sid']
    """

    sites: dict[str, SiteRules] = field(default_factory=dict)
    site_key: str = "host"

    def add(self, site: SiteRules) -> None:
        """Put the rules of a site in, in place of those it had."""
        self.sites[site.name] = site

    def rules(self) -> Iterator[Rule]:
        """All rules, site by site."""
        for site in self.sites.values():
            yield from site.rules

    def __len__(self) -> int:
        return sum(len(site.rules) for site in self.sites.values())

    def to_dict(self) -> dict[str, Any]:
        sites = {name: site.to_dict() for name, site in sorted(self.sites.items())}
        return {"undust": VERSION, "site_key": self.site_key, "sites": sites}

    @classmethod
    def from_dict(cls, data: Any) -> RuleBook:
        """Read a book from parsed JSON; BookError names the rule and the field that are wrong."""
        check(data)
        sites = {name: SiteRules.from_dict(name, site) for name, site in sorted(data["sites"].items())}
        return cls(sites, data.get("site_key", "host"))

    def dumps(self) -> str:
        """The text of the file: sorted keys, indent 2, ASCII, a newline at the end."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str | bytes) -> RuleBook:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BookError(f"this is no JSON: {error}") from None
        return cls.from_dict(data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the book beside `path`, then rename: a killed run leaves the old file or the new one."""
        with replacing(path, compress=False) as file:
            file.write(self.dumps().encode("ascii"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RuleBook:
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise BookError(f"cannot read {path}: {error.strerror}") from None
        try:
            return cls.loads(raw)
        except BookError as error:
            raise BookError(f"{path}: {error.why}", rule=error.rule, field=error.field) from None


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a rule book."""
    text = files("undust.rules").joinpath("book.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


@cache
def _fits() -> Fits:
    return compile_schema(schema())


def check(data: Any) -> None:
    """Test parsed JSON against the schema; BookError names the first rule and field that are wrong."""
    if _fits()(data):
        return
    errors = sorted(_validator().iter_errors(data), key=lambda error: [str(p) for p in error.absolute_path])
    if not errors:
        return
    error = errors[0]
    path = list(error.absolute_path)
    rule = None
    if len(path) >= 4 and path[0] == "sites" and path[2] in ("rules", "rejected"):
        found = data["sites"][path[1]][path[2]][path[3]]
        given = found.get("id") if isinstance(found, Mapping) else None
        rule = given if isinstance(given, str) else f"{path[1]} {path[2]}[{path[3]}]"
        path = path[4:]
    raise BookError(_message(error), rule=rule, field=".".join(map(str, path)) or None)


def _message(error: Any) -> str:
    best = best_match([error])
    text = str((best or error).message)
    return text if len(text) <= 200 else f"{text[:80]} ... {text[-80:]}"


def _rule(site: str, list_name: str, place: int, data: Mapping[str, Any]) -> Rule:
    try:
        rule = Rule.from_dict(data)
        compile_rule(rule)
        return rule
    except BookError as error:
        name = data.get("id") or f"{site} {list_name}[{place}]"
        raise BookError(error.why, rule=str(name), field=error.field) from None


def merge(books: Iterable[RuleBook]) -> RuleBook:
    """One book of several; a later book's site takes the place of an earlier one's."""
    out = RuleBook()
    for book in books:
        out.site_key = book.site_key
        out.sites.update(book.sites)
    return out
