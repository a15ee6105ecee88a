"""A web on Spark: the function that learns a site, under grouped Arrow apply (`pip install 'undust[spark]'`).

The pages of a registrable domain come together in one task, as aliases of a host are sought among the hosts of its
domain only; there `split_sites` and `learn_site` do what they do on one machine, so the book is the same byte for
byte. Koppula et al. ran their learner as six MapReduce stages (section 4.8 of our reading): docs/scaling.md.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from undust.crawl import read
from undust.crawl.formats.records import fields
from undust.engines.aliases import aliases as aliases_here
from undust.engines.bound import MAX_URLS, Draw, Lot, key_of, lots, owned, owners, recounted, supports
from undust.engines.learn import RISK, attempt, finished, nameable
from undust.errors import UsageError
from undust.learners import Learner, create
from undust.likeness import sketch_kind, sketcher, split_sites
from undust.likeness.seen import page_urls
from undust.likeness.site import host_of, registrable
from undust.measures import Evaluation, Measures, Spread
from undust.measures import evaluate as evaluate_here
from undust.rules import AliasTable, Canonicalizer, RuleBook, SiteRules
from undust.rules.aliases import Alias, write
from undust.rules.canonicalizer import LEVELS
from undust.url import normal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNIT, KEY, STRATUM, CONTENT, URL = (f"undust_{name}" for name in ("unit", "key", "stratum", "content", "url"))
_ADDED = (
    (UNIT, pa.string()),
    (KEY, pa.string()),
    (STRATUM, pa.int32()),
    (CONTENT, pa.int64()),
    (URL, pa.int64()),
)

Batches = Iterator[pa.RecordBatch]


def learn(
    pages: DataFrame,
    learner: Learner | str = "auto",
    *,
    site_key: str = "host",
    risk: float = RISK,
    params: Mapping[str, Any] | None = None,
    host: str | None = None,
    on_site: Callable[[SiteRules], None] | None = None,
    dated: bool = False,
    max_urls_per_site: int = MAX_URLS,
) -> RuleBook:
    """The book `undust.learn` would make of the same pages, one row a URL (as `undust crawl` writes them).

    Hosts of more than `max_urls_per_site` rows are sampled before their pages are brought together, so no task
    gets more; the support of their rules is counted where the pages lie.
    """
    if site_key not in ("host", "domain", "all"):
        raise UsageError(f"no site key {site_key!r}; there are host, domain, all")
    if isinstance(learner, str):
        learner = create(learner, params)
    pages = plain(pages)
    drawn = pages.mapInArrow(functools.partial(_draw, site_key, host), _schema(pages, _ADDED))
    part, over = _sampled(drawn, max_urls_per_site)

    def task(table: pa.Table) -> pa.Table:  # a partial would hide its types, which Spark goes by
        return _learn(learner, risk, site_key, host, table)

    done = part.groupBy(UNIT).applyInArrow(task, "site string, refused string, book string")
    book = RuleBook(site_key=site_key)
    for row in done.toLocalIterator(prefetchPartitions=True):
        if row["refused"] is not None:
            raise UsageError(row["refused"])
        learned = RuleBook.loads(row["book"]).sites[row["site"]]
        book.add(learned)
        if on_site is not None:
            on_site(learned)
    if over:
        _recount(book, pages, owners(book.sites.values(), over), host)
    return finished(book, dated)


def aliases(pages: DataFrame, book: RuleBook, *, host: str | None = None) -> Iterator[Alias]:
    """The aliases `undust.engines.aliases` would find in the same pages, brought here row by row."""
    sent = pages.sparkSession.sparkContext.broadcast(book.dumps())
    names = ("url", "canonical", "via")

    def task(table: pa.Table) -> pa.Table:
        crawl = read(_restored(table), host=host, threads=1, sketcher=sketcher, sketch_kind=sketch_kind())
        found = list(aliases_here(crawl, _only(sent.value, _hosts(crawl.pages))))
        return pa.table({n: pa.array([row[i] for row in found], pa.string()) for i, n in enumerate(names)})

    pages = plain(pages)
    units = pages.mapInArrow(functools.partial(_draw, book.site_key, host), _schema(pages, _ADDED))
    done = units.groupBy(UNIT).applyInArrow(task, "url string, canonical string, via string")
    for row in done.toLocalIterator(prefetchPartitions=True):
        yield row["url"], row["canonical"], row["via"]


def apply(
    urls: DataFrame,
    book: RuleBook,
    *,
    column: str = "url",
    out: str = "canonical",
    emit: str = "url",
    level: str = "probable",
    partitions: int | None = None,
    aliases: AliasTable | None = None,
    listed: DataFrame | None = None,
) -> DataFrame:
    """The DataFrame with a column `out`: the canonical URL, or the key (`emit="key"`).

    The book is broadcast and each row stands for itself: nothing is shuffled, so no site is too large. If some
    partitions are much larger than others, as after a grouping by site, `partitions` deals the rows out anew,
    in turn and whatever their site. A table of `aliases` is loaded by each worker from where it lies.

    Guarded rules ask for a list of all URLs: `listed`, a DataFrame with the same column. Then the URLs of the
    domains that have such rules are brought together with those that are listed of them, a domain a task; all
    others stay where they are. Without it these rules are skipped.
    """
    if listed is not None and any(rule.guard is not None for rule in book.rules()):
        return _asked(urls, book, listed, column, out, emit, level, partitions, aliases)
    if partitions:
        urls = urls.repartition(partitions)
    sent = urls.sparkSession.sparkContext.broadcast(book.dumps())

    def rewrite(batches: Batches) -> Batches:
        canon = _canonicalizer(sent.value, level, aliases)
        for batch in batches:
            given = batch.column(column).to_pylist()
            made = pa.array(canon.map(given, emit=emit), pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, made], [*batch.schema.names, out])

    return urls.mapInArrow(rewrite, _schema(urls, ((out, pa.string()),)))


def _asked(
    urls: DataFrame,
    book: RuleBook,
    listed: DataFrame,
    column: str,
    out: str,
    emit: str,
    level: str,
    partitions: int | None,
    aliases: AliasTable | None,
) -> DataFrame:
    from pyspark.sql import functions as f

    unit = _Units(book)
    sent = urls.sparkSession.sparkContext.broadcast(book.dumps())

    def marked(frame: DataFrame) -> DataFrame:
        def mark(batches: Batches) -> Batches:
            for batch in batches:
                units = pa.array([unit(url) for url in batch.column(column).to_pylist()], pa.string())
                yield pa.RecordBatch.from_arrays([*batch.columns, units], [*batch.schema.names, UNIT])

        return frame.mapInArrow(mark, _schema(frame, ((UNIT, pa.string()),)))

    def rewrite(these: pa.Table, those: pa.Table) -> pa.Table:
        canon = Canonicalizer(
            _book(sent.value),
            level=level,
            aliases=aliases,
            listed=(url for url in those.column(column).to_pylist() if url is not None),
        )
        made = canon.map(these.column(column).to_pylist(), emit=emit)
        return _restored(these).append_column(out, pa.array(made, pa.string()))

    given = marked(urls)
    schema = _schema(urls, ((out, pa.string()),))
    alone = given.where(f.col(UNIT).isNull()).drop(UNIT)
    apart = apply(
        alone, book, column=column, out=out, emit=emit, level=level, partitions=partitions, aliases=aliases
    )
    asking = given.where(f.col(UNIT).isNotNull()).groupBy(UNIT)
    asked = marked(listed.select(column)).where(f.col(UNIT).isNotNull()).groupBy(UNIT)
    return apart.unionByName(asking.cogroup(asked).applyInArrow(rewrite, schema))


class _Units:
    """Which URLs must come together for guarded rules to be asked: a registrable domain each, or all a site spans."""

    def __init__(self, book: RuleBook) -> None:
        self.everywhere = False
        self.of: dict[str, str] = {}
        for name, site in sorted(book.sites.items()):
            asking = [rule for rule in site.rules if rule.guard is not None]
            if not asking:
                continue
            self.everywhere |= name == "*"
            scopes = [rule.scope for rule in asking]
            named = {*site.hosts, *(h for s in scopes for h in (*s.hosts, s.domain or ""))} - {"", "*"}
            domains = {registrable(host) for host in named} | ({name} if book.site_key == "domain" else set())
            units = {self.of.get(domain, domain) for domain in domains - {"*"}}
            if units:
                one = min(units)
                self.of |= dict.fromkeys(domains - {"*"}, one)
                self.of = {domain: one if unit in units else unit for domain, unit in self.of.items()}

    def __call__(self, url: str | None) -> str | None:
        """The unit of a URL; None: no guarded rule is about it."""
        if url is None:
            return None
        domain = registrable(host_of(normal(url)))
        return self.of.get(domain, domain if self.everywhere else None)


def evaluate(
    pages: DataFrame, book: RuleBook, *, level: str = "probable", host: str | None = None
) -> Evaluation:
    """The measures of `undust.evaluate`, site by site and summed; those of single rules and the tail are left out.

    Domains are measured apart: should rules lead two of them to one URL, that merge is in no figure.
    """
    sent = pages.sparkSession.sparkContext.broadcast(book.dumps())
    site_key = book.site_key

    def measure(table: pa.Table) -> pa.Table:
        crawl = read(_restored(table), host=host, sketcher=sketcher, sketch_kind=sketch_kind())
        result = evaluate_here(_only(sent.value, _hosts(crawl.pages)), crawl, level=level)
        rows: list[dict[str, Any]] = [
            {"site": name, "part": part, **_counts(getattr(spread, part))}
            for name, spread in result.sites.items()
            for part in ("hard", "all")
        ]
        whole = {name: getattr(result, name) for name in _WHOLE}
        rows.append({"site": None, "part": None, **dict.fromkeys(_counts(Measures()), 0), **whole})
        return pa.Table.from_pylist(rows, pa.schema(_MEASURED))

    pages = plain(pages)
    units = pages.mapInArrow(functools.partial(_draw, site_key, host), _schema(pages, _ADDED))
    schema = ", ".join(f"{n} {'string' if t == pa.string() else 'bigint'}" for n, t in _MEASURED)
    sites: dict[str, dict[str, Measures]] = {}
    whole: Counter[str] = Counter()
    for row in units.groupBy(UNIT).applyInArrow(measure, schema).toLocalIterator():
        if row["site"] is None:
            whole.update({name: row[name] for name in _WHOLE})
        else:
            counts = Measures(**{name: row[name] for name in _counts(Measures())})
            sites.setdefault(row["site"], {})[row["part"]] = counts
    by_site = {name: Spread(p["hard"], p["all"], None) for name, p in sorted(sites.items())}
    hard = sum((s.hard for s in by_site.values()), Measures())
    every = sum((s.all for s in by_site.values()), Measures())
    seen: dict[str, Any] = {name: whole[name] for name in _WHOLE}
    skipped = sum(rule.guard is not None and rule.status in LEVELS[level] for rule in book.rules())
    return Evaluation(Spread(hard, every, None), by_site, skipped=skipped, **seen)


def plain(pages: DataFrame) -> DataFrame:
    """The columns that undust knows, in types that Spark and Arrow both have.

    Spark takes the unsigned 64-bit min-hashes of a Parquet file for decimals: they travel as text.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType

    known = set(fields(pages.columns, None).values())
    pages = pages.select([c for c in pages.columns if c in known])
    for field in pages.schema.fields:
        if isinstance(field.dataType, ArrayType):
            pages = pages.withColumn(field.name, f.col(field.name).cast("array<string>"))
    return pages


