"""Canonical URLs per CPU second: undust next to w3lib and duplicate-url-discarder, in one run.

    python benchmarks/apply.py [--sites 1000] [--urls 200000] [--large 10000]

Needs the two peers: pip install w3lib duplicate-url-discarder

Every site has 30 rules: 19 parameter rules (dropped always, below a path, on one path, at their default value),
4 substring substitutions, 3 path patterns, an index file, a host alias, an order of parameters, path parameters.
The URLs are drawn from the shapes real sites have, Zipf-distributed over the sites; rules change about six of
ten. duplicate-url-discarder gets 30 rules a domain too, of the kinds it has. Figures are CPU seconds of one
process, the best of several passes over the same list of distinct URLs.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules
from undust.rules.rule import Condition

TRACKING = ["utm_source", "utm_medium", "utm_campaign", "ref", "fbclid"]


def rules_of(domain: str) -> list[Rule]:
    """30 mixed rules for one site."""
    hosts = (domain, f"www.{domain}")
    topic, site, forum, shop = (
        "/forum/viewtopic.php",
        Scope(hosts),
        Scope(hosts, path="/forum"),
        Scope(hosts, path="/shop/"),
    )
    drops: list[tuple[Scope, dict[str, Condition], list[str]]] = [
        (site, {}, [*TRACKING, "sid", "PHPSESSID"]),
        (forum, {}, ["highlight", "postorder", "print"]),
        (site, {"path": topic}, ["view", "postdays", "theme"]),
    ]
    rules = [Rule(scope, when, {f"query[{name}]": None}) for scope, when, names in drops for name in names]
    rules += [
        Rule(site, when={"path": topic, "query[start]": "0"}, do={"query[start]": None}),
        Rule(site, when={"query[page]": "1"}, do={"query[page]": None}),
        Rule(shop, when={"query[sort]": ["default", "name"]}, do={"query[sort]": None}),
        Rule(shop, when={"query[id]": "{:int}"}, do={"query[color]": None}),
        Rule(site, when={"query[lang]": "en"}, do={"query[lang]": None}),
        Rule(shop, do={"query[session]": {"ignore": "0"}}),
        Rule(shop, do={"query": "{query|sort}"}),
        Rule(site, when={"path": "/wiki/{t}"}, do={"path": "/index.php", "query[title]": "{t|decode}"}),
        Rule(
            site, when={"path": "/board/topic,{t:int}.msg{:int}.html"}, do={"path": "/board/topic,{t}.0.html"}
        ),
        Rule(site, when={"path": "/{y:int}/{m:int}/{s:slug}/amp"}, do={"path": "/{y}/{m}/{s}"}),
        Rule(site, when={"path[-1]": ["index.html", "index.htm"]}, do={"path[-1]": ""}),
        Rule(site, when={"host": f"www.{domain}"}, do={"host": domain}),
        Rule(site, do={"matrix[jsessionid]": None}),
    ]
    swaps = [("story_", "story?id="), ("&LastView=&Close=", ""), (".php3?", ".php?"), ("/print/", "/")]
    rules += [Rule(site, do={"substitute": {"from": old, "to": new}}) for old, new in swaps]
    assert len(rules) == 30
    return rules


def book_of(domains: list[str]) -> RuleBook:
    sites = (SiteRules(domain, (domain, f"www.{domain}"), rules_of(domain)) for domain in domains)
    return RuleBook({site.name: site for site in sites})


def urls_of(domains: list[str], count: int, seed: int) -> list[str]:
    """Distinct URLs, Zipf-distributed over the domains."""
    draw = random.Random(seed)
    words = ["alpha", "river", "stone", "cloud", "paper", "night", "table", "music", "world", "light"]

    def slug() -> str:
        return "-".join(draw.choice(words) for _ in range(draw.randint(2, 5)))

    shapes: list[Callable[[], str]] = [
        lambda: f"/forum/viewtopic.php?t={draw.randint(1, 9999)}",
        lambda: f"/forum/viewtopic.php?t={draw.randint(1, 9999)}&start={draw.choice([0, 0, 15, 30])}",
        lambda: f"/forum/memberlist.php?u={draw.randint(1, 9999)}",
        lambda: f"/shop/item.php?id={draw.randint(1, 9999)}&color={draw.choice(words)}",
        lambda: f"/shop/search?q={draw.choice(words)}%20{draw.choice(words)}&page={draw.randint(1, 9)}",
        lambda: f"/{draw.randint(2001, 2024)}/{draw.randint(1, 12):02}/{slug()}",
        lambda: f"/{draw.randint(2001, 2024)}/{draw.randint(1, 12):02}/{slug()}/amp",
        lambda: f"/wiki/{slug().title().replace('-', '_')}",
        lambda: f"/docs/{slug()}/index.html",
        lambda: f"/docs/{slug()}/{slug()}.html",
        lambda: f"/board/topic,{draw.randint(1, 9999)}.msg{draw.randint(1, 99999)}.html",
        lambda: f"/news/story_{draw.randint(1, 99999)}",
        lambda: f"/~{draw.choice(words)}/{slug()}/",
        lambda: f"/article/{draw.randint(1, 999999)}-{slug()}",
        lambda: f"/tag/{draw.choice(words)}/page/{draw.randint(1, 99)}/",
        lambda: f"/img/{draw.getrandbits(64):016x}.jpg",
        lambda: f"/{slug()}.html",
        lambda: f"/{draw.choice(words)}/{slug()}-{draw.randint(1, 9999)}.html",
        lambda: f"/user/{draw.randint(1, 99999)}/posts",
        lambda: f"/download.php?file={draw.randint(1, 99999)}",
    ]
    extras: list[tuple[float, Callable[[], str]]] = [
        (0.25, lambda: f"sid={draw.getrandbits(128):032x}"),
        (0.25, lambda: f"{draw.choice(TRACKING)}={draw.choice(words)}"),
        (0.10, lambda: f"lang={draw.choice(['en', 'de', 'fr'])}"),
        (0.05, lambda: f"highlight={draw.choice(words)}"),
        (0.05, lambda: f"sort={draw.choice(['default', 'price', 'name'])}"),
        (0.10, lambda: f"{draw.choice(words)}={draw.randint(0, 99)}"),
    ]
    weights = [1 / (rank + 1) for rank in range(len(domains))]
    out: dict[str, None] = {}
    while len(out) < count:
        for domain in draw.choices(domains, weights, k=count // 4):
            host = "www." + domain if draw.random() < 0.15 else domain
            path = draw.choice(shapes)()
            if draw.random() < 0.5:
                for share, extra in extras:
                    if draw.random() < share:
                        path += ("&" if "?" in path else "?") + extra()
            scheme = "https" if draw.random() < 0.7 else "http"
            if draw.random() < 0.02:
                host = (
                    host.upper() if draw.random() < 0.5 else host + (":443" if scheme == "https" else ":80")
                )
            if draw.random() < 0.02:
                path += "#top"
            out[f"{scheme}://{host}{path}"] = None
    return list(out)[:count]


def discarder(domains: list[str]) -> Callable[[str], str]:
    """duplicate-url-discarder with 30 rules a domain."""
    from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer

    logging.disable(logging.ERROR)  # its library tries to fetch the public suffix list and says so at length

    rules = []
    for domain in domains:
        names = ["sid", "PHPSESSID", *TRACKING]
        rules += [("queryRemoval", [name], f"{domain}/") for name in names]
        rules += [("queryRemoval", [n], f"{domain}/forum/") for n in ("highlight", "postorder", "print")]
        rules += [
            ("queryRemoval", [n], f"{domain}/forum/viewtopic.php")
            for n in ("view", "postdays", "theme", "start")
        ]
        rules += [("queryRemoval", [f"p{n}"], f"{domain}/shop/") for n in range(10)]
        rules += [("queryRemoval", [f"q{n}"], f"{domain}/news/") for n in range(4)]
        rules += [("subpathRemoval", [2], f"{domain}/docs/"), ("normalizer", [], f"{domain}/")]
    objects = [
        {"order": 0, "processor": kind, "args": args, "urlPattern": {"include": [pattern]}}
        for kind, args, pattern in rules
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.json"
        path.write_text(json.dumps(objects))
        return UrlCanonicalizer([path]).process_url


def rate(run: Callable[[], object], count: int, passes: int) -> float:
    """URLs per CPU second, the best of several passes."""
    best = float("inf")
    for _ in range(passes):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return count / best


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sites", type=int, default=1_000)
    options.add_argument("--large", type=int, default=10_000)
    options.add_argument("--urls", type=int, default=200_000)
    options.add_argument("--passes", type=int, default=3)
    options.add_argument("--seed", type=int, default=20240607)
    options.add_argument("--only-undust", action="store_true")
    given = options.parse_args()

    domains = [f"site{number}.com" for number in range(given.large)]
    some = domains[: given.sites]
    urls = urls_of(some, given.urls, given.seed)

    start = time.process_time()
    book = book_of(some)
    canon = Canonicalizer(book)
    print(
        f"undust: {len(book):,} rules for {len(some):,} sites ready in {time.process_time() - start:.1f} CPU s"
    )
    start = time.process_time()
    out = canon.map(urls)
    print(
        f"undust, first pass (rules compiled on the way): {len(urls) / (time.process_time() - start):,.0f} URLs/CPU s"
    )
    ours = rate(lambda: canon.map(urls), len(urls), given.passes)
    changed = sum(map(str.__ne__, urls, out)) / len(urls)
    print(f"undust Canonicalizer.map, {len(some):,} sites: {ours:,.0f} URLs/CPU s ({changed:.0%} changed)")
    one = rate(lambda: [canon(url) for url in urls], len(urls), 1)
    print(f"undust Canonicalizer(url) one by one: {one:,.0f} URLs/CPU s")

    few = urls_of(domains[:10], given.urls // 4, given.seed)
    small, large = Canonicalizer(book_of(domains[:10])), Canonicalizer(book_of(domains))
    rates = []
    for _ in range(3):  # in turn, so that a noisy neighbour hits both
        rates.append((rate(lambda: small.map(few), len(few), 2), rate(lambda: large.map(few), len(few), 2)))
    of_small, of_large = max(a for a, _ in rates), max(b for _, b in rates)
    print(f"same URLs, 10 sites loaded: {of_small:,.0f}; {given.large:,} loaded: {of_large:,.0f} URLs/CPU s; "
          f"{of_small / of_large:.2f}x dearer")  # fmt: skip

    if not given.only_undust:
        from w3lib.url import canonicalize_url

        sample = urls[: max(1, len(urls) // 4)]
        theirs = 0.0
        for _ in range(given.passes):  # in turn, as above
            theirs = max(theirs, rate(lambda: [canonicalize_url(url) for url in sample], len(sample), 1))
            ours = max(ours, rate(lambda: canon.map(urls), len(urls), 1))
        print(f"w3lib canonicalize_url: {theirs:,.0f} URLs/CPU s; undust {ours:,.0f}: {ours / theirs:.2f}x")
        sample = urls[: max(1, len(urls) // 40)]
        discard = discarder(some)
        discard(urls[0])
        theirs = rate(lambda: [discard(url) for url in sample], len(sample), 1)
        print(
            f"duplicate-url-discarder, 30 rules a domain: {theirs:,.0f} URLs/CPU s; undust {ours / theirs:.1f}x"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
