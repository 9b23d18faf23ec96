#!/usr/bin/env python3
"""Comments, docstrings and Markdown end at column 120. clang-format, which holds the code to that, leaves comments as
they are. Rows of tables may be longer, and so may a line that nothing can break, such as an address."""

import ast
import re
import sys

import prose

WIDTH = 120
GENERATED = {"tests/c/berth.abi"}
# Folders whose comments are still longer; one where no line is longer does not belong here.
LATER = []
SLASHES = re.compile(r"\.(?:cc|h|cu|cpp|def|fbs|comp|glsl|h\.in)$")
HASHES = re.compile(r"\.(?:py|cmake|cmake\.in|sh)$|(?:^|/)CMakeLists\.txt$")


def documented(text):
    """The numbers of the lines of docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            yield from range(node.body[0].lineno, node.body[0].end_lineno + 1)


def commented(name, text):
    """The numbers of the lines in which people read, not the compiler."""
    if name.endswith(".md"):
        return {number for number, line in enumerate(text.splitlines(), 1) if not line.startswith("|")}
    if SLASHES.search(name):
        lines = set()
        for match in prose.C_TOKEN.finditer(text):
            if match["comment"] is not None or match["block"] is not None:
                first = text.count("\n", 0, match.start()) + 1
                lines.update(range(first, first + match.group(0).count("\n") + 1))
        return lines
    if HASHES.search(name) or text.startswith("#!"):
        lines = {number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*#(?!!)", line)}
        if name.endswith(".py") or re.match("#!.*python", text):
            lines.update(documented(text))
        return lines
    return set()


def main():
    findings, count, waiting = [], 0, set()
    for name in prose.tracked_files():
        if name in GENERATED or name.startswith("tests/fuzz/corpus/"):
            continue
        try:
            text = (prose.ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        later = next((folder for folder in LATER if name.startswith(folder)), None)
        lines = text.splitlines()
        for number in sorted(commented(name, text)):
            line = lines[number - 1]
            count += 1
            if len(line) <= WIDTH or " " not in line.strip(" /*#-"):
                continue
            if later:
                waiting.add(later)
            else:
                findings.append((name, number, f"{len(line)} columns, and {WIDTH} are for comments"))
    for folder in LATER:
        if folder not in waiting:
            findings.append(("tests/docs/columns.py", 0, f"{folder} has no comment that is too long"))
    return prose.report("docs.columns", findings, count, "lines of comments and documents")


if __name__ == "__main__":
    sys.exit(main())
