#!/usr/bin/env python3
"""Berth's own targets are made of what a stranger has: the files of compiler/targets/own/ include each other, headers
that an install gives, and what those include; nothing befriends them; and they come in by Plugin::adopt alone.

Checked too: what installed headers include is installed."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = "compiler/targets/own/"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
GENERATED = {"base/version.h"}


def installed():
    lines = (ROOT / "cmake" / "public_headers.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")} | GENERATED


def included(file):
    """The headers of the repository that `file` names, from the root."""
    text = (ROOT / file).read_text()
    beside = [str(Path(file).parent / name) for name in INCLUDE.findall(text)]
    return [near if (ROOT / near).is_file() else name for near, name in zip(beside, INCLUDE.findall(text))]


def faults():
    public = installed()
    own = sorted(str(path.relative_to(ROOT)) for path in (ROOT / OWN).iterdir())
    if len(own) < 7:
        yield f"{OWN} has only {len(own)} files"
    for file in own:
        for header in included(file):
            if header not in public and header not in own:
                yield f"{file} includes {header}, which is not installed"
    for header in sorted(public - GENERATED):
        for inner in included(header):
            if inner not in public:
                yield f"{header} is installed and includes {inner}, which is not"
    names = [name for file in own for name in re.findall(r"class (\w+)", (ROOT / file).read_text())]
    befriended = re.compile(rf"\bfriend\b[^;]*\b({'|'.join(names + ['own_targets'])})\b")
    rooms = [room for room in ROOT.glob("[a-z]*") if room.is_dir() and not room.name.startswith("build")]
    for path in sorted(path for room in rooms for path in room.rglob("*.*") if path.suffix in (".h", ".cc")):
        file = str(path.relative_to(ROOT))
        text = path.read_text()
        for found in befriended.finditer(text):
            yield f"{file} befriends {found.group(1)}"
        if file in own:
            if re.search(r"\bfriend\b", text):
                yield f"{file} has a friend"
            continue
        for line in text.splitlines():
            if re.search(r"\bown_targets\b(?!\.)", line) and not re.search(r"Plugin::adopt\(own::own_targets, ", line):
                yield f"{file} uses own_targets other than by Plugin::adopt: {line.strip()}"
        for header in INCLUDE.findall(text):
            if header in own and not header.endswith("/own_targets.h") and not file.endswith("_test.cc"):
                yield f"{file} includes {header}, and not as a stranger's"


def main():
    found = list(faults())
    for fault in found:
        print(f"FAIL: {fault}")
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
