"""The demo site, whose truth is known: its archive against its live crawl, its labels against the truth."""

import json

import numpy as np
import pytest

from undust.crawl import read
from undust.demo.archive import write_record
from undust.demo.site import DemoSite
from undust.demo.spider import crawl
from undust.demo.truth import agreement, is_soft
from undust.likeness import sketch_kind, sketcher, split_sites


@pytest.fixture(scope="module")
def site():
    return DemoSite()


@pytest.fixture(scope="module")
def fetched(site):
    return list(crawl(site.fetch))


@pytest.fixture(scope="module")
def live(fetched, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "pages.jsonl"
    path.write_text("\n".join(json.dumps(page.record()) for page in fetched))
    return read(path, sketcher=sketcher, sketch_kind=sketch_kind()).pages


def test_the_archive_gives_the_same_pages_as_the_live_crawl(fetched, live, tmp_path):
    pytest.importorskip("fastwarc")
    path = tmp_path / "site.warc.gz"
    with path.open("wb") as file:
        for page in fetched:
            write_record(page, file)
    archived = read(path, sketcher=sketcher, sketch_kind=sketch_kind()).pages
    for name in ("url", "status", "location", "size_min", "size_max", "fetched_at"):
        assert archived[name].to_pylist() == live[name].to_pylist(), name
    # Texts come from two extractors: they put blanks at other places, and find the same pages equal.
    (a,), (b,) = split_sites(live), split_sites(archived)
    assert a.urls.tolist() == b.urls.tolist()
    precision, recall = agreement(a.labels.cluster.tolist(), b.labels.cluster.tolist())
    assert precision >= 0.99 and recall >= 0.99


def test_labels_of_the_demo_site_agree_with_its_truth(site, live):
    (learned,) = split_sites(live)
    labels = learned.labels
    truth = [site.content_id(url) for url in learned.urls.tolist()]
    soft = np.array([is_soft(content) for content in truth])
    assert not (labels.soft & ~soft).any()
    hard = [
        (content, cluster if cluster >= 0 else f"unknown {row}")
        for row, (content, cluster) in enumerate(zip(truth, labels.cluster.tolist(), strict=True))
        if content is not None and not soft[row] and not labels.soft[row]
    ]
    precision, recall = agreement(*zip(*hard, strict=True))
    # Advertisements, a clock and a counter of guests touch every page: what is not found is near, not different.
    assert precision == 1.0
    assert recall >= 0.65
    rng = np.random.default_rng(1)
    rows = {content: [] for content in truth if content is not None and not is_soft(content)}
    for row, content in enumerate(truth):
        if content in rows and learned.alive[row]:
            rows[content].append(row)
    pairs = np.array([rng.choice(found, 2, replace=False) for found in rows.values() if len(found) > 1])
    alike = labels.resemblance(*pairs.T)
    # One in four is a print view or another short page of which too little is own text.
    assert (alike >= 0.8).mean() > 0.75