def session() -> SparkSession:
    """The running session, or one on this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed: pip install 'undust[spark]'") from None
    return (
        SparkSession.builder.appName("undust")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


def learn_files(
    inputs: Sequence[str],
    learner: Learner,
    *,
    format: str | None,
    rejects: str | None,
    aliases_path: str | None = None,
    **options: Any,
) -> tuple[RuleBook, dict[str, int]]:
    """`undust learn --engine spark`: pages that lie in Parquet files where Spark can read them."""
    if format not in (None, "parquet") or not all(name.rstrip("/").endswith(".parquet") for name in inputs):
        raise UsageError("--engine spark reads Parquet: write it with undust crawl INPUT... -o pages.parquet")
    pages = session().read.parquet(*inputs)
    n = pages.count()
    book = learn(pages, learner, **options)
    figures = {"pages": n, "lines": n, "bad": 0}
    if aliases_path:
        figures["aliases"] = write(aliases_path, aliases(pages, book, host=options.get("host")))
    return book, figures


def _draw(site_key: str, host: str | None, batches: Batches) -> Batches:
    """What a row must know of itself: its unit (whose pages come together), and its lots."""
    for batch in batches:
        table = _restored(pa.Table.from_batches([batch]))
        forms = _forms(batch, host)
        keys = [key_of(form, site_key) for form in forms]
        units = ["*" if site_key == "all" else registrable(host_of(form)) for form in forms]
        drawn = list(zip(*lots(table, forms, keys), strict=True)) or [()] * 4
        columns = [pa.array(c, t) for c, (_, t) in zip([units, *drawn], _ADDED, strict=True)]
        names = [*batch.schema.names, *(name for name, _ in _ADDED)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names)


def _forms(batch: pa.RecordBatch, host: str | None) -> list[str]:
    """Normal forms of the rows' URLs; paths stand on the host given."""
    base = "" if host is None else (host if "://" in host else f"http://{host}").rstrip("/")
    name = fields(batch.schema.names, None)["url"]
    return [
        normal(f"{base}{u}" if u[:1] == "/" else u) for u in (v or "" for v in batch.column(name).to_pylist())
    ]


