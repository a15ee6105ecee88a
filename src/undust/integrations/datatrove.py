"""datatrove: a pipeline step that writes canonical URLs, a batch at a time, and the `url_normalizer` of its older
versions. Nothing of datatrove is imported: it takes any callable."""

# Annotations are types here, not texts: datatrove looks at what a `content_getter` gives.
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from undust.rules import Canonicalizer, RuleBook

Book = RuleBook | Canonicalizer | str | os.PathLike[str]


def url_normalizer(book: Book, level: str = "probable") -> Canonicalizer:
    """The canonicalizer of a book; it can be sent to workers.

    datatrove up to 0.7 takes it as `UrlDedupConfig(url_normalizer=...)`.

    >>> import pickle
    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> normalize = pickle.loads(pickle.dumps(url_normalizer(book)))
    >>> normalize("http://a.example/?sid=1")
    'http://a.example/'
    """
    if isinstance(book, Canonicalizer):
        return book
    return Canonicalizer(book if isinstance(book, RuleBook) else RuleBook.load(book), level)


class CanonicalUrls:
    """A step for a datatrove pipeline: puts the canonical URL of each document into its metadata.

    `field` is where the URL is, `into` where the canonical one goes, `emit` what is written (`url`, or `key`: what
    identifies the page). Documents without a URL pass as they are. What follows then takes them by `into`, such as
    `ExactDedupConfig(content_getter=UrlOf())`.

    >>> from types import SimpleNamespace as Document
    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> documents = [Document(metadata={"url": "http://a.example/?sid=1"}), Document(metadata={})]
    >>> [document.metadata for document in CanonicalUrls(book)(documents)]
    [{'url': 'http://a.example/?sid=1', 'canonical_url': 'http://a.example/'}, {}]
    """

    def __init__(
        self,
        book: Book,
        level: str = "probable",
        field: str = "url",
        into: str = "canonical_url",
        emit: str = "url",
        batch: int = 4096,
    ) -> None:
        self.canonicalizer = url_normalizer(book, level)
        self.field, self.into, self.emit, self.batch = field, into, emit, batch

    def __call__(self, data: Iterable[Any] | None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """The documents, in their order."""
        source = iter(data or ())
        while batch := list(islice(source, self.batch)):
            found = self.canonicalizer.map([d.metadata.get(self.field) for d in batch], self.emit)
            for document, url in zip(batch, found, strict=True):
                if url is not None:
                    document.metadata[self.into] = url
                yield document


class UrlOf:
    """What `CanonicalUrls` has written of a document: a `content_getter` for exact deduplication.

    A document without one is known by its id: two of them are not the same page.

    >>> from types import SimpleNamespace as Document
    >>> UrlOf()(Document(metadata={"canonical_url": "http://a.example/"})), UrlOf()(Document(metadata={}, id="7"))
    (b'http://a.example/', b'7')
    """

    def __init__(self, into: str = "canonical_url") -> None:
        self.into = into

    def __call__(self, document: Any) -> bytes:
        """What is compared."""
        return str(document.metadata.get(self.into) or document.id).encode("utf-8", "surrogatepass")
