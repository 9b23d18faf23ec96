#!/usr/bin/env python3
"""Sources stay readable in two ways that once were lost line by line: few casts to size_t, none of them on an index
(docs/decisions/0007-indices-without-casts.md), and arguments of operators by name, not by position."""

import re
import subprocess
import sys

import prose

NOT_SOURCES = re.compile(r"^(tests|bench|examples)/|/device_test/|_test\.cc$|_testing\.h$")
LIMITS = [
    ("casts to size_t", re.compile(r"static_cast<size_t>"), 150),
    ("casts to size_t of an index", re.compile(r"\[static_cast<size_t>"), 5),
    ("literal positions of arguments", re.compile(r"\bargs\[\d+\]"), 60),
]


def sources():
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h", "*.cu"], cwd=prose.ROOT, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    return [file for file in files if not NOT_SOURCES.search(file)]


def main():
    files = sources()
    lines = [line for file in files for line in (prose.ROOT / file).read_text().splitlines()]
    findings = []
    for what, pattern, limit in LIMITS:
        count = sum(1 for line in lines if pattern.search(line))
        print(f"{count} lines with {what}, fewer than {limit}")
        if count >= limit:
            findings.append(("tests/docs/casts.py", 0, f"{count} lines have {what}; fewer than {limit} may"))
    return prose.report("docs.casts", findings, len(files), "sources")


if __name__ == "__main__":
    sys.exit(main())
