import numpy as np

from undust.likeness import label_site

from .made_up import page, table, words

SITE = "http://a.example"
LOGIN = "please log in to go on"
MENU = " ".join(f"menu{i}" for i in range(1500))


def board() -> list[dict[str, object]]:
    """Twenty topics, each with its posts `?p=` and some session ids: what `t` and `p` name, and `sid` does not."""
    rows = []
    for t in range(20):
        rows += [page(f"{SITE}/topic?t={t}&sid={s}{t}", words(t)) for s in ("ab", "cd")]
        rows += [page(f"{SITE}/topic?p={10 * t + k}", words(t)) for k in range(10)]
        rows += [page(f"{SITE}/member/m{t}", words(700 + t))]
    return rows


def soft_urls(rows: list[dict[str, object]]) -> set[str]:
    soft = label_site(table(rows)).soft
    return {str(rows[k]["url"]) for k in np.flatnonzero(soft)}


def test_a_login_page_under_many_post_numbers_is_soft():
    login = [page(f"{SITE}/reply?p={p}", LOGIN) for p in range(120)]
    assert soft_urls(board() + login) == {str(row["url"]) for row in login}


def test_a_page_under_many_session_ids_is_not():
    start = [page(f"{SITE}/?sid=ab{s}", LOGIN) for s in range(120)]
    assert soft_urls(board() + start) == set()


def test_a_topic_under_all_its_posts_is_not():
    assert soft_urls(board()) == set()


def test_a_long_page_is_not_soft_however_many_names_it_has():
    portal = [page(f"{SITE}/reply?p={p}", words(999, 800)) for p in range(120)]
    assert soft_urls(board() + portal) == set()


def test_names_borrowed_from_another_key_are_names():
    """`?user=m7` never shows anything but an empty list; that m7 is a name is known from /member/m7."""
    empty = [page(f"{SITE}/log?user=m{t}", "nothing found") for t in range(20)]
    assert soft_urls(board() + empty) == {str(row["url"]) for row in empty}


def test_values_that_name_nothing_elsewhere_are_no_names():
    noisy = [page(f"{SITE}/start?rnd=x{t}", "welcome all") for t in range(60)]
    assert soft_urls(board() + noisy) == set()


def test_the_start_page_is_spared_when_nonsense_leads_to_it():
    home = [page(f"{SITE}/{path}", LOGIN) for path in ("", "index", "home", "start", "main")]
    lost = [page(f"{SITE}/search?p={p}", LOGIN) for p in range(13)]
    rows = board() + home + lost
    # Thirteen of eighteen: the addresses that name something else are soft, the start page's own are not.
    rows += [page(f"{SITE}/topic?p={500 + k}", words(300 + k)) for k in range(5)]
    found = soft_urls(rows)
    assert found <= {str(row["url"]) for row in lost}


def test_many_names_redirected_to_one_page_are_soft_and_the_page_is_not():
    home = page(f"{SITE}/home", words(1234))
    gone = [page(f"{SITE}/topic?p={p}", status=302, location="/home") for p in range(1000, 1120)]
    rows = [*board(), home, *gone]
    assert soft_urls(rows) == {str(row["url"]) for row in gone}


def test_given_soft_pages_stay_soft():
    assert soft_urls([page(f"{SITE}/a", words(1), soft=True), page(f"{SITE}/b", words(2))]) == {f"{SITE}/a"}


def test_a_login_page_in_a_large_frame_is_soft():
    """Nine tenths of every page are menus, so the login page is hardly shorter than the others."""
    rows = []
    for row in board():
        rows.append({**row, "text": f"{MENU} {row['text']}"} if row.get("text") else row)
    login = [page(f"{SITE}/reply?p={p}", f"{MENU} {LOGIN}") for p in range(120)]
    assert soft_urls(rows + login) == {str(row["url"]) for row in login}


def test_sizes_tell_a_soft_page_where_no_text_is_known():
    def blind(row: dict[str, object]) -> dict[str, object]:
        size = len(str(row["text"]))
        return {k: v for k, v in row.items() if k != "text"} | {"size_min": size, "size_max": size}

    login = [page(f"{SITE}/reply?p={p}", LOGIN) for p in range(120)]
    assert soft_urls([*map(blind, board() + login)]) == {str(row["url"]) for row in login}


def test_a_session_id_behind_a_semicolon_is_no_name():
    things = [
        page(f"{SITE}/things/{t};jsessionid={s}{t}", f"thing {t}") for t in range(30) for s in range(12)
    ]
    assert soft_urls(board() + things) == set()
