#!/usr/bin/env python3
"""The rooms of `docs/house.md`: each folder with sources is in its table, and includes only what the table says that it
sees, directly or through what it sees. What a room links (`berth_room(… DEPENDS …)`) is in the table, too.

In the rooms that this file lists, includes run in one direction: if x needs y, nothing that y needs needs x. A unit is
x.h with x.cc.
"""

import collections
import pathlib
import posixpath
import re
import sys

import prose

TABLE = "docs/house.md"
ONE_WAY = ("compiler/emit", "compiler/memory", "compiler/passes", "compiler/placement", "format/plan_check", "plugin")
NEVER = "Nothing but these includes the tool: ", ("tools", "c", "python", "tests", "bench")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROOM = re.compile(r"berth_room\((\w+)([^)]*)\)")
SOURCES = (".cc", ".h", ".cu", ".cuh")


def folder_of(path, folders):
    """The room that a file is in: its folder, or the nearest above it that is in the table."""
    folder = posixpath.dirname(path)
    while folder and folder not in folders:
        folder = posixpath.dirname(folder)
    return folder


def read_table(text, findings):
    """Of each folder, those that it sees, by the last column; with the line number of its row."""
    rows = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\| `([\w/]+)/` \| .* \| ([^|]*) \|$", line)
        if match:
            rows[match.group(1)] = (number, match.group(2).strip())
    sees = {}
    for folder, (number, words) in rows.items():
        found = set()
        for word in re.sub(r"\([^)]*\)", "", words.split(";")[0]).split(","):
            word = word.strip().replace("'s kernel interface", "").replace("'s table", "")
            if word in ("", "nothing", "what is installed"):
                continue
            if word == "everything":
                found |= set(rows)
            elif word == "all of the above":
                found |= set(list(rows)[:list(rows).index(folder)])
            else:
                named = [room for room in rows if room == word or room.endswith("/" + word)]
                if not named:
                    findings.append((TABLE, number, f"{word!r} is not a room of the table"))
                found |= set(named)
        sees[folder] = found
    return rows, sees


def closed(sees):
    """What each room sees through what it sees."""
    reach = {}
    for room in sees:
        seen, todo = set(), [room]
        while todo:
            for next_room in sees[todo.pop()] - seen:
                seen.add(next_room)
                todo.append(next_room)
        reach[room] = seen | {room}
    return reach


def includes_of(files):
    known, out = set(files), {}
    for file in files:
        text = (prose.ROOT / file).read_text(errors="replace")
        out[file] = []
        for match in INCLUDE.finditer(text):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), match.group(1)))
            target = match.group(1) if match.group(1) in known else beside
            if target in known:
                out[file].append((text.count("\n", 0, match.start()) + 1, target))
    return out


def is_test(file):
    return bool(re.search(r"_test(ing)?\.|_test/", file)) or file.startswith(("tests/", "examples/", "bench/"))


def circles(arrows):
    """Groups of units that need each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in sorted(arrows.get(unit, ())):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            at = stack.index(unit)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for unit in sorted(arrows):
        if unit not in index:
            visit(unit)
    return found


def check_includes(includes, sees, reach, findings):
    count = 0
    for file, targets in includes.items():
        room = folder_of(file, sees)
        if not room:
            findings.append((file, 1, f"its folder has no row in {TABLE}"))
            continue
        if is_test(file):
            continue
        for line, target in targets:
            other = folder_of(target, sees)
            count += 1
            if other == "tools" and room not in NEVER[1]:
                findings.append((file, line, f"{NEVER[0]}{', '.join(NEVER[1])}"))
            elif other and other not in reach[room]:
                findings.append((file, line, f"{room}/ does not see {other}/ by {TABLE}"))
    return count


def check_links(files, sees, reach, findings):
    rooms = {}
    for file in files:
        for match in ROOM.finditer((prose.ROOT / file).read_text()):
            rooms[match.group(1)] = (file, match.group(2))
    for file, words in rooms.values():
        folder = posixpath.dirname(file)
        listed = re.search(r"DEPENDS ([\w\s]+?)(?:\s+(?:SYSTEM|EXCLUDE|FOLDERS|TESTS_\w+)|$)", words)
        for name in listed.group(1).split() if listed else []:
            other = folder_of(posixpath.dirname(rooms[name][0]) + "/x", sees) if name in rooms else ""
            if other and other not in reach[folder_of(folder + "/x", sees)]:
                findings.append((file, 1, f"links {name}, which {folder}/ does not see by {TABLE}"))


def check_circles(includes, findings):
    arrows = collections.defaultdict(set)
    unit_of = lambda file: re.sub(r"(-inl)?\.\w+$", "", file)
    for file, targets in includes.items():
        if is_test(file) or not file.startswith(ONE_WAY):
            continue
        for _, target in targets:
            if target.startswith(ONE_WAY) and unit_of(target) != unit_of(file):
                arrows[unit_of(file)].add(unit_of(target))
    for circle in circles(arrows):
        findings.append((circle[0] + ".h", 1, "includes run in a circle: " + ", ".join(circle)))


def main():
    findings = []
    files = prose.tracked_files()
    rows, sees = read_table((prose.ROOT / TABLE).read_text(), findings)
    for room, (number, _) in rows.items():
        if not (prose.ROOT / room).is_dir():
            findings.append((TABLE, number, f"{room}/ does not exist"))
    reach = closed(sees)
    includes = includes_of([file for file in files if pathlib.PurePosixPath(file).suffix in SOURCES])
    count = check_includes(includes, sees, reach, findings)
    check_links([file for file in files if file.endswith("CMakeLists.txt")], sees, reach, findings)
    check_circles(includes, findings)
    return prose.report("docs.rooms", findings, count, "includes")


if __name__ == "__main__":
    sys.exit(main())
