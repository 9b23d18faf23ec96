#!/usr/bin/env python3
"""Each file and folder that a document or a comment names exists.

A path is looked up from the root, from the folder of the file that names it, and as the end of a path, so that
`ir/module.h` and `module.h` are found; `*` and `{a,b}` are expanded. Other projects' files and placeholders such as
`x.cc` are listed in `paths_elsewhere.txt`.
"""

import fnmatch
import itertools
import pathlib
import posixpath
import re
import sys

import prose

SUFFIXES = "cc|h|cu|def|fbs|md|py|cmake|ir|ld|txt"
BEGIN = r"(?<![\w/.$%:<*~-])"
BRACES = r"\{[\w,.*-]+\}"
FILE = re.compile(BEGIN + rf"((?:[\w.*-]+/|{BRACES}/)*(?:[\w.*-]|{BRACES})*\.(?:(?:{SUFFIXES})\b|\{{[\w,]+\}}))(?![\w(/])")
FOLDER = re.compile(BEGIN + r"((?:[\w-]+/)+)(?![\w.*{<$-])")
LINK = re.compile(r"\]\(([^)#:\s]+)\)")


class Repository:
    def __init__(self):
        self.files = set(prose.tracked_files())
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePosixPath(file).parents}
        self.rooms = {folder for folder in self.folders if "/" not in folder}
        self.ends = set()
        for file in self.files | self.folders:
            parts = file.split("/")
            self.ends.update("/".join(parts[i:]) for i in range(len(parts)))

    def has(self, path, folder):
        path = path.rstrip("/")
        if ".." in path:
            path = posixpath.normpath(posixpath.join(folder, path))
        if "*" in path:
            return any(fnmatch.fnmatch(end, path) for end in self.ends)
        return path in self.ends or str(pathlib.PurePosixPath(folder) / path) in self.files | self.folders


def expand(path):
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [[part] if i % 2 == 0 else part.split(",") for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def named_paths(repository, passage):
    for match in FILE.finditer(passage.text):
        if not match.group(1).startswith(".") or match.group(1).startswith(".."):
            yield match.group(1), match.start()
    for match in FOLDER.finditer(passage.text):
        if match.group(1).split("/")[0] in repository.rooms:
            yield match.group(1), match.start()


def main():
    repository = Repository()
    elsewhere = [line for line in (pathlib.Path(__file__).parent / "paths_elsewhere.txt").read_text().splitlines()
                 if line and not line.startswith("#")]
    findings, count, used = [], 0, set()
    for passage in prose.passages():
        if passage.is_message:
            continue
        folder = str(pathlib.PurePosixPath(passage.file).parent)
        for path, offset in named_paths(repository, passage):
            count += 1
            excused = next((pattern for pattern in elsewhere if fnmatch.fnmatch(path, pattern)), None)
            if excused:
                used.add(excused)
            elif not all(repository.has(choice, folder) for choice in expand(path)):
                findings.append((passage.file, passage.line(offset), f"{path} does not exist"))
        if passage.file.endswith(".md"):
            for match in LINK.finditer(passage.text):
                count += 1
                if not (prose.ROOT / folder / match.group(1)).exists():
                    findings.append((passage.file, passage.line(match.start()), f"the link {match.group(1)} is dead"))
    for pattern in elsewhere:
        if pattern not in used:
            findings.append(("tests/docs/paths_elsewhere.txt", 0, f"{pattern} is named by no comment"))
    return prose.report("docs.paths", findings, count, "paths named")


if __name__ == "__main__":
    sys.exit(main())
