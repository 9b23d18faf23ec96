#!/usr/bin/env python3
"""docs/behaviours.md has a row for each of 259 behaviours, and names tests, FILE: SUITE.CASE: each of them exists, in
that file. A row without a test says why."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "row_mutants"))
from rows import BEHAVIOURS, tests_of_rows  # noqa: E402

ROWS = 259


def main():
    rows = tests_of_rows()
    faults = [f"there is no row {row}" for row in range(1, ROWS + 1) if row not in rows]
    page = BEHAVIOURS.read_text()
    for row, tests in rows.items():
        if not tests and f"| {row} | Cannot arise: " not in page:
            faults.append(f"row {row} names no test and does not say why it cannot arise")
    named = sorted(test for tests in rows.values() for test in tests)
    sources = {}
    for test in sorted(set(named)):
        file, _, case = test.partition(": ")
        if file not in sources:
            sources[file] = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
        suite, _, name = case.partition(".")
        if not re.search(rf"\bTEST(_F|_P)?\({re.escape(suite)},\s*{re.escape(name)}\)", sources[file]):
            faults.append(f"{file} has no test {case}")
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"{len(named)} tests named, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