def _sampled(drawn: DataFrame, most: int) -> tuple[DataFrame, dict[str, int]]:
    """What `bounded` does, as two counts and a filter, of which only those of the large hosts reach the driver."""
    from pyspark.sql import functions as f

    over = {
        row[KEY]: row["count"] for row in drawn.groupBy(KEY).count().where(f.col("count") > most).collect()
    }
    if not over:
        return drawn, {}
    large = drawn.where(f.col(KEY).isin(list(over)))
    counts = large.groupBy(KEY, STRATUM).count().collect()
    draw = Draw.of({(row[KEY], row[STRATUM]): row["count"] for row in counts}, most)
    taken = large.mapInArrow(functools.partial(_taken, draw, set(over)), drawn.schema).groupBy(KEY).count()
    draw = draw.cut({row[KEY]: row["count"] for row in taken.collect()}, most)
    return drawn.mapInArrow(functools.partial(_taken, draw, set(over)), drawn.schema), over


def _taken(draw: Draw, over: set[str], batches: Batches) -> Batches:
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in (KEY, STRATUM, CONTENT, URL)), strict=True)
        yield batch.filter(
            pa.array([row[0] not in over or draw.takes(Lot(*row)) for row in rows], pa.bool_())
        )


def _learn(learner: Learner, risk: float, site_key: str, host: str | None, table: pa.Table) -> pa.Table:
    """The rules of each site of a unit: a row a site."""
    rows: list[tuple[str, str | None, str]] = []
    try:
        crawl = read(_restored(table), host=host, threads=1, sketcher=sketcher, sketch_kind=sketch_kind())
        for site in nameable(split_sites(crawl.pages, site_key)):  # type: ignore[arg-type]  # checked by `learn`
            learned = attempt(site, learner, risk)
            rows.append((learned.name, None, RuleBook({learned.name: learned}).dumps()))
    except UsageError as error:
        rows.append(("", str(error), ""))
    names = ("site", "refused", "book")
    return pa.table({n: pa.array([row[i] for row in rows], pa.string()) for i, n in enumerate(names)})


