import numpy as np
import pyarrow as pa
import pytest

from undust.likeness import Site, split_sites, summary

from .made_up import page, table, words


def sites(*rows: dict[str, object], **options: object) -> dict[str, Site]:
    return {site.name: site for site in split_sites(table(rows), **options)}  # type: ignore[arg-type]


def test_a_site_a_host_and_pages_in_order():
    found = sites(page("http://b.example/2"), page("http://b.example/1"), page("http://a.example/"))
    assert list(found) == ["a.example", "b.example"]
    assert found["b.example"].urls.tolist() == ["http://b.example/1", "http://b.example/2"]


def test_pages_of_one_normal_form_become_one():
    found = sites(
        page("HTTP://A.example:80/%7Ex", None, status=404, size_min=1, size_max=1, hits=2),
        page("http://a.example/~x", "text", size_min=10, size_max=20, hits=3),
        page("http://a.example/y"),
    )
    site = found["a.example"]
    assert site.urls.tolist() == ["http://a.example/y", "http://a.example/~x"]
    assert site.size_min.tolist() == [-1, 1] and site.size_max.tolist() == [-1, 20]
    assert site.hits.tolist() == [1, 5] and site.importance.tolist() == [1.0, 5.0]
    assert site.alive.tolist() == [True, True]
    assert site.labels.cluster.tolist() == [-1, 0]


def mirror(host: str, contents: range) -> list[dict[str, object]]:
    return [page(f"http://{host}/{k}", words(k)) for k in contents]


def test_hosts_that_show_the_same_are_one_site():
    found = sites(
        *mirror("www.a.example", range(6)),
        *mirror("a.example", range(5)),
        *mirror("a.example:8080", range(4)),
    )
    site = found["www.a.example"]
    assert len(found) == 1
    assert site.hosts == ("a.example", "a.example:8080", "www.a.example")
    assert sorted(np.bincount(site.labels.cluster).tolist()) == [1, 2, 3, 3, 3, 3]


@pytest.mark.parametrize(
    "other",
    [
        mirror("www.b.example", range(6)),  # another domain
        mirror("www.a.example", range(2)),  # too few contents in common
        mirror("www.a.example", range(3))
        + [page(f"http://www.a.example/{k}", words(90 + k)) for k in range(3, 6)],
        [page(f"http://www.a.example/{k}", words(0)) for k in range(6)],  # one content under all paths
        [page(f"http://www.a.example/{k}") for k in range(6)],  # nothing known
    ],
)
def test_other_hosts_are_sites_of_their_own(other):
    assert len(sites(*mirror("a.example", range(6)), *other)) == 2


def test_aliases_can_be_switched_off():
    rows = [*mirror("www.a.example", range(6)), *mirror("a.example", range(5))]
    assert len(sites(*rows, aliases=False)) == 2


def test_site_keys_domain_and_all():
    rows = [page("http://x.a.co.uk/"), page("http://y.a.co.uk/"), page("http://b.example/")]
    assert {n: s.n for n, s in sites(*rows, site_key="domain").items()} == {"a.co.uk": 2, "b.example": 1}
    everything = sites(*rows, site_key="all")["*"]
    assert everything.n == 3 and everything.hosts == ("b.example", "x.a.co.uk", "y.a.co.uk")


def test_no_pages_no_sites():
    assert sites() == {}


def test_what_is_no_url_is_a_site_without_a_name():
    assert list(sites(page("not a url"), page("mailto:x@a.example"))) == [""]


def test_take_and_with_labels():
    site = sites(*mirror("a.example", range(4)))["a.example"]
    half = site.take(np.array([True, False, True, False]))
    assert half.urls.tolist() == ["http://a.example/0", "http://a.example/2"]
    assert half.labels.cluster.tolist() == [0, 2]
    assert site.with_labels(site.labels).labels is site.labels


def test_a_bare_list_of_urls_will_do():
    site = next(split_sites(pa.table({"url": ["http://a.example/2", "http://a.example/1"]})))
    assert site.labels.cluster.tolist() == [-1, -1]
    assert site.hits.tolist() == [1, 1] and site.size_min.tolist() == [-1, -1]


def test_the_summary_counts_hard_pages():
    site = sites(
        *mirror("a.example", range(3)), page("http://a.example/0b", words(0)), page("http://a.example/u")
    )
    one = summary(site["a.example"])
    assert (one.pages, one.clusters, one.duplicates, one.unknown, one.soft) == (5, 3, 1, 1, 0)
    assert one.ceiling == 0.25 and (one + one).clusters == 6
