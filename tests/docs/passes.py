#!/usr/bin/env python3
"""The list at the head of compiler/fuse/fuse.h has the passes of compiler/fuse/fuse.cc, in the order in which they
run."""

import re
import sys

import prose

HEADER, SOURCE = "compiler/fuse/fuse.h", "compiler/fuse/fuse.cc"
# Passes of compiler/passes/ that run again between those of the room.
AGAIN = {"dce", "fold_constants", "fold_batch_norm", "simplify"}


def main():
    header, source = ((prose.ROOT / file).read_text() for file in (HEADER, SOURCE))
    body = source[source.index("fuse_passes(Targets targets) {"):]
    run = [name for name in re.findall(r'^ +(?:pass\(|\{)"(\w+)"', body, re.M) if name not in AGAIN]
    listed = re.findall(r"^//     (\w+) {2,}\S", header[:header.index("fuse_lstm_loops")], re.M)
    findings = []
    for place in range(max(len(run), len(listed))):
        here, there = (names[place] if place < len(names) else "nothing" for names in (listed, run))
        if here != there:
            findings.append((HEADER, 1, f"lists {here} where {SOURCE} has {there}"))
            break
    return prose.report("docs.passes", findings, len(run), "passes")


if __name__ == "__main__":
    sys.exit(main())
