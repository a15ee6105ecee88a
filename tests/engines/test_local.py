"""Many sites in processes: the same book whatever the order and the number of them, and whatever befalls one."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from undust.crawl import Crawl, read
from undust.engines.learn import learn, sites
from undust.engines.local import bytes_of
from undust.engines.state import State, fingerprint
from undust.errors import UndustError, UsageError
from undust.learners import create
from undust.rules import RuleBook

from .crawls import Failing, pages


@pytest.fixture(scope="module")
def rows():
    return pages(sites=4, size=16)


@pytest.fixture(scope="module")
def book(rows) -> str:
    return learn(rows).dumps()


def test_something_is_learned_of_each_site(rows) -> None:
    learned = learn(rows)
    assert list(learned.sites) == [f"www.s{i}.example" for i in range(4)]  # with their aliases
    assert all(site.notes["forms"] == site.notes["contents"] for site in learned.sites.values())


def test_any_order(rows, book: str) -> None:
    shuffled = rows.copy()
    random.Random(7).shuffle(shuffled)
    assert learn(shuffled).dumps() == book


def test_any_order_of_the_page_table(rows, book: str) -> None:
    table = read(rows).pages
    turned = table.take(pa.array(range(len(table))[::-1]))
    assert learn(Crawl(turned)).dumps() == book


def test_any_number_of_processes(rows, book: str) -> None:
    assert learn(rows, jobs=2).dumps() == book


def test_little_memory_is_one_site_at_a_time(rows, book: str) -> None:
    assert learn(read(rows), jobs=2, memory="1KB").dumps() == book


def test_a_site_does_not_depend_on_the_others(rows) -> None:
    whole = learn(rows)
    alone = learn([row for row in rows if ".s2." in row["url"] or "//s2." in row["url"]])
    assert alone.sites["www.s2.example"].to_dict() == whole.sites["www.s2.example"].to_dict()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_site_that_fails_does_not_take_others_along(rows, jobs: int) -> None:
    learned = learn(rows, Failing(raises="s1."), jobs=jobs)
    whole = learn(rows, Failing())
    why = learned.sites["www.s1.example"].notes["failed"]
    assert why.startswith("ValueError: too odd a site (crawls.py:")
    assert not learned.sites["www.s1.example"].rules
    for name in ("www.s0.example", "www.s2.example", "www.s3.example"):
        assert learned.sites[name].rules == whole.sites[name].rules != []


def test_a_process_that_is_killed_does_not_take_others_along(rows) -> None:
    learned = learn(rows, Failing(dies="s3."), jobs=2)
    assert "signal 9" in learned.sites["www.s3.example"].notes["failed"]
    assert all(learned.sites[f"www.s{i}.example"].rules for i in range(3))


def test_when_all_fail_it_is_an_error(rows) -> None:
    with pytest.raises(UndustError, match=r"no site could be learned: www.s0.example: ValueError"):
        learn(rows, Failing(raises="s"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_wrong_call_is_not_a_sites_failure(rows, jobs: int) -> None:
    with pytest.raises(UsageError, match="no such parameter"):
        learn(rows, Failing(refuses="s2."), jobs=jobs)


def test_a_learner_that_cannot_travel(rows) -> None:
    class Here(Failing):
        pass

    with pytest.raises(UsageError, match="use one job"):
        learn(rows, Here(), jobs=2)
    assert len(learn(rows, Here()))


def test_finished_sites_are_not_learned_again(rows, book: str, tmp_path) -> None:
    state = State(tmp_path / "state")
    assert learn(rows, state=state).dumps() == book
    assert len(list(state.directory.iterdir())) == 4

    class Tired(type(create("auto"))):  # type: ignore[misc]  # the same learner to anyone who asks, and no use
        def propose_on(self, view):
            raise AssertionError

    for jobs in (1, 2):  # with two no process is started at all: this learner could not travel
        again = State(tmp_path / "state")
        assert learn(rows, Tired(), state=again, jobs=jobs).dumps() == book
    again.remove()
    assert not state.directory.exists()


def test_failed_sites_are_tried_again(rows, tmp_path) -> None:
    first = learn(rows, Failing(raises="s1."), state=State(tmp_path / "s"))
    assert "failed" in first.sites["www.s1.example"].notes
    assert len(list((tmp_path / "s").iterdir())) == 3


def test_a_damaged_state_is_no_state(rows, book: str, tmp_path) -> None:
    learn(rows, state=State(tmp_path / "s"))
    damage = [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b.replace(b'"undust": 1', b'"undust": 2')]
    for path, harm in zip(sorted((tmp_path / "s").iterdir()), damage, strict=False):
        path.write_bytes(harm(path.read_bytes()))
    assert learn(rows, state=State(tmp_path / "s")).dumps() == book


def test_a_state_that_cannot_be_written_is_told_and_no_more(rows, book: str, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    state = State(tmp_path / "file")
    assert learn(rows, state=state).dumps() == book
    assert state.trouble
    state.remove()


def test_what_a_fingerprint_depends_on(rows) -> None:
    site, other = list(sites(rows))[:2]
    auto = create("auto")

    def mark(site=site, learner=auto, risk=0.001, table=None) -> str:
        return fingerprint(site.name, site.hosts, site.pages if table is None else table, learner, risk)

    chunked = pa.concat_tables([site.pages.slice(0, 5), site.pages.slice(5)])
    assert mark() == mark(table=chunked)
    assert len({mark(), mark(other), mark(learner=create("auto", {"proposals": 9})), mark(risk=0.1)}) == 4
    assert mark() != mark(table=site.pages.slice(1))


def test_amounts_of_memory() -> None:
    assert bytes_of("1.5G") == 1.5e9 and bytes_of("1KiB") == 1024 and bytes_of(7) == 7
    with pytest.raises(UsageError, match="'much' is no amount"):
        bytes_of("much")


def test_hosts_that_no_book_can_hold_do_not_spoil_it(rows, book: str) -> None:
    """One such URL in a crawl, and the book could not be loaded."""
    odd = [{"url": url} for url in ("file:///etc/passwd", f"http://{'a' * 400}.example/", "http:///x")]
    learned = learn([*rows, *odd])
    assert learned.dumps() == book
    assert RuleBook.loads(learned.dumps()).dumps() == book
    assert not learn(odd).sites


def test_urls_beyond_all_reason_teach_nothing_and_harm_nothing(rows) -> None:
    long = [{"url": f"http://odd.example/{'a/' * 900}{i}", "digest": str(i // 2)} for i in range(6)]
    learned = learn([*rows, *long])
    assert not learned.sites["odd.example"].rules and "failed" not in learned.sites["odd.example"].notes
    among = [{"url": f"http://www.s1.example/item?id=1&sid=5&{'x=1&' * 900}", "digest": "long"}]
    site = learn([*rows, *among]).sites["www.s1.example"]
    assert site.rules and site.notes["learned_from"] == site.notes["pages"] - 1
