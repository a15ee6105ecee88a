"""What has been learned so far, on disk: a killed run goes on with the sites not done."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import xxhash

from undust import __version__
from undust.errors import BookError, UndustError
from undust.files import replacing
from undust.learners import Learner
from undust.rules import RuleBook, SiteRules


class State:
    """A directory with a small rule book for each site that is done.

    A file is named by all its rules depend on: the site's pages, the learner, the risk and this version. So what
    is found is never of another input, runs with other settings may share a directory, and a site whose pages
    have not changed since is not learned again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = State(folder + "/state")
    ...     state.put("0f", SiteRules("a.example"))
    ...     state.get("0f", "a.example"), state.get("0e", "a.example")
    (SiteRules(name='a.example', hosts=('a.example',), rules=[], rejected=[], notes={}), None)
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.trouble: str | None = None
        """Why a finished site could not be kept, if one could not."""
        self._written: list[Path] = []

    def get(self, print_: str, name: str) -> SiteRules | None:
        """The site with this fingerprint, if it is done. What cannot be read is not done."""
        path = self._path(print_)
        try:
            found = RuleBook.load(path).sites.get(name)
        except BookError:
            return None
        if found is not None:
            self._written.append(path)
        return found

    def put(self, print_: str, site: SiteRules) -> None:
        """Keep a site that is done. A full disk is no reason to stop: the result is in memory as well."""
        path = self._path(print_)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with replacing(path, compress=False) as file:
                file.write(RuleBook({site.name: site}).dumps().encode("ascii"))
            self._written.append(path)
        except (OSError, UndustError) as error:
            self.trouble = self.trouble or str(error)

    def remove(self) -> None:
        """Take away what this run has kept or used; another run's stays."""
        for path in self._written:
            path.unlink(missing_ok=True)
            for half in self.directory.glob(f".{path.name}.*.part"):  # left by a run that was killed
                half.unlink(missing_ok=True)
        with suppress(OSError):
            self.directory.rmdir()

    def _path(self, print_: str) -> Path:
        return self.directory / f"{print_}.json"


def fingerprint(name: str, hosts: tuple[str, ...], pages: pa.Table, learner: Learner, risk: float) -> str:
    """A hash of all that the rules of a site depend on."""
    known = xxhash.xxh3_128()
    settings = sorted(learner.get_params().items())
    known.update(repr((__version__, learner.name, settings, risk, name, hosts, pages.schema.names)).encode())
    for batch in pages.combine_chunks().to_batches():
        known.update(batch.serialize())
    return known.hexdigest()
