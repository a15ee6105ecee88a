import random

import numpy as np
import pytest

from undust.likeness import Labels, label_site, noise
from undust.likeness.labels import DIGEST, LABEL, SKETCH, URL
from undust.likeness.seen import see

from .made_up import TEMPLATE, page, table, words

SITE = "http://a.example"


def labels_of(*rows: dict[str, object]) -> Labels:
    """Labels in the order of the rows given (label_site does not mind the order)."""
    return label_site(table(rows))


def together(labels: Labels) -> list[int]:
    return labels.cluster.tolist()


def test_a_given_cluster_overrides_all_else():
    same_text = words(1)
    labels = labels_of(
        page(f"{SITE}/a", same_text, cluster="x"),
        page(f"{SITE}/b", words(2), cluster="x"),
        page(f"{SITE}/c", same_text, cluster="y"),
        page(f"{SITE}/d", same_text),
    )
    assert together(labels) == [0, 0, 1, 2]
    assert labels.level.tolist() == [LABEL, LABEL, LABEL, SKETCH]


def test_equal_digests_are_equal_pages_and_no_evidence_is_no_singleton():
    labels = labels_of(
        page(f"{SITE}/a", digest="d"), page(f"{SITE}/b", digest="d"), page(f"{SITE}/c"), page(f"{SITE}/d")
    )
    assert together(labels) == [0, 0, -1, -1]
    assert labels.level.tolist() == [DIGEST, DIGEST, URL, URL]


def test_empty_bodies_have_a_digest_in_common_and_nothing_else():
    rows = [page(f"{SITE}/{i}", digest="empty", size_min=0, size_max=0) for i in range(3)]
    assert together(labels_of(*rows)) == [-1, -1, -1]


