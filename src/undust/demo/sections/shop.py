"""A shop: `;jsessionid=`, a slug that may be anything, and a `page` that means two things."""

from __future__ import annotations

from random import Random

from undust.demo.prose import article, title
from undust.demo.sections.section import (
    LOGIN,
    NOT_FOUND,
    Body,
    Planted,
    Section,
    Target,
    drop,
    fields,
    hex_id,
    pairs,
    replace,
)

PAGES = 4


class Shop(Section):
    """`/shop/item/12/red-wool-hat` and `/shop/list?cat=3&page=2`."""

    prefixes = ("shop",)
    front = "shop/front"
    planted = (
        Planted(
            "shop-session",
            "/shop/: drop ;jsessionid=",
            True,
            replace(r"^(/shop/[^?;]*);jsessionid=[^?]*", r"\1"),
        ),
        Planted(
            "shop-slug",
            "/shop/item/N/slug is /shop/item/N",
            True,
            replace(r"^(/shop/item/\d+)/[^/?;]+", r"\1"),
        ),
        Planted(
            "shop-item-page",
            "/shop/item/: drop page (where the visitor came from)",
            True,
            drop("page", path="/shop/item/"),
        ),
        Planted("shop-first-page", "/shop/list: drop page=1", True, drop("page", "1", "/shop/list")),
        Planted(
            "shop-sort", "/shop/list: drop sort=relevance", True, drop("sort", "relevance", "/shop/list")
        ),
        Planted(
            "shop-page",
            "/shop/list: drop page (here it is the content)",
            False,
            drop("page", path="/shop/list"),
        ),
        Planted("shop-any-sort", "/shop/list: drop sort", False, drop("sort", path="/shop/list")),
        Planted(
            "shop-item", "/shop/item/N: N does not matter", False, replace(r"^/shop/item/\d+", "/shop/item/1")
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.items = range(1, self.many(140) + 1)
        self.categories = range(1, self.many(7) + 1)

    def contents(self) -> list[str]:
        found = ["shop/front"]
        for c in self.categories:
            found += [f"shop/list/{c}/{page}/relevance" for page in range(1, PAGES + 1)]
            found.append(f"shop/list/{c}/1/price")
        return found + [f"shop/item/{i}" for i in self.items]

    def canonical(self, content: str) -> str:
        match content.split("/")[1:]:
            case ["front"]:
                return "/shop/"
            case ["item", i]:
                return f"/shop/item/{i}"
            case ["list", c, page, sort]:
                given: list[tuple[str, object]] = [("cat", c)]
                given += [("page", page)] if page != "1" else []
                given += [("sort", sort)] if sort != "relevance" else []
                return f"/shop/list?{pairs(*given)}"
        raise ValueError(content)

    def spell(self, content: str, rng: Random) -> str:
        path, _, query = self.canonical(content).partition("?")
        given = [query] if query else []
        match content.split("/")[1:]:
            case ["item", i]:
                dice = rng.random()
                if dice < 0.5:
                    path += "/" + title(f"item {i}").lower().replace(" ", "-")
                elif dice < 0.65:
                    path += "/" + title(f"item {i} sale {rng.randint(1, 9)}").lower().replace(" ", "-")
                given += [f"page={rng.randint(1, PAGES)}"] if rng.random() < 0.25 else []
            case ["list", _, page, sort]:
                given += ["page=1"] if page == "1" and rng.random() < 0.4 else []
                given += ["sort=relevance"] if sort == "relevance" and rng.random() < 0.3 else []
        if rng.random() < 0.2:
            path += f";jsessionid={hex_id(rng).upper()}.node{rng.randint(1, 3)}"
        return path + ("?" if given else "") + "&".join(given)

    def route(self, path: str, query: str) -> Target:
        path = path.partition(";jsessionid=")[0]
        asked = fields(query)
        match path.split("/")[2:]:
            case [""]:
                return Target("shop/front")
            case ["item", i] | ["item", i, _] if _among(i, self.items):
                return Target(f"shop/item/{i}")
            case ["list"]:
                c, page, sort = asked.get("cat", ""), asked.get("page", "1"), asked.get("sort", "relevance")
                known = _among(c, self.categories) and _among(page, range(1, PAGES + 1))
                if known and sort in ("relevance", "price"):
                    return Target(f"shop/list/{c}/{page}/{sort}")
            case ["cart" | "account" | "wish", *_]:
                return LOGIN
        return NOT_FOUND

    def body(self, content: str) -> Body:
        match content.split("/")[1:]:
            case ["front"]:
                return Body("The shop", [f"Category {c}: {title(f'category {c}')}" for c in self.categories])
            case ["list", c, page, sort]:
                offers = [
                    f"{title(f'offer {c} {page} {sort} {i}')}, {17 * i + int(c)} crowns" for i in range(12)
                ]
                return Body(f"Category {c}, page {page}", offers)
        return Body(title(content.replace("shop/item/", "item ")), article(content))

    def strays(self) -> list[tuple[str, int]]:
        return [("login", self.many(40)), ("dead", self.many(10))]

    def stray(self, name: str, rng: Random) -> str:
        if name == "login":
            return f"/shop/{rng.choice(['cart', 'wish'])}/add/{rng.choice(self.items)}"
        return f"/shop/item/{rng.randrange(70_000, 80_000)}"


def _among(digits: str, known: range) -> bool:
    return digits.isascii() and digits.isdigit() and digits == str(int(digits)) and int(digits) in known
