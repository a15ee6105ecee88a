import numpy as np
import pytest

from undust.likeness.boilerplate import boilerplate_values, own_agreement
from undust.likeness.seen import see
from undust.likeness.sketch import sketch_texts

from .made_up import TEMPLATE, page, table, words

SITE = "http://a.example"


def site_with_template(share: float, n: int = 60) -> list[dict[str, object]]:
    """Pages of 400 words, of which a share is a menu; two versions of each page with another tenth of it."""
    menu = words(4242, round(400 * share))
    rows = []
    for k in range(n):
        own = words(k, 400 - len(menu.split())).split()
        cut = len(own) // 10
        rows.append(page(f"{SITE}/{k}/a", f"{menu} {' '.join(own)}"))
        rows.append(page(f"{SITE}/{k}/b", f"{menu} {' '.join(own[:-cut])} {words(900 + k, cut)}"))
    return rows


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_what_is_left_without_the_template_is_estimated_right(share):
    """Raw sketches put different pages of one template near each other; own words do not, and twins stay near."""
    seen = see(table(site_with_template(share)))
    boiler = boilerplate_values(seen)
    assert abs(boiler.mean() - share) < 0.2
    a = np.arange(0, 120, 2)
    twin_for, twin_against = (x.sum() for x in own_agreement(seen, boiler, a, a + 1))
    other_for, other_against = (x.sum() for x in own_agreement(seen, boiler, a, (a + 2) % 120))
    assert twin_for / (twin_for + twin_against) > 0.6
    assert other_for / max(other_for + other_against, 1) < 0.05
    raw = (seen.sketch[a] == seen.sketch[(a + 2) % 120]).mean()
    assert raw > share / 3


def test_a_content_under_many_addresses_is_no_template():
    rows = [page(f"{SITE}/?sid={s}", words(1)) for s in range(100)] + [page(f"{SITE}/b", words(2))]
    assert not boilerplate_values(see(table(rows))).any()


def test_a_shorter_text_without_the_template_does_not_contradict():
    """A print view: where the page's least hash is the menu's, the print view's larger one says nothing."""
    rows = [page(f"{SITE}/{k}", f"{TEMPLATE} {words(k, 120)}") for k in range(40)]
    rows += [page(f"{SITE}/{k}/print", words(k, 120)) for k in range(40)]
    seen = see(table(rows))
    a = np.arange(40)
    agree, against = own_agreement(seen, boilerplate_values(seen), a, a + 40)
    assert agree.sum() > 5 * against.sum()


def test_without_lengths_many_sketches_show_a_template():
    rows = [page(f"{SITE}/{k}", f"{TEMPLATE} {words(k, 60)}") for k in range(40)]
    pages = table(rows).drop_columns(["text_len"])
    assert boilerplate_values(see(pages)).mean() > 0.3


def test_no_sketches_no_boilerplate():
    assert boilerplate_values(see(table([page(f"{SITE}/a", digest="1")]))).shape[0] == 1
    assert sketch_texts([]).shape == (0, 4)
