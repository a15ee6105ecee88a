"""A URL under rewriting: the five components, each taken apart only when a rule asks for its pieces."""

from __future__ import annotations

from collections.abc import Callable

from undust.rules.conversion import MAX_GROWTH
from undust.url import (
    Key,
    Parts,
    host_labels,
    join_authority,
    lower_host,
    parse,
    query_separator,
    split_authority,
    split_path,
    split_segment,
    unparse,
)


class MutableUrl:
    """Read and write a URL by key; `str()` gives the URL as it now stands.

    Writing never changes what a neighbouring component is: a delimiter that would (a `?` in a path, a `&` in
    the value of a parameter) is percent-encoded, so the text read anew has the same components.

    >>> u = MutableUrl("http://example.com/wiki/A&B")
    >>> u.set_path("/index.php"), u.set_field("title", 1, "A&B"), str(u)
    (True, True, 'http://example.com/index.php?title=A%26B')
    """

    __slots__ = (
        "_fields", "_host", "_segments", "_text", "authority", "fragment",
        "limit", "overlong", "path", "query", "scheme",
    )  # fmt: skip

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None
    limit: int
    overlong: bool  # a rule would have gone beyond the limit
    _host: tuple[str | None, str, str | None] | None
    _segments: list[str] | None
    _fields: list[str] | None
    _text: str | None

    def __init__(self, text: str, limit: int | None = None) -> None:
        self.limit = 2 * len(text) + MAX_GROWTH if limit is None else limit
        self.overlong = False
        self.scheme = self.authority = None
        self.replace(text)

    @classmethod
    def of(cls, scheme: str, authority: str, path: str, query: str | None, text: str) -> MutableUrl:
        """`text`, whose components are known already; no fragment."""
        u = cls.__new__(cls)
        u.limit, u.overlong = 2 * len(text) + MAX_GROWTH, False
        u.scheme, u.authority, u.path, u.query, u.fragment = scheme, authority, path, query, None
        u._host = u._segments = u._fields = None
        u._text = text
        return u

    def replace(self, text: str) -> None:
        """Become another URL."""
        head = f"{self.scheme}://{self.authority}"
        if (
            self.scheme is not None
            and self.authority is not None
            and text.startswith(head + "/")
            and "#" not in text
        ):  # the usual case: the same host
            self.path, mark, query = text[len(head) :].partition("?")
            self.query, self.fragment = query if mark else None, None
            self._segments = self._fields = None
            self._text = text
            return
        self.scheme, self.authority, self.path, self.query, self.fragment = parse(text)
        self._host = None
        self._segments = None
        self._fields = None
        self._text = text

    def tried(self, run: Callable[[MutableUrl], bool]) -> str | None:
        """What `run` makes of the URL, None when it changes nothing; the URL itself stays as it is.

        Taking a URL apart costs more than most rules: who tries many rules on one URL comes here.

        >>> u = MutableUrl("http://example.com/a?b=1")
        >>> u.tried(lambda u: u.set_path("/c")), str(u), u.tried(lambda u: False)
        ('http://example.com/c?b=1', 'http://example.com/a?b=1', None)
        """
        before = self.scheme, self.authority, self.path, self.query, self.fragment
        lists, text = (self._host, self._segments, self._fields), self._text
        if not run(self):
            return None
        new = self.text()
        self.scheme, self.authority, self.path, self.query, self.fragment = before
        self._host, self._segments, self._fields = lists
        self._text, self.overlong = text, False
        return new

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The URL as it now stands."""
        text = self._text
        if text is None:
            text = self._text = self._unparse()
        return text

    def _unparse(self) -> str:
        if self.scheme is None or self.authority is None:
            return unparse(Parts(self.scheme, self.authority, self.path, self.query, self.fragment))
        text = f"{self.scheme}://{self.authority}{self.path}"
        if self.query is not None:
            text = f"{text}?{self.query}"
        return text if self.fragment is None else f"{text}#{self.fragment}"

    # -- host ------------------------------------------------------------

    def authority_parts(self) -> tuple[str | None, str, str | None]:
        """(userinfo, host in lower case, port); the URL must have an authority."""
        if self._host is None:
            userinfo, host, port = split_authority(self.authority or "")
            self._host = userinfo, lower_host(host), port
        return self._host

    @property
    def host(self) -> str | None:
        return None if self.authority is None else self.authority_parts()[1]

    @property
    def port(self) -> str | None:
        return None if self.authority is None else self.authority_parts()[2]

    def set_host(self, host: str) -> bool:
        userinfo, old, port = self.authority_parts()
        if host == old:
            return False
        self.authority = join_authority(userinfo, host, port)
        self._host = self._text = None
        return True

    def set_port(self, port: str | None) -> bool:
        userinfo, host, old = self.authority_parts()
        if port == old:
            return False
        self.authority = join_authority(userinfo, host, port)
        self._host = self._text = None
        return True

    def set_scheme(self, scheme: str) -> bool:
        if scheme == self.scheme:
            return False
        self.scheme, self._text = scheme, None
        return True

    def set_fragment(self, fragment: str | None) -> bool:
        if fragment == self.fragment:
            return False
        self.fragment, self._text = fragment, None
        return True

    # -- path ------------------------------------------------------------

    def segments(self) -> list[str]:
        """The raw segments, path parameters included; do not change the list."""
        if self._segments is None:
            self._segments = split_path(self.path)
        return self._segments

    def segment(self, position: int) -> str | None:
        if position == -1 and self._segments is None and self.path[:1] == "/":
            segment = self.path.rpartition("/")[2]
            return split_segment(segment)[0] if ";" in segment else segment
        segments = self.segments()
        if not -len(segments) <= position < len(segments):
            return None
        segment = segments[position]
        return split_segment(segment)[0] if ";" in segment else segment

    def set_path(self, path: str) -> bool:
        if path == self.path:
            return False
        if not path.startswith("/"):
            path = "/" + path
        if "?" in path or "#" in path:
            path = path.replace("?", "%3F").replace("#", "%23")
        if path == self.path:
            return False
        self.path = path
        self._segments = self._text = None
        return True

    def set_segments(self, segments: list[str]) -> bool:
        return self.set_path("/" + "/".join(segments))

    def matrix(self, name: str, occurrence: int) -> str | None:
        for segment in self.segments():
            if ";" in segment:
                for field in split_segment(segment)[1]:
                    found, _, value = field.partition("=")
                    if field and found == name:
                        occurrence -= 1
                        if not occurrence:
                            return value
        return None

    def set_matrix(self, name: str, occurrence: int, value: str | None) -> bool:
        """Set or drop (None) a path parameter; none is added. (1, None): drop all of the name."""
        out, seen = [], 0
        for segment in self.segments():
            base, fields = split_segment(segment) if ";" in segment else (segment, [])
            kept = [base]
            for field in fields:
                found, _, old = field.partition("=")
                if field and found == name:
                    seen += 1
                    if value is None and (occurrence == 1 or seen == occurrence):
                        continue
                    if value is not None and seen == occurrence and value != old:
                        field = f"{name}={escape_chars(value, '/?#;')}"
                kept.append(field)
            out.append(";".join(kept))
        return seen > 0 and self.set_segments(out)

    # -- query ------------------------------------------------------------

    def fields(self) -> list[str]:
        """The raw fields; do not change the list."""
        if self._fields is None:
            query = self.query
            if query is None:
                self._fields = []
            else:
                self._fields = query.split(query_separator(query) if ";" in query else "&")
        return self._fields

    def field(self, name: str, occurrence: int = 1) -> str | None:
        """The value of a parameter; `""` when it has none, None when it is absent."""
        for field in self.fields():
            found, _, value = field.partition("=")
            if found == name and field:
                occurrence -= 1
                if not occurrence:
                    return value
        return None

    def only_field(self, name: str) -> str | None:
        """The value of a parameter; None also when it is there with several values."""
        only = None
        for field in self.fields():
            found, _, value = field.partition("=")
            if found == name and field:
                if only is not None and value != only:
                    return None
                only = value
        return only

    def names(self) -> set[str]:
        return {field.partition("=")[0] for field in self.fields() if field}

    def set_query(self, query: str | None) -> bool:
        """Set the whole query; an empty one goes together with its `?`."""
        if query == self.query:
            return False
        query = query.replace("#", "%23") if query else None
        if query == self.query:
            return False
        self.query = query
        self._fields = self._text = None
        return True

    def drop_fields(self, names: frozenset[str]) -> bool:
        """Drop every field with one of these names; when none is left the `?` goes too."""
        fields = self.fields()
        kept = [field for field in fields if field.partition("=")[0] not in names or not field]
        return len(kept) < len(fields) and self._join(kept)

    def drop_field(self, name: str, occurrence: int) -> bool:
        """Drop one of several fields of a name."""
        place = self._place(name, occurrence)
        if place is None:
            return False
        fields = self.fields()
        return self._join(fields[:place] + fields[place + 1 :])

    def set_field(self, name: str, occurrence: int, value: str) -> bool:
        """Set the value of a parameter; an absent one is added at the end."""
        if self.field(name, occurrence) == value:
            return False
        place = self._place(name, occurrence)
        fields = list(self.fields())
        field = f"{name}={escape_chars(value, '&#;')}"
        if place is None:
            fields.append(field)
        else:
            fields[place] = field
        return self._join(fields)

    def _place(self, name: str, occurrence: int) -> int | None:
        for place, field in enumerate(self.fields()):
            if field and field.partition("=")[0] == name:
                occurrence -= 1
                if not occurrence:
                    return place
        return None

    def _join(self, fields: list[str]) -> bool:
        by = query_separator(self.query) if self.query and ";" in self.query else "&"
        query = by.join(fields) if fields else None
        if query == self.query:
            return False
        self.query = query
        self._fields = self._text = None
        return True


def escape_chars(text: str, chars: str) -> str:
    """Percent-encode the given characters only."""
    for char in chars:
        if char in text:
            text = text.replace(char, f"%{ord(char):02X}")
    return text


Reader = Callable[[MutableUrl], str | None]


def reader(key: Key) -> Reader:
    """The function that reads one key of a URL.

    >>> from undust.url import split_key
    >>> reader(split_key("path[-1]"))(MutableUrl("http://example.com/a/b;s=1"))
    'b'
    """
    kind, position, name, occurrence = key
    if kind == "url":
        return str
    if kind == "scheme":
        return lambda u: None if u.scheme is None else u.scheme.lower()
    if kind == "host":
        if position is None:
            return lambda u: u.host
        return lambda u: _label(u.host, position)
    if kind == "port":
        return lambda u: u.port
    if kind == "path":
        if position is None:
            return lambda u: u.path
        return lambda u: u.segment(position)
    if kind == "separator":
        return lambda u: None if u.query is None else query_separator(u.query)
    if kind == "matrix":
        assert name is not None
        return lambda u: u.matrix(name, occurrence)
    if kind == "query":
        if name is None:
            return lambda u: u.query
        return lambda u: u.field(name, occurrence)
    return lambda u: u.fragment


def _label(host: str | None, position: int) -> str | None:
    labels = () if host is None else host_labels(host)
    return labels[position] if position < len(labels) else None
