"""Sketches of texts: 10-word shingles, 4 min-hashes (Broder 1997; Bar-Yossef, Keidar, Schonfeld 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

SHINGLE = 10
"""Words in a shingle."""

PERMUTATIONS = 4
"""Min-hashes in a sketch."""

Hashes = NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_WORDS_AT_ONCE = 1 << 20


def sketch_kind(permutations: int = PERMUTATIONS, shingle: int = SHINGLE) -> str:
    """Name of the algorithm, stored beside each sketch: sketches of different kinds are never compared.

    >>> sketch_kind()
    'words10-min4-1'
    """
    return f"words{shingle}-min{permutations}-1"


def mixed(x: Hashes) -> Hashes:
    """Finalizer of splitmix64: a bijection of 64-bit numbers, each bit out depending on all bits in."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def shingle_hashes(texts: Sequence[str], shingle: int = SHINGLE) -> tuple[Hashes, NDArray[np.int64]]:
    """Hashes of the word shingles of all texts in a row, and the offsets of each text in them.

    A text shorter than a shingle is one shingle, an empty text none.

    >>> hashes, offsets = shingle_hashes(["a b c d", "a b", ""], shingle=3)
    >>> offsets.tolist()
    [0, 2, 3, 3]
    """
    split: Any = pc.utf8_split_whitespace(_arrow(texts))
    # Blanks at either end of a text split off an empty word, which is no word.
    flat: Any = split.flatten()
    is_word = np.asarray(pc.binary_length(flat).to_numpy(zero_copy_only=False)) > 0
    text_of = np.repeat(np.arange(len(texts)), np.diff(split.offsets.to_numpy()))[is_word]
    counts = np.bincount(text_of, minlength=len(texts))
    words = flat.dictionary_encode()
    digests = (xxhash.xxh3_64_intdigest(word.encode()) for word in words.dictionary.to_pylist())
    vocabulary = np.fromiter(digests, np.uint64, len(words.dictionary))
    codes = words.indices.to_numpy()[is_word]
    # Short texts are padded with zeros to one whole shingle, so that every window lies inside its text.
    padded = np.where(counts > 0, np.maximum(counts, shingle), 0)
    offsets = np.concatenate(([0], np.cumsum(padded)))
    stream = np.zeros(int(offsets[-1]), dtype=np.uint64)
    shift = offsets[:-1] - (np.cumsum(counts) - counts)
    stream[shift[text_of] + np.arange(len(codes))] = vocabulary[codes]
    if not len(stream):
        return stream, np.zeros(len(texts) + 1, dtype=np.int64)
    width = len(stream) - shingle + 1
    rolling = np.zeros(width, dtype=np.uint64)
    for k in range(shingle):
        rolling *= _BASE
        rolling += stream[k : k + width]
    windows = np.where(counts > 0, padded - shingle + 1, 0)
    ends = np.concatenate(([0], np.cumsum(windows)))
    inside = np.repeat(offsets[:-1] - ends[:-1], windows) + np.arange(int(ends[-1]))
    return mixed(rolling[inside]), ends


def sketch_hashes(hashes: Hashes, offsets: NDArray[np.int64], permutations: int = PERMUTATIONS) -> Hashes:
    """For each run of shingle hashes the least value under each permutation; all ones for an empty run."""
    out = np.full((len(offsets) - 1, permutations), np.iinfo(np.uint64).max, dtype=np.uint64)
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        for p in range(permutations):
            seed = mixed(np.full(1, p + 1, dtype=np.uint64) * _BASE)
            out[full, p] = np.minimum.reduceat(mixed(hashes ^ seed), offsets[full])
    return out


def sketch_texts(texts: Sequence[str], permutations: int = PERMUTATIONS, shingle: int = SHINGLE) -> Hashes:
    """Sketches of texts, one row each; all ones for a text without words (it is similar to nothing).

    >>> a, b = sketch_texts(["the quick brown fox", "the  quick brown\\nfox"])
    >>> bool((a == b).all())
    True
    """
    rows = []
    for batch in _batches(texts):
        rows.append(sketch_hashes(*shingle_hashes(batch, shingle), permutations))
    return np.concatenate(rows) if rows else np.empty((0, permutations), dtype=np.uint64)


def _arrow(texts: Sequence[str]) -> Any:
    """Texts as Arrow strings; lone surrogates, which UTF-8 cannot hold, become question marks."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([t.encode("utf-8", "replace").decode() for t in texts], pa.large_string())


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Texts in runs of about a million words: the work arrays stay in cache and memory stays flat."""
    batches: list[list[str]] = []
    room = 0
    for text in texts:
        if room <= 0:
            batches.append([])
            room = _WORDS_AT_ONCE * 6
        batches[-1].append(text)
        room -= len(text) + 1
    return batches


def sketcher(texts: list[str]) -> list[list[int]]:
    """What readers call for pages that come with text: a list of ints each, empty for a text without words.

    >>> [len(s) for s in sketcher(["some words", " "])]
    [4, 0]
    """
    sketches = sketch_texts(texts)
    known = sketches[:, 0] != np.iinfo(np.uint64).max
    return [row if ok else [] for row, ok in zip(sketches.tolist(), known.tolist(), strict=True)]


def resemblance(a: Hashes, b: Hashes) -> NDArray[np.float64]:
    """Estimated share of common shingles: the share of equal min-hashes, row by row."""
    equal: NDArray[np.float64] = (a == b).mean(axis=1)
    return equal
