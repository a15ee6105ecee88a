"""Fuzz one target for some seconds: python tests/fuzz/run.py TARGET [--seconds 600] [--keep DIR]; `make fuzz` does all.

Guided by coverage with atheris where it can be installed (Linux, Python 3.11 to 3.13), else by plain mutation of the
corpus. New inputs that reach new code are kept in DIR (out/fuzz/TARGET); one that fails stays there as `crash-...`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST = 1 << 14
WORDS = [
    b"\0",
    b"\n",
    b"/",
    b"?",
    b"&",
    b"=",
    b"%",
    b"%2e",
    b"..",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"\xff",
    b"1e999",
]


def mutated(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """The input with a few of: a byte changed, a piece left out, repeated, moved in from elsewhere, a word put in."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at, end = sorted((rng.randint(0, len(out)), rng.randint(0, len(out))))
        kind = rng.randrange(6)
        if kind == 0 and out:
            out[min(at, len(out) - 1)] = rng.randrange(256)
        elif kind == 1:
            del out[at : min(end, at + 64)]
        elif kind == 2:
            out[at:at] = out[at:end][:256] * rng.choice([1, 2, 16])
        elif kind == 3 and others:
            other = rng.choice(others)
            start = rng.randint(0, len(other))
            out[at:at] = other[start : start + rng.randint(0, 128)]
        elif kind == 4:
            out[at:at] = rng.choice(WORDS) * rng.choice([1, 1, 2, 100])
        elif at < len(out):
            out[at] ^= 1 << rng.randrange(8)
    return bytes(out[:LONGEST])


def plainly(name: str, seconds: float, seed: int = 1, runs: int | None = None) -> int:
    """Mutate the corpus without guidance; how many inputs were tried."""
    targets = import_module("targets" if __package__ in (None, "") else f"{__package__}.targets")
    rng, corpus, done = random.Random(seed), targets.seeds(name), 0
    for data in corpus:
        targets.within(name, data)
    end = time.monotonic() + seconds
    while time.monotonic() < end and (runs is None or done < runs):
        data = mutated(rng, rng.choice(corpus), corpus)
        try:
            targets.within(name, data)
        except Exception as error:
            error.add_note(f"target {name}, input {data!r}")
            raise
        done += 1
    return done


def guided(name: str, seconds: float, keep: Path) -> None:
    """Hand the target to libFuzzer; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["undust"]):
        targets = import_module("targets")
        if name == "learn":
            targets.within(name, targets.seeds(name)[0])  # imports what it needs
    keep.mkdir(parents=True, exist_ok=True)
    given = [
        f"-max_total_time={int(seconds)}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=4096",
        f"-artifact_prefix={keep}/", "-print_final_stats=1", "-reload=0", "-use_value_profile=0",
    ]  # fmt: skip
    corpus = [str(keep), str(HERE / "corpus" / name)]
    atheris.Setup([sys.argv[0], *given, *corpus], lambda data: targets.within(name, data))
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", help="none: the names of all")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--plain", action="store_true", help="without atheris")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.target is None:
        print("\n".join(import_module("targets").TARGETS))
        return
    try:
        if options.plain:
            raise ImportError
        guided(options.target, options.seconds, options.keep / options.target)
    except ImportError:
        print(
            f"{options.target}: {plainly(options.target, options.seconds):,} inputs without guidance by coverage"
        )


if __name__ == "__main__":
    main()
