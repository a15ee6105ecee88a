"""What the targets do with an exported file, as far as it can be said in a few lines of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qsl

Apply = Callable[[str], str]


def regex(text: str) -> Apply:
    """The TSV: one `re.sub` a line."""
    lines = [line.split("\t") for line in text.split("\n")[1:] if line]
    steps = [(re.compile(pattern), replacement) for pattern, replacement, _ in lines]

    def apply(url: str) -> str:
        for pattern, replacement in steps:
            url = pattern.sub(replacement, url)
        return url

    return apply


def clean_param(text: str) -> Apply:
    """robots.txt: names below a prefix, host by host."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    host = ""
    for line in text.split("\n"):
        if line.startswith("# "):
            host = line[2:]
        elif line:
            directive, names, *path = line.split(" ")
            assert directive == "Clean-param:" and len(path) < 2 and len(line) <= 500
            found.setdefault(host, []).append((path[0] if path else "/", names.split("&")))

    def apply(url: str) -> str:
        cut = re.match(r"(https?://)([^/?#]+)(/[^?#]*)\?([^#]*)(#.*)?\Z", url, re.DOTALL)
        if cut is None:
            return url
        names = {name for prefix, some in found.get(cut[2], ()) if cut[3].startswith(prefix) for name in some}
        kept = [field for field in cut[4].split("&") if field.partition("=")[0] not in names]
        return cut[1] + cut[2] + cut[3] + ("?" + "&".join(kept) if kept else "") + (cut[5] or "")

    return apply


def _matching(text: str, url: str) -> list[list[str]]:
    return [
        provider["rules"]
        for provider in json.loads(text)["providers"].values()
        if re.search(provider["urlPattern"], url, re.I)
        and not any(re.search(exception, url, re.I) for exception in provider["exceptions"])
    ]


def clear_urls(text: str) -> Apply:
    """ClearURLs since 1.22: fields by their decoded names, in the query and in the fragment; others stay as they are
    here, while the add-on writes them anew."""

    def kept(fields: str, rules: list[str]) -> str:
        return "&".join(
            field
            for field in fields.split("&")
            if field
            and not any(
                re.fullmatch(rule, name, re.I)
                for rule in rules
                for name, _ in parse_qsl(field, keep_blank_values=True)
            )
        )

    def apply(url: str) -> str:
        for rules in _matching(text, url):
            url, sharp, fragment = url.partition("#")
            url, mark, query = url.partition("?")
            query, fragment = kept(query, rules), kept(fragment, rules)
            url += (mark + query if query else "") + (sharp + fragment if fragment else "")
        return url

    return apply


def clear_urls_before(text: str) -> Apply:
    """ClearURLs before 1.22: expressions on the text of the query, behind any delimiter."""

    def apply(url: str) -> str:
        for rules in _matching(text, url):
            domain = url
            if re.search("#.", url):
                domain = re.sub("#.*", "", url, count=1)
            fields = fragment = ""
            if re.search(r"\?.", url):
                domain = re.sub(r"\?.*", "", url, count=1)
                query = re.sub("#.*", "", re.sub(r".*?\?", "", url, count=1), count=1)
                fields = "?" + "&".join(re.findall(r"[^/|?&]+=?[^&]*", query))
            if re.search("#.", url):
                fragment = "#" + "&".join(re.findall("[^&]+=?[^&]*", re.sub(".*?#", "", url, count=1)))
            before = fields, fragment
            for rule in rules:
                pattern = r"([/?#]|(&|&amp;))+(" + rule + "=[^&]*)"
                fields, fragment = (re.sub(pattern, "", some, flags=re.I) for some in (fields, fragment))
            if (fields, fragment) != before:
                after = domain + ("?" + fields.replace("?", "", 1) if fields else "")
                after += "#" + fragment.replace("#", "", 1) if fragment else ""
                url = after.replace("?&", "?", 1).replace("#&", "#", 1)
        return url

    return apply
