"""Text that is always the same for the same key: the demo site writes its pages with it."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from random import Random

_WORDS = """
amber anchor apple arrow autumn badger baker barley basket beacon bell birch blanket boat bottle branch
bread bridge bright brook broom bucket butter button cabin candle canvas carpet cart castle cedar chain
chalk cheese cherry chest circle cliff cloak clock cloud clover coast cold copper coral corner cotton cradle
crane creek crow curtain daisy dawn deep desk distant door dove drum dry dune dust early east echo elder
ember empty engine evening fabric falcon farm feather fence ferry field finch fire flag flame flat flint
flour fog forest fox frost garden gate gentle glass glove goat gold grain grass gravel green grey hammer
harbour harvest hat hawk hay hazel heather hedge heron hill honey hook horn house ice iron island ivory ivy
jacket jar kettle key kite ladder lake lamp lantern larch late leaf lemon letter light lily linen lion long
loom low maple market marsh meadow melon mill mint mirror mist moon moss moth mountain mouse narrow needle
nest night north oak oat ocean old olive orange orchard otter owl paint paper path pearl pebble pepper
pigeon pine plain plate plough plum pocket pond poplar pot quarry quiet quill rain raven red reed ribbon
ridge ring river road robin rock roof root rope rose round rust rye sail salt sand school sea seed shadow
sharp sheep shell shore short silver slate slow small smoke snow soft song south spade spark spoon spring
square stable star station steel stone storm straw stream summer swan swift table tall thistle thread timber
tower trail tree tulip valley velvet village violet wagon wall warm water wave well west wheat wheel white
wide willow wind window winter wolf wood wool yard yellow young
"""
WORDS = _WORDS.split()


@lru_cache(maxsize=8192)
def title(key: str) -> str:
    """Three words for a heading.

    >>> title("a story") == title("a story")
    True
    """
    return " ".join(Random(f"title {key}").sample(WORDS, 3)).capitalize()


def paragraph(key: str, words: int) -> str:
    """So many words in sentences.

    >>> len(paragraph("a story", 40).split())
    40
    """
    rng = Random(f"text {key}")
    chosen = rng.choices(WORDS, k=words)
    sentences = []
    while chosen:
        length = rng.randint(6, 14)
        sentences.append(" ".join(chosen[:length]).capitalize() + ".")
        chosen = chosen[length:]
    return " ".join(sentences)


def number(key: str, low: int, high: int) -> int:
    """A number between low and high, always the same for the same key.

    >>> 1 <= number("posts of topic 7", 1, 9) <= 9
    True
    """
    digest = blake2b(key.encode(), digest_size=8).digest()
    return low + int.from_bytes(digest, "big") % (high - low + 1)


def article(key: str) -> list[str]:
    """Three to six paragraphs: the body of an ordinary page. Lengths differ, so sizes tell pages apart.

    >>> 3 <= len(article("a story")) <= 6
    True
    """
    return [
        paragraph(f"{key} {i}", number(f"{key} {i}", 30, 80)) for i in range(number(f"{key} length", 3, 6))
    ]
