"""Shops: categories with facets, products under several categories, currencies and languages."""

from __future__ import annotations

from random import Random

from .section import Fields, Link, Query, Reply, Section, some


class Shop(Section):
    """Products and categories; what a parameter of the list does differs from shop to shop."""

    def set_up(self) -> None:
        rng = self.rng
        self.products = max(12, self.size // 4)
        self.categories = rng.randint(4, 12)
        self.by = rng.choice(("path", "path", "query", "slug"))
        self.product_at = rng.choice(
            ("/product_info.php", "/product.php", "/catalog/product/view", "/item.asp")
        )
        self.list_at = rng.choice(("/category.php", "/index.php", "/list.aspx"))
        self.id, self.cat = self.name("id", "products_id"), self.name("category", "cPath")
        self.sort, self.dir, self.page = (
            self.name("sort", "order"),
            self.name("dir", "dir"),
            self.name("page", "p"),
        )
        self.limit, self.mode = self.name("limit", "limit"), self.name("view", "mode")
        self.color, self.money, self.lang = (
            self.name("free", "color"),
            self.name("free", "currency"),
            self.name("lang", "lang"),
        )
        self.crumbs = rng.random() < 0.3  # the way one came stands on the page
        self.modes = rng.random() < 0.4  # grid and list show different texts
        self.variants = rng.choice(("none", "same", "text"))  # what ?color= does to a product
        self.near = rng.random() < 0.4  # products come in series that differ in a word or two
        self.priced = rng.random() < 0.7  # the currency shows
        self.ending = rng.choice((".html", "", "/"))

    def cat_of(self, product: int) -> list[int]:
        return [self.number(f"cat {k} {product}", 0, self.categories - 1) for k in range(2)]

    def place(self, product: int) -> str:
        return f"{self.slug(f'product {product}')}-{product}{self.ending}"

    def link(self, rng: Random) -> Link:
        extra: Fields = some(
            rng,
            [
                (self.money, rng.choice(("USD", "USD", "EUR", "GBP"))),
                (self.lang, rng.choice(("en", "en", "de"))),
            ],
            0.08,
        )
        if rng.random() < 0.6:
            product = self.pick(rng, self.products)
            cats = self.cat_of(product)
            if rng.random() < 0.2 and self.variants != "none":
                extra.append((self.color, rng.choice(("red", "blue", "green", "black"))))
            if self.by == "query":
                via = [(self.cat, str(rng.choice(cats)))] if rng.random() < 0.5 else []
                return Link(self.product_at, [*via, (self.id, str(product)), *extra])
            if rng.random() < 0.1:
                way = f"{self.product_at}/id/{product}"
                return Link(way + (f"/category/{rng.choice(cats)}" if rng.random() < 0.5 else ""), extra)
            head = (
                f"/{self.slug(f'category {rng.choice(cats)}')}"
                if self.by == "path" and rng.random() < 0.8
                else ""
            )
            return Link(f"{head}/{self.place(product)}", extra)
        category = self.pick(rng, self.categories)
        fields = some(
            rng,
            [
                (self.sort, rng.choice(("position", "position", "price", "name"))),
                (self.dir, rng.choice(("asc", "asc", "desc"))),
                (self.page, rng.choice("1123")),
                (self.limit, rng.choice(("12", "12", "24"))),
                (self.mode, rng.choice(("grid", "grid", "list"))),
                (self.color, rng.choice(("red", "blue", "all", ""))),
                ("price", rng.choice(("0-50", "50-100"))),
            ],
            0.22,
        )
        if self.by == "query":
            return Link(self.list_at, [(self.cat, str(category)), *fields, *extra])
        return Link(f"/{self.slug(f'category {category}')}{self.ending}", [*fields, *extra])

    def answer(self, path: str, q: Query) -> Reply | None:
        money = q.get(self.money) or "USD"
        lang = q.get(self.lang) or "en"
        if money not in ("USD", "EUR", "GBP") or lang not in ("en", "de"):
            money, lang = "USD", "en"
        label = ("" if money == "USD" or not self.priced else money + " ") + (
            "" if lang == "en" else lang + " "
        )
        product = category = -1
        via, where = -1, ""
        heads = {self.slug(f"category {c}"): c for c in range(self.categories)}
        if path == self.product_at and self.by == "query":
            product, via = q.int(self.id, -1), q.int(self.cat, -1)
            where = f"product {product}"
        elif path.startswith(self.product_at + "/id/") and self.by != "query":
            parts = path[len(self.product_at) + 4 :].split("/")
            product = int(parts[0]) if parts[0].isdigit() and len(parts[0]) < 9 else -1
            where = f"view {product}"
        elif path == self.list_at and self.by == "query":
            category = q.int(self.cat, -1)
        elif self.by != "query":
            parts = path.removesuffix(self.ending).split("/")[1:] if self.ending else path.split("/")[1:]
            if self.ending and not path.endswith(self.ending):
                return None
            if len(parts) == 1 and parts[0] in heads:
                category = heads[parts[0]]
            elif parts[-1].rpartition("-")[2].isdigit() and len(parts) <= 2:
                product = int(parts[-1].rpartition("-")[2])
                if self.place(product).removesuffix(self.ending) != parts[-1]:
                    return None
                if len(parts) == 2:
                    if self.by != "path" or heads.get(parts[0], -1) not in self.cat_of(product):
                        return None
                    via = heads[parts[0]]
                where = f"product {product}"
        if 0 <= product < self.products:
            return self._product(product, via, where, label, money, lang, q)
        if 0 <= category < self.categories:
            return self._list(category, label, lang, q)
        return None

    def _product(
        self, product: int, via: int, where: str, label: str, money: str, lang: str, q: Query
    ) -> Reply:
        series = product // 4 if self.near else product
        text = self.text(f"{lang} series {series}", 40, 120)
        words = text.split()
        if self.near:
            words[len(words) // 2] = self.words.word(f"{self.key} variant {product}")
            words[3] = self.words.word(f"{self.key} kind {product}")
        price = self.number(f"price {product}", 5, 900)
        shown = f"{money} {price}" if self.priced else str(price)
        where = f"{label}{where}"
        color = q.get(self.color)
        if self.variants == "text" and color in ("red", "blue", "green", "black"):
            words.insert(5, f"in {color}")
            where += f" {color}"
        text = " ".join([self.title(f"product {product}"), shown, *words])
        if self.crumbs and via >= 0:
            text = f"you are in {self.title(f'category {via}')} {text}"
            where += f" via {via}"
        link = None
        if self.linked and self.by != "query":
            link = f"/{self.place(product)}"
        elif self.linked:
            link = f"{self.product_at}?{self.id}={product}"
        return Reply(text, where, canonical=link if not label else None)

    def _list(self, category: int, label: str, lang: str, q: Query) -> Reply | None:
        sort, way = q.get(self.sort) or "position", q.get(self.dir) or "asc"
        sort = sort if sort in ("price", "name") else "position"
        page, limit = max(1, q.int(self.page, 1)), q.int(self.limit, 12)
        limit = limit if limit in (12, 24) else 12
        mode = "list" if q.get(self.mode) == "list" and self.modes else "grid"
        color, price = q.get(self.color), q.get("price")
        color = color if color in ("red", "blue") else ""
        mine = [i for i in range(self.products) if category in self.cat_of(i)]
        if color:
            mine = [i for i in mine if self.number(f"{color} {i}", 0, 2) == 0]
        if price in ("0-50", "50-100"):
            low = int(price.partition("-")[0])
            mine = [i for i in mine if low <= self.number(f"price {i}", 5, 900) // 9 < low + 50]
        else:
            price = ""
        if sort != "position":
            mine.sort(
                key=lambda i: (
                    self.title(f"product {i}")
                    if sort == "name"
                    else f"{self.number(f'price {i}', 5, 900):09}"
                )
            )
        if way == "desc":
            mine.reverse()
        mine = mine[(page - 1) * limit : page * limit]
        if not mine and page > 1:
            return None
        heading = f"{label}{lang} {self.title(f'category {category}')} {color} {price}"
        if mode == "list":
            text = (
                heading
                + " "
                + " ".join(
                    self.text(f"{lang} series {i // 4 if self.near else i}", 40, 120)[:120] for i in mine
                )
            )
        else:
            text = self.listing(heading, mine, "product")
        if not mine:
            text = "there are no products matching the selection"
        slug = f"/{self.slug(f'category {category}')}{self.ending}"
        link = slug if self.linked and self.by != "query" and self.sloppy else None
        return Reply(
            text, f"{label}list {category} {sort} {way} {page} {limit} {mode} {color} {price}", canonical=link
        )