def _recount(book: RuleBook, pages: DataFrame, owner: dict[str, SiteRules], host: str | None) -> None:
    """The support of rules found on a sample, counted on all pages where they lie, and summed."""
    site_key = book.site_key
    sent = pages.sparkSession.sparkContext.broadcast(owner)

    counts: list[tuple[str, Any]] = [("site", pa.string()), ("place", pa.int32()), ("n", pa.int64())]

    def count(batches: Batches) -> Batches:
        for batch in batches:
            found = owned(_forms(batch, host), sent.value, site_key)
            by_name = {site.name: site for site in sent.value.values()}
            rows = [
                {"site": name, "place": place, "n": n}
                for name, urls in found.items()
                for place, n in enumerate([*supports(by_name[name], site_key, urls), len(urls)])
            ]
            yield pa.RecordBatch.from_pylist(rows, pa.schema(counts))

    counted = pages.mapInArrow(count, "site string, place int, n bigint")
    sums = {
        (row["site"], row["place"]): row["sum(n)"]
        for row in counted.groupBy("site", "place").sum("n").collect()
    }
    for site in {site.name: site for site in owner.values()}.values():
        support = [sums.get((site.name, place), 0) for place in range(len(site.rules) + 1)]
        book.add(recounted(site, support[:-1], support[-1]))


def _restored(table: pa.Table) -> pa.Table:
    """Without what was added on the way."""
    return table.select([name for name in table.column_names if not name.startswith("undust_")])


def _schema(frame: DataFrame, added: Sequence[tuple[str, Any]]) -> Any:
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

    types = {pa.string(): StringType(), pa.int32(): IntegerType(), pa.int64(): LongType()}
    return StructType([*frame.schema.fields, *(StructField(name, types[t]) for name, t in added)])


@functools.lru_cache(maxsize=4)
def _canonicalizer(text: str, level: str, aliases: AliasTable | None = None) -> Canonicalizer:
    """Once a worker, however many batches it gets."""
    return Canonicalizer(_book(text), level=level, aliases=aliases)


@functools.lru_cache(maxsize=4)
def _book(text: str) -> RuleBook:
    return RuleBook.loads(text)


def _only(text: str, hosts: set[str]) -> RuleBook:
    """The sites of a book that have something to say of these hosts."""
    book = _book(text)
    names = hosts | {registrable(host) for host in hosts} | {"*"}
    sites = {
        n: s for n, s in book.sites.items() if names & {n, *s.hosts} or any(r.scope.hosts for r in s.rules)
    }
    return RuleBook(sites, book.site_key)


def _hosts(pages: pa.Table) -> set[str]:
    return {host_of(normal(url)) for url in page_urls(pages)}


def _counts(measures: Measures) -> dict[str, int]:
    return dict(vars(measures))


_WHOLE = ("unknown", "seen", "forms", "sized", "same_size")
_MEASURED: list[tuple[str, Any]] = [
    ("site", pa.string()),
    ("part", pa.string()),
    *((name, pa.int64()) for name in (*_counts(Measures()), *_WHOLE)),
]
