"""Print the blocks of docs/results.md anew: each begins with its command, `$ undust bench ...`.

    python benchmarks/results.py                     those on the demo site
    python benchmarks/results.py --sites DIR         those on labelled sites too, which `sites/` stands for
    python benchmarks/results.py --sites DIR quality only commands that contain this word

The labelled sites of the published figures are no part of this project: NAME.pages.jsonl.gz with
NAME.truth.tsv beside it, as `undust bench --help` says.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "docs" / "results.md"
BLOCK = re.compile(r"```\n\$ undust (?P<arguments>bench[^\n]*)\n.*?```", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only commands that contain one of these")
    parser.add_argument("--sites", type=Path, help="the directory that `sites/` stands for")
    options = parser.parse_args()

    for block in list(BLOCK.finditer(RESULTS.read_text(encoding="utf-8"))):
        arguments = block["arguments"]
        unwanted = options.words and not any(word in arguments for word in options.words)
        if unwanted or ("sites/" in arguments and options.sites is None):
            continue
        given = [
            word.replace("sites", str(options.sites), 1) if word.startswith("sites/") else word
            for word in shlex.split(arguments)
        ]
        print("undust", arguments, file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "undust", *given, "-q"], check=True, stdout=subprocess.PIPE, text=True
        )
        printed = f"```\n$ undust {arguments}\n{done.stdout.strip()}\n```"
        # Each is written when it is there: some take long.
        RESULTS.write_text(RESULTS.read_text(encoding="utf-8").replace(block[0], printed), encoding="utf-8")


if __name__ == "__main__":
    main()
