#!/usr/bin/env python3
"""The test files of a room in BERTH_JOINED_TESTS are compiled several at a time as one source (cmake/BerthRoom.cmake):
a name at namespace scope, in an anonymous namespace too, stands once in all of them, and is not one that a *_testing.h
gives them. A function may have the name of another file's when it takes something else, and an alias when it is one for
the same. The compiler sees two of a name only when both are in one batch, which another file more may change; this test
sees them at once.
"""

import collections
import pathlib
import re
import sys

import prose

MACRO = re.compile(r"(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)(?! *;)")
JOINED = re.compile(r"set\(BERTH_JOINED_TESTS ([\w\s]+)\)")
ROOM = re.compile(r"berth_(room|tests)\((\w+)([^)]*)\)")
FOLDERS = re.compile(r"\bFOLDERS((?: +[a-z]\w*)+)")
PATTERN = re.compile(r"file\(GLOB tests CONFIGURE_DEPENDS ([\w/]*)\*_test\.cc\)")
ALIAS = re.compile(r"(?:using|namespace) (\w+) (= [^;]*)")
FUNCTION = re.compile(r"[\w:<>,&*\[\]. ]+?[ &*](\w+)\(")
VARIABLE = re.compile(r"[\w:<>,&*\[\]. ]+?[ &*](\w+)(?:\[[^\]]*\])*(?: =| ?\{|;)")
NOT_NAMES = ("return", "using", "namespace", "static_assert", "template", "typedef", "friend", "extern", "delete", "new")


def without_texts(source):
    """The source without comments and the contents of strings, line by line as before."""
    blank = lambda match: "\n" * match.group(0).count("\n")
    source = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: '""' + blank(m), source, flags=re.S)
    source = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', source)
    source = re.sub(r"'(?:\\.|[^'\\\n])'", "' '", source)
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, source, flags=re.S)


def parameters(text, start):
    """The types between the parenthesis at `start` and its other one."""
    depth, parts, part = 0, [], ""
    for at in range(start, len(text)):
        c = text[at]
        depth += (c in "([{<") - (c in ")]}>")
        if depth == 0:
            break
        if c == "," and depth == 1:
            parts.append(part)
            part = ""
        elif at > start:
            part += c
    types = []
    for part in [*parts, part]:
        words = re.sub(r"=.*", "", part, flags=re.S).split()
        if len(words) > 1 and re.fullmatch(r"[&*]*\w+", words[-1]):
            words[-1] = re.sub(r"\w+$", "", words[-1])
        types.append(" ".join(words).replace(" &", "&").replace(" *", "*").removeprefix("const ").rstrip())
    return "(" + ", ".join(types) + ")"


def names_of(source):
    """(name, what tells it from others of the name) of what a file has at namespace scope."""
    text = without_texts(source)
    found, template = [], False
    for match in re.finditer(r"^[A-Za-z][^\n]*", text, re.M):
        line = match.group(0)
        macro, of_type, alias = MACRO.match(line), TYPE.match(line), ALIAS.match(line)
        function, variable = FUNCTION.match(line), VARIABLE.match(line)
        if macro:
            found.append((".".join(macro.groups()), ""))
        elif of_type:
            found.append((of_type.group(1), ""))
        elif alias:
            found.append(alias.groups())
        elif line.split()[0].split("(")[0] in NOT_NAMES:
            pass
        elif function and not (variable and variable.end() <= function.end()) and "=" not in line[:function.end()]:
            found.append((function.group(1), parameters(text, match.start() + function.end() - 1)))
        elif variable:
            found.append((variable.group(1), ""))
    return found


def included(path, files):
    return {name for name in re.findall(r'#include "([^"]+_testing\.h)"', files[path]) if name in files}


def joined_rooms():
    """The folders of each room whose tests are compiled together: a room's own and its FOLDERS, or those of the pattern
    in front of berth_tests().
    """
    names = JOINED.search((prose.ROOT / "cmake" / "BerthRoom.cmake").read_text()).group(1).split()
    rooms = collections.defaultdict(set)
    for file in prose.tracked_files():
        if not file.endswith("CMakeLists.txt"):
            continue
        text = (prose.ROOT / file).read_text()
        for call in ROOM.finditer(text):
            if call.group(2) not in names:
                continue
            if call.group(1) == "room":
                inside = FOLDERS.search(call.group(3))
                folders = [".", *(inside.group(1).split() if inside else [])]
            else:
                folders = [pattern or "." for pattern in PATTERN.findall(text)]
            rooms[call.group(2)] |= {(pathlib.PurePath(file).parent / folder).as_posix() for folder in folders}
    missing = sorted(set(names) - {name for name, folders in rooms.items() if folders})
    if missing:
        sys.exit(f"FAIL: rooms of BERTH_JOINED_TESTS without a folder: {' '.join(missing)}")
    return rooms


def main():
    paths = [path.relative_to(prose.ROOT).as_posix() for path in sorted(prose.ROOT.glob("**/*_test*.*"))
             if path.suffix in (".cc", ".h")]
    files = {path: (prose.ROOT / path).read_text() for path in paths
             if not path.startswith(("build/", "examples/"))}
    rooms = {room: [path for path in files if path.endswith("_test.cc") and
                    pathlib.PurePath(path).parent.as_posix() in folders]
             for room, folders in joined_rooms().items()}
    faults = 0
    for room, tests in sorted(rooms.items()):
        where = {}
        headers = set().union(*(included(path, files) for path in tests))
        given = {name[0]: (name, header) for header in sorted(headers) for name in names_of(files[header])}
        for path in tests:
            for name in names_of(files[path]):
                same, header = given.get(name[0], (name, path))
                first = where.setdefault((name[0], "") if name[1].startswith("=") else name, (name, path))
                for other, file in ((same, header), first):
                    # An alias of the same is not a second name.
                    if file != path and not (other == name and name[1].startswith("=")):
                        print(f"FAIL: {path}: {''.join(name)} is in {file} too")
                        faults += 1
                        break
    print(f"{sum(map(len, rooms.values()))} files in {len(rooms)} rooms, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
