"""docs/behaviours.md, and the mutants beside this file: one small change of a source that breaks a row.

A file *.mutants has any number of

    rows 1 31
    test runtime/device_allocator_test.cc: DeviceAllocator.LookUpGivesTheRegisteredObject
    in runtime/device_allocator.cc
    < if (entries_[i].type == type) return
    > return

with an empty line between two mutants. The lines after `<` stand once in the file, however they are wrapped and
indented; the lines after `>` take their place, and the test then fails. It is one of those that the row names. With a
line `build tsan` it fails in that configuration of CMakePresets.json alone. `target test_device_sim` says which program
the test is in, where it is in a library of several. A line that starts with # is a comment.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
BEHAVIOURS = ROOT / "docs" / "behaviours.md"
LISTED = "Rows with a mutant: "


class Fault(Exception):
    """Something is wrong with the mutants or the page, and not with what they test."""


@dataclass
class Mutant:
    where: str
    rows: list = field(default_factory=list)
    test: str = ""
    source: str = ""
    build: str = ""
    target: str = ""
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)

    @property
    def test_file(self):
        return self.test.split(": ")[0]

    @property
    def test_case(self):
        return self.test.split(": ")[1]

    def name(self):
        return "row" + ("s " if len(self.rows) > 1 else " ") + ", ".join(map(str, self.rows))

    def applied(self, text):
        """The source's text with the change."""
        words = " ".join(self.old).split()
        found = list(re.finditer(r"\s+".join(map(re.escape, words)), text))
        if not words or len(found) != 1:
            raise Fault(f"{self.where}: the lines after `<` stand {len(found)} times in {self.source}, not once")
        return text[:found[0].start()] + "\n".join(self.new) + text[found[0].end():]


def read_mutants():
    mutants = []
    for path in sorted(HERE.glob("*.mutants")):
        current = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("#"):
                continue
            if not line.strip():
                current = None
                continue
            if current is None:
                current = Mutant(f"{path.relative_to(ROOT)}:{number}")
                mutants.append(current)
            key, _, value = line.partition(" ")
            if key == "rows":
                current.rows = [int(row) for row in value.split()]
            elif key == "test":
                current.test = value
            elif key == "build":
                current.build = value
            elif key == "target":
                current.target = value
            elif key == "in":
                current.source = value
            elif key == "<":
                current.old.append(value)
            elif key == ">":
                current.new.append(value)
            else:
                raise Fault(f"{path.relative_to(ROOT)}:{number}: expected rows, test, build, target, in, < or >")
    return mutants


def tests_of_rows():
    """For each row of the page, the set of "FILE: SUITE.CASE" that it names."""
    rows = {}
    for line in BEHAVIOURS.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5 or not cells[1].isdigit():
            continue
        tests = set()
        for entry in filter(None, (part.strip() for part in cells[3].split(";"))):
            file, _, cases = entry.partition(": ")
            tests |= {f"{file}: {case.strip()}" for case in cases.split(",")}
        rows[int(cells[1])] = tests
    return rows


def ranges(numbers):
    """1, 2, 3, 7: "1-3, 7"."""
    parts = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def listed_rows():
    """The sentence of the page that lists the rows with a mutant."""
    text = " ".join(BEHAVIOURS.read_text().split())
    found = re.search(re.escape(LISTED) + r"([-0-9, ]+)\.", text)
    return found.group(1) if found else ""


def check(mutants):
    """Each mutant can be applied, its test is one that its rows name, and the page lists the rows."""
    named = tests_of_rows()
    for mutant in mutants:
        if not (mutant.rows and mutant.test and mutant.source):
            raise Fault(f"{mutant.where}: rows, test and in are needed")
        if mutant.applied((ROOT / mutant.source).read_text()) == (ROOT / mutant.source).read_text():
            raise Fault(f"{mutant.where}: it changes nothing")
        for row in mutant.rows:
            if mutant.test not in named.get(row, ()):
                raise Fault(f"{mutant.where}: row {row} of docs/behaviours.md does not name {mutant.test}")
    rows = ranges(row for mutant in mutants for row in mutant.rows)
    if rows != listed_rows():
        raise Fault(f'docs/behaviours.md lists other rows; expected "{LISTED}{rows}."')
