"""Print views and exports: canonical links that resemblance denies and containment bears out, and their look-alikes."""

import random

import numpy as np

from undust.likeness import label_site

from .made_up import TEMPLATE, page, table, words

SITE = "http://a.example"
FRAME = TEMPLATE.split()


def posts(topic: int) -> list[str]:
    """The posts of a topic, thirty words each."""
    return [words(100 * topic + k, 30) for k in range(6 + topic % 9)]


def dressed(some: list[str]) -> str:
    """As the forum shows posts: between its menus, and each beside its author."""
    shown = " ".join(f"{post} joined in 2003 wrote {k} posts" for k, post in enumerate(some))
    return f"{TEMPLATE} {shown} {' '.join(reversed(FRAME))}"


def topics(view: str, show) -> list[dict[str, object]]:
    rows = []
    for t in range(40):
        topic = f"{SITE}/topic,{t}.html"
        rows.append(page(topic, dressed(posts(t)), digest=f"{t}", canonical=topic))
        rows.append(page(view.format(t=t), show(t), digest=f"{t} {view}", canonical=topic))
    return rows


def merged(rows: list[dict[str, object]]) -> float:
    """Share of the views that are in one cluster with the page they name."""
    cluster = label_site(table(rows)).cluster.reshape(-1, 2)
    assert len(set(cluster[:, 0].tolist())) == len(cluster)
    return float((cluster[:, 0] == cluster[:, 1]).mean())


def test_print_views_are_one_with_the_page_they_name():
    rows = topics(
        SITE + "/index.php?action=printpage;topic={t}.0", lambda t: " ".join(["a forum", *posts(t)])
    )
    labels = label_site(table(rows))
    # Resemblance alone does not say so: what stood between the posts is gone.
    cut = label_site(table([{**row, "canonical": None} for row in rows]))
    assert (cut.resemblance(np.arange(0, 80, 2), np.arange(1, 80, 2)) < 0.8).mean() > 0.8
    assert merged(rows) == 1.0
    assert {labels.level[k] for k in range(1, 80, 2)} == {4}


def test_exports_in_sections_of_their_own_are_one_kind():
    """Four exports a section are too few to judge; `export` is what all of them add."""
    rows = []
    for t in range(40):
        name = f"section{t % 10}/article{t}"
        rows.append(page(f"{SITE}/{name}", dressed(posts(t)), digest=f"{t}", canonical=f"{SITE}/{name}"))
        rows.append(
            page(f"{SITE}/_export/{name}", " ".join(posts(t)), digest=f"x{t}", canonical=f"{SITE}/{name}")
        )
    assert merged(rows) == 1.0


def test_the_print_view_of_a_whole_topic_is_not_its_first_page():
    rows = topics(SITE + "/print?topic={t}", lambda t: " ".join(posts(t)))
    for t in (3, 14):
        rows[2 * t + 1] = {**rows[2 * t + 1], "text": " ".join([*posts(t), words(999 + t, 700)])}
    cluster = label_site(table(rows)).cluster.reshape(-1, 2)
    assert np.flatnonzero(cluster[:, 0] != cluster[:, 1]).tolist() == [3, 14]


def test_bare_comments_are_not_the_article_they_belong_to():
    assert merged(topics(SITE + "/comments?topic={t}", lambda t: words(5000 + t, 20 * len(posts(t))))) == 0.0


def test_older_revisions_are_not_the_article():
    """They wear the frame, and half of what they say was written anew since."""

    def older(t: int) -> str:
        kept = posts(t)
        return dressed(
            [*kept[: len(kept) // 2], *(words(7000 + 20 * t + k, 25) for k in range(len(kept) // 2))]
        )

    assert merged(topics(SITE + "/index.php?oldid={t}", older)) == 0.0


def test_a_list_sorted_otherwise_is_not_the_list():
    def sorted_otherwise(t: int) -> str:
        some = [*posts(t), *posts((t + 7) % 40), *posts((t + 14) % 40)]
        return " ".join(random.Random(t).sample(some, len(posts(t))))

    assert merged(topics(SITE + "/topic,{t}/sort,date.html", sorted_otherwise)) == 0.0


def test_bare_pages_that_all_name_the_start_page_are_not_believed():
    rows = topics(SITE + "/print?topic={t}", lambda t: " ".join(posts(t)))
    home = page(f"{SITE}/", dressed([post for t in range(40) for post in posts(t)]), canonical=f"{SITE}/")
    rows = [row if k % 2 == 0 else {**row, "canonical": f"{SITE}/"} for k, row in enumerate(rows)]
    labels = label_site(table([*rows, home]))
    assert not (labels.cluster[:-1] == labels.cluster[-1]).any()
