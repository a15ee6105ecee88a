"""The report in a browser, as a reader uses it: headless Chromium, no network, light and dark, large and small."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from undust.measures.papers import Curves
from undust.report import curves_page, report

from .made_up import ATTACK, hostile, two_sites

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium and chromedriver (Debian: chromium, chromium-driver)"
)

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PHONE, DESK = (390, 844), (1280, 900)
WAIT = 20.0
"""Seconds a chart may take on a busy machine."""


class Reader:
    """A person with a browser, in few words."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def look(self, file: Path, size: tuple[int, int] = DESK, scheme: str = "light") -> None:
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        self.driver.get(file.as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, css: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", css)
        return found

    def texts(self, css: str) -> list[str]:
        return [found.text for found in self.all(css)]

    def click(self, css: str, number: int = 0) -> None:
        target = self.all(css)[number]
        self.run("arguments[0].scrollIntoView({block: 'center'})", target)
        target.click()

    def choose(self, css: str, value: str) -> None:
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change'));",
            css,
            value,
        )

    def type(self, css: str, text: str) -> None:
        (field,) = self.all(css)
        field.clear()
        field.send_keys(text)

    def until(self, what: Callable[[], Any]) -> Any:
        end = time.monotonic() + WAIT
        while not (found := what()):
            assert time.monotonic() < end, "it does not come"
            time.sleep(0.05)
        return found

    def drawn(self, chart: str, scheme: str = "light") -> Any:
        self.until(lambda: self.all(f'[data-chart="{chart}"][data-drawn="{scheme}"] svg'))
        return self.all(f'[data-chart="{chart}"] svg')[0]

    def overflow(self) -> int:
        return int(
            self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )

    def complaints(self) -> list[str]:
        """What stands in the console, and what was asked of the network."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                said += [url] * url.startswith(("http", "ws", "ftp"))
        return said


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield Reader(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report(*two_sites()), encoding="utf-8")
    return path


def test_first_screen_says_what_is_saved_and_risked(reader: Reader, file: Path) -> None:
    reader.look(file)
    (headline,) = reader.texts("h1")
    assert (
        headline.startswith("With 3 rules a crawl fetches")
        and "may lose 10 of 42 distinct contents" in headline
    )
    tiles = reader.texts(".tile .big")
    assert tiles[0].endswith("%") and tiles[1] == "33" and tiles[3] == "3"
    assert reader.all(".hero")[0].rect["height"] < 900
    assert reader.complaints() == []


def test_sites_are_chosen_and_left(reader: Reader, file: Path) -> None:
    reader.look(file)
    assert reader.texts("table.sites tbody td.name") == ["b.example", "a.example"]
    reader.click('table.sites button[data-sort="name"]')
    assert reader.texts("table.sites tbody td.name") == ["a.example", "b.example"]
    reader.click('table.sites button[data-sort="name"]')
    assert reader.texts("table.sites tbody td.name") == ["b.example", "a.example"]
    reader.type('#sites input[type="search"]', "b.ex")
    assert reader.texts("table.sites tbody td.name") == ["b.example"]
    reader.click("table.sites tbody button")
    assert reader.texts(".place") == ["b.example"] and len(reader.texts("button.rule")) == 1
    reader.choose("#site", "1")
    assert reader.texts(".place") == ["a.example"] and len(reader.texts("button.rule")) == 4
    reader.choose("#rule-site", "")
    assert reader.texts(".place") == ["All 2 sites"] and len(reader.texts("button.rule")) == 5
    assert reader.complaints() == []


def test_rules_are_sorted_filtered_and_opened(reader: Reader, file: Path) -> None:
    reader.look(file)
    reader.choose("#site", "1")
    assert reader.texts("button.rule")[0] == "drop sid"
    reader.click('table.rules button[data-sort="text"]')
    assert reader.all('th[aria-sort="ascending"] [data-sort="text"]')
    up = reader.texts("button.rule")
    assert up == sorted(up) and len(up) == 4
    reader.click('table.rules button[data-sort="text"]')
    assert reader.texts("button.rule") == up[::-1]
    assert reader.all('th[aria-sort="descending"] [data-sort="text"]')
    reader.choose("#rule-status", "validated")
    assert reader.texts("button.rule") == ["drop id"] and reader.texts(".count") == ["1 of 4 rules"]
    reader.choose("#rule-status", "")
    reader.type("#rule-text", "print")
    (kept,) = reader.texts("button.rule")
    assert kept.startswith("when path is /print/{n}")
    reader.type("#rule-text", "sid")
    reader.choose("#rule-sort", "merges")
    reader.click("button.rule")
    (open_,) = reader.all("tbody.open")
    assert "http://a.example/show?id=1&sid=x1" in open_.text and "right in 90.0 %" in open_.text
    assert [mark.text for mark in reader.all("tbody.open del")] == ["&sid=x1"]
    assert reader.all("button.rule")[0].get_attribute("aria-expanded") == "true"
    reader.click("button.rule")
    assert not reader.all("tbody.open")
    assert reader.complaints() == []


def test_wrong_merges_are_shown_with_links_to_both_pages(reader: Reader, tmp_path: Path) -> None:
    from .made_up import DROP_ID, book

    rows = [{"url": f"http://a.example/show?id={i}", "digest": f"{i}"} for i in range(4)]
    path = tmp_path / "wrong.html"
    path.write_text(report(book(DROP_ID), rows), encoding="utf-8")
    reader.look(path)
    reader.click("button.rule")
    links = [link.get_attribute("href") for link in reader.all(".astray a")]
    assert links[:2] == ["http://a.example/show?id=1", "http://a.example/show?id=0"]
    assert {link.get_attribute("rel") for link in reader.all(".astray a")} == {"noopener noreferrer"}
    assert "both become http://a.example/show" in reader.all(".astray")[0].text


def test_charts_are_drawn_and_the_tree_is_zoomed(reader: Reader, file: Path) -> None:
    reader.look(file)
    reader.drawn("curve")
    reader.choose("#site", "1")
    reader.drawn("curve")
    tree = reader.drawn("tree")
    way = ".way button"
    reader.until(lambda: reader.texts(way) == ["all URLs"])
    assert "path[0]=show" in tree.text
    boxes = '[data-chart="tree"] path[aria-roledescription="rect mark"], [data-chart="tree"] .mark-rect path'
    before = len(reader.all(boxes))
    assert before >= 3
    reader.click(boxes, 1)
    steps = reader.until(lambda: len(reader.texts(way)) == 2 and reader.texts(way))
    assert steps[1].startswith("path[0]=")
    assert reader.until(lambda: len(reader.all(boxes)) != before)
    reader.click(way, 0)
    reader.until(lambda: reader.texts(way) == ["all URLs"] and len(reader.all(boxes)) == before)
    reader.click('[data-mode="after"]')
    assert reader.all('[data-mode="after"][aria-pressed="true"]')
    reader.drawn("tree")
    assert reader.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_it_fits_and_can_be_read(reader: Reader, file: Path, size: tuple[int, int], scheme: str) -> None:
    reader.look(file, size, scheme)
    for at in ("", "1"):
        reader.choose("#site", at)
        for number in range(len(reader.all("button.rule"))):
            reader.click("button.rule", number)
        reader.drawn("curve", scheme)
        assert reader.overflow() == 0, at
    paper, ink = (
        reader.run(f"return getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
    )
    assert (luminance(paper) > luminance(ink)) == (scheme == "light")
    for css in (".about", ".tile p", ".status", "button.rule", ".tile .big", ".seen", "del", "ins", "footer"):
        for found in reader.all(css)[:4]:
            assert contrast(reader, found) >= 4.5, (css, found.text)
    if size == PHONE:
        smallest = min(
            float(reader.run("return parseFloat(getComputedStyle(arguments[0]).fontSize)", found))
            for found in reader.all("main p, main td, main button, main li, .url")
        )
        assert smallest >= 11.5
    assert reader.complaints() == []


def test_charts_follow_when_the_scheme_changes(reader: Reader, file: Path) -> None:
    reader.look(file)
    reader.drawn("curve", "light")
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    reader.drawn("curve", "dark")


def test_nothing_from_outside_is_run(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(report(*hostile()), encoding="utf-8")
    for size in (DESK, PHONE):
        reader.look(path, size)
        sites = reader.run("return [...document.querySelectorAll('#site option')].map((o) => o.value)")
        assert len(sites) == 3
        for site in sites:
            reader.choose("#site", site)
            for number in range(len(reader.all("button.rule"))):
                reader.click("button.rule", number)
            assert reader.overflow() == 0
            assert [
                f.get_attribute("outerHTML") for f in reader.all("img, iframe, object, embed, link, base")
            ] == []
            links = [link.get_attribute("href") for link in reader.all("a")]
            assert all(link.startswith(("http://a.example/", "file:")) for link in links), links
            reader.run(
                "document.querySelectorAll('[data-chart] path').forEach((p) => p.dispatchEvent("
                "new MouseEvent('mousemove', {bubbles: true})))"
            )
        assert "onerror" in reader.run("return document.body.innerText")
        assert reader.run("return window.hacked") is None
    assert reader.complaints() == []


def test_figures_of_the_papers_are_drawn(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "papers.html"
    curves = Curves(ATTACK, "k", ("5", "10", "20"), {"paper": (0.9, 0.8, None), ATTACK: (1.0, 0.9, 0.5)})
    path.write_text(curves_page(["a table", curves]), encoding="utf-8")
    for size in (DESK, PHONE):
        reader.look(path, size)
        reader.until(lambda: reader.all(".chart[data-drawn] svg"))
        assert len(reader.all(".mark-symbol path")) >= 5 and reader.overflow() == 0
    assert reader.run("return window.hacked") is None and reader.complaints() == []


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2) of `rgb(r, g, b)`."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(reader: Reader, found: Any) -> float:
    """The contrast of a text against what is behind it."""
    ink, paper = reader.run(
        "let at = arguments[0]; const ink = getComputedStyle(at).color;"
        "while (at && /, 0\\)$/.test(getComputedStyle(at).backgroundColor)) at = at.parentElement;"
        "return [ink, getComputedStyle(at || document.body).backgroundColor];",
        found,
    )
    low, high = sorted((luminance(ink), luminance(paper)))
    return (high + 0.05) / (low + 0.05)