def test_digests_of_empty_texts_tell_nothing_when_the_bytes_differ():
    """A frame set and a script page have no text; a digest taken of texts is the same for both."""
    rows = [
        page(f"{SITE}/{i}", "", digest="no text", size_min=900 + i // 2, size_max=900 + i // 2)
        for i in range(4)
    ]
    assert together(labels_of(*rows)) == [0, 0, 1, 1]


def test_errors_are_unknown():
    labels = labels_of(
        page(f"{SITE}/a", "not found " * 20, status=404),
        page(f"{SITE}/b", "not found " * 20, status=404),
        page(f"{SITE}/c", "not found " * 20),
    )
    assert together(labels) == [-1, -1, 0]


def test_a_redirect_is_in_the_cluster_of_where_it_ends():
    labels = labels_of(
        page(f"{SITE}/a", status=301, location="/b"),
        page(f"{SITE}/b", status=302, location=f"{SITE}/c"),
        page(f"{SITE}/c", words(1)),
        page(f"{SITE}/d", words(2)),
    )
    assert together(labels) == [0, 0, 0, 1]
    assert labels.level.tolist() == [LABEL, LABEL, SKETCH, SKETCH]


@pytest.mark.parametrize("location", ["http://elsewhere.example/", "/a", "/gone", "http://[", "", None])
def test_redirects_that_do_not_arrive_are_unknown(location):
    labels = labels_of(
        page(f"{SITE}/a", status=301, location="/loop"),
        page(f"{SITE}/loop", status=302, location=location),
        page(f"{SITE}/gone", status=404),
        page(f"{SITE}/d", words(2)),
    )
    assert together(labels) == [-1, -1, -1, 0]


def clocked(url: str, text: str, minute: int, **columns: object) -> dict[str, object]:
    """A page with a clock in it: other bytes on every fetch, the same length."""
    stamp = f"it is now {minute:04d} hours"
    return page(url, f"{TEMPLATE} {text} {stamp}", digest=f"{url}{minute}", **columns)


def test_a_clock_does_not_make_equal_pages_different():
    rows = [clocked(f"{SITE}/{i}?s={s}", words(i), 7 * i + s) for i in range(30) for s in range(3)]
    labels = labels_of(*rows)
    cluster = labels.cluster.reshape(30, 3)
    complete = (cluster == cluster[:, :1]).all(axis=1)
    # One in ten or so has a min-hash that fell on the clock: those are near, not different.
    assert complete.mean() > 0.6
    assert len({frozenset(c) for c in cluster.tolist() if len(set(c)) == 1}) == complete.sum()
    i, j = np.divmod(np.arange(90), 3)
    assert (labels.resemblance(3 * i, 3 * i + j) >= 0.7).all()
    other = (3 * i + 3) % 90
    assert (labels.resemblance(3 * i, other) < 0.6).all()


def test_a_template_does_not_make_different_pages_equal():
    """Profiles differ by a name only, so their sketches are equal, and by accident some lengths are too."""
    rng = random.Random(3)
    names = ["".join(rng.choices("abcdefghij", k=rng.randrange(3, 15))) for _ in range(150)]
    rows = [clocked(f"{SITE}/profile?u={u}", f"profile of {name}", u) for u, name in enumerate(names)]
    labels = labels_of(*rows)
    assert len(set(together(labels))) > 0.93 * len(rows)


def test_what_names_a_page_tells_pages_of_one_template_apart():
    rng = random.Random(4)
    names = ["".join(rng.choices("abcdefghij", k=rng.randrange(3, 15))) for _ in range(60)]
    rows = [
        page(
            f"{SITE}/profile?u=n{u}&sid={s}{u % 7}",
            f"{TEMPLATE} {TEMPLATE[::-1]} {name}",
            digest=f"{u}{s}",
            size_min=9000 + len(name),
            size_max=9000 + len(name),
        )
        for u, name in enumerate(names)
        for s in range(2)
    ]
    labels = labels_of(*rows)
    cluster = labels.cluster.reshape(60, 2)
    assert (cluster[:, 0] == cluster[:, 1]).mean() > 0.9
    merged = [
        c for c in set(together(labels)) if len({i // 2 for i in np.flatnonzero(labels.cluster == c)}) > 1
    ]
    assert len(merged) <= 3


def forum(wrong: bool) -> list[dict[str, object]]:
    """Topics of two pages each; message links say which topic they are of, the second pages say so wrongly."""
    rows = []
    for t in range(40):
        topic = f"{SITE}/topic,{t}.html"
        rows.append(clocked(topic, words(t), t, canonical=topic))
        rows += [
            clocked(f"{SITE}/topic,{t}.msg{m}.html", words(t), t + 50 * m, canonical=topic) for m in (1, 2)
        ]
        if wrong:
            rows.append(clocked(f"{SITE}/topic,{t}.20/second.html", words(1000 + t), t, canonical=topic))
    return rows


def test_canonical_links_that_content_bears_out_are_labels():
    labels = labels_of(*forum(wrong=False))
    assert together(labels) == [t for t in range(40) for _ in range(3)]
    assert labels.level.tolist() == [SKETCH, LABEL, LABEL] * 40


def test_AFTER_3_2_canonical_links_that_contradict_content_are_dropped():
    labels = labels_of(*forum(wrong=True))
    cluster = labels.cluster.reshape(40, 4)
    assert (cluster[:, :3] == cluster[:, :1]).all()
    assert (cluster[:, 3] != cluster[:, 0]).all()


def test_canonical_links_of_one_kind_of_page_do_not_discredit_those_of_another():
    """An edit form names its article, and shows a form; the article's other addresses are its own."""
    rows = []
    for t in range(40):
        article = f"{SITE}/wiki/A{t}"
        rows.append(clocked(article, words(t), t, canonical=article))
        rows.append(clocked(f"{SITE}/index.php?title=A{t}", words(t), t + 9, canonical=article))
        rows.append(clocked(f"{SITE}/index.php?title=A{t}&action=edit", words(500 + t), t, canonical=article))
    cluster = labels_of(*rows).cluster.reshape(40, 3)
    assert (cluster[:, 0] == cluster[:, 1]).all()
    assert (cluster[:, 2] != cluster[:, 0]).all()


def test_canonical_pages_that_were_not_fetched_still_join_their_group():
    rows = [r for r in forum(wrong=False) if ".msg" in str(r["url"])]
    assert together(labels_of(*rows)) == [t for t in range(40) for _ in range(2)]


@pytest.mark.parametrize(
    "canonical",
    ["topic,7.html", "//a.example/topic,7.html", "http://A.example:80/topic,7.html#top", " /topic,7.html "],
)
def test_relative_and_odd_canonical_links_are_resolved(canonical):
    seen = see(table([page(f"{SITE}/topic,7.html"), page(f"{SITE}/x", canonical=canonical)]))
    assert seen.canonical.tolist() == [-1, 0]


@pytest.mark.parametrize("canonical", ["http://[", "", "#", "http://elsewhere.example/"])
def test_broken_canonical_links_lead_nowhere(canonical):
    assert see(table([page(f"{SITE}/x", canonical=canonical)])).canonical.tolist() == [-1]


def test_canonical_links_alone_are_believed_unless_sizes_speak_against_them():
    rows = [page(f"{SITE}/{i}?s={s}", canonical=f"/{i}") for i in range(3) for s in range(2)]
    assert together(labels_of(*rows)) == [0, 0, 1, 1, 2, 2]
    sized = [{**row, "size_max": 5000 + 4000 * (k % 2)} for k, row in enumerate(rows)]
    assert len(set(together(labels_of(*sized)))) == 6


def test_weak_links_do_not_chain():
    """Page k shares four fifths of its text with page k + 1, and nothing with page k + 6, yet names it canonical."""
    long = words(5, 4000).split()
    rows = [
        page(f"{SITE}/p{k}", " ".join(long[80 * k : 80 * k + 400]), canonical=f"{SITE}/p{k + 1}")
        for k in range(40)
    ]
    labels = labels_of(*rows)
    starts = [np.flatnonzero(labels.cluster == c) for c in set(together(labels))]
    assert max(np.ptp(rows) for rows in starts) <= 4


def test_labels_do_not_depend_on_the_order_of_pages():
    rows = forum(wrong=True)
    shuffled = random.Random(1).sample(range(len(rows)), len(rows))
    a = label_site(table(rows)).cluster
    b = label_site(table([rows[k] for k in shuffled])).cluster
    assert len(set(zip(a[shuffled].tolist(), b.tolist(), strict=True))) == len(set(a.tolist()))


def test_sketches_of_different_kinds_are_never_compared():
    text = words(1)
    both = table([page(f"{SITE}/a", text, digest="1"), page(f"{SITE}/b", text, digest="2")])
    assert label_site(both).cluster.tolist() == [0, 0]
    kinds = both.column_names.index("sketch_kind")
    mixed = both.set_column(kinds, "sketch_kind", [["words10-min4-1", "other"]])
    labels = label_site(mixed)
    assert labels.cluster.tolist() == [0, 1]
    assert np.isnan(labels.resemblance(np.array([0]), np.array([1]))[0])


def test_resemblance_of_bytes_is_all_or_nothing():
    labels = labels_of(*(page(f"{SITE}/{d}", digest=d[0]) for d in ("a1", "a2", "b1")))
    assert labels.resemblance(np.array([0, 0]), np.array([1, 2])).tolist() == [1.0, 0.0]


def test_take_keeps_clusters_and_cuts_links():
    labels = labels_of(*forum(wrong=False))
    some = labels.take(np.array([1, 2, 3, 119]))
    assert some.cluster.tolist() == [0, 0, 1, 39]
    assert some.seen.canonical.tolist() == [-1, -1, 2, -1]
    assert some.resemblance(np.array([0]), np.array([1])).tolist() == [1.0]


def test_an_empty_site_has_no_labels():
    assert len(label_site(table([]))) == 0


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.1, 0.2])
def test_noise_spoils_the_share_asked_for_and_no_unknown_page(rate):
    labels = labels_of(*forum(wrong=True), page(f"{SITE}/x", status=404))
    wrong = noise(labels, rate, seed=3)
    assert (wrong.cluster != labels.cluster).sum() == round(rate * 160)
    assert wrong.cluster[-1] == -1
    assert (noise(labels, rate, seed=3).cluster == wrong.cluster).all()
    assert rate == 0 or (noise(labels, rate, seed=4).cluster != wrong.cluster).any()


def sized(sizes: list[int], canonical: list[str], **columns: object) -> list[dict[str, object]]:
    """Pages of which nothing is known but sizes and canonical links."""
    return [
        page(f"{SITE}/{k % 4}/page{k}.html", size_min=size, size_max=size, canonical=link, **columns)
        for k, (size, link) in enumerate(zip(sizes, canonical, strict=True))
    ]


def test_AFTER_3_2_all_pages_that_name_the_start_page_are_not_one_page():
    """A template with a wrong link, and pages of which 90 % is template: all sizes are within a tenth."""
    rng = random.Random(8)
    sizes = [rng.randrange(8000, 8800) for _ in range(300)]
    rows = [page(f"{SITE}/", size_min=8400, size_max=8400), *sized(sizes, [f"{SITE}/"] * 300)]
    cluster = labels_of(*rows).cluster
    assert np.unique(cluster[cluster >= 0], return_counts=True)[1].max(initial=1) <= 3
    # Nor when nothing at all is known of what they show.
    bare = [{k: v for k, v in row.items() if not k.startswith("size")} for row in rows]
    assert (labels_of(*bare).cluster[1:] != labels_of(*bare).cluster[0]).all()


def test_where_only_sizes_are_known_links_to_pages_of_that_size_are_believed():
    rng = random.Random(9)
    sizes = [rng.randrange(5000, 20000) for _ in range(60)]
    rows = []
    for k, size in enumerate(sizes):
        home = f"{SITE}/article{k}"
        for s in range(3):
            noisy = size + rng.randrange(3)
            url = f"{home}?sid={s}{k}" if s else home
            rows.append(page(url, size_min=noisy, size_max=noisy, canonical=home))
    cluster = labels_of(*rows).cluster.reshape(60, 3)
    assert (cluster == cluster[:, :1]).all() and len(set(cluster[:, 0].tolist())) == 60


def one_word_apart(noisy: bool) -> list[dict[str, object]]:
    """Products under three addresses each, and in three colours: `red ` and `blue` are equally long."""
    rows = []
    for k in range(30):
        for colour in ("red..", "blue.", "green"):
            text = f"{words(k, 500)} {colour}"
            for s in range(3):
                digest = f"{k}{colour}{s if noisy else ''}"
                rows.append(page(f"{SITE}/{k}?colour={colour}&sid={s}", text, digest=digest))
    return rows


def test_where_pages_stand_still_other_bytes_are_another_page():
    still = labels_of(*one_word_apart(noisy=False)).cluster.reshape(90, 3)
    assert (still == still[:, :1]).all() and len(set(still[:, 0].tolist())) == 90
    # Where each visit brings other bytes, they say nothing, and the sketches miss one word more often than not.
    changing = labels_of(*one_word_apart(noisy=True)).cluster
    assert len(set(changing.tolist())) < 60
