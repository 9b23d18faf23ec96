#!/usr/bin/env python3
"""Numbers in documents and comments that repeat a constant of the sources equal it.

Two ways to say which constant a number repeats:

  * in the text itself, where that reads well: `32 (kMaxRegionDepth)`, `64 bytes (kOverread)` or `kMaxRegionDepth (32)`;
  * in `numbers.txt`, two lines for each sentence: the file and a pattern whose groups are the numbers, then the
    constants.

A constant is an integer, a float or a std::chrono duration, `kName = expression;`, looked up in the named file or, for
the first way, wherever exactly one value of that name is defined.
"""

import pathlib
import re
import sys

import prose

TABLE = "tests/docs/numbers.txt"
NUMBER = r"\d[\d' ]*\d(?:\.\d+)?|\d+(?:\.\d+)?(?:e\d+)?"
NOTED = re.compile(rf"(?<![\w.])(?:({NUMBER})(?: [a-zA-Z]+)? \((k[A-Z]\w+)\)|(k[A-Z]\w+) \(({NUMBER})\))")
DEFINITION = r"\b%s(?:\[\])?\s*=\s*([^;,]+)[;,]"


def value(text):
    return float(text.replace(" ", "").replace("'", ""))


def evaluate(expression, source):
    """The value of a constant expression of C++, with the names in it looked up in `source`."""
    expression = re.sub(r"//[^\n]*", "", expression).strip()
    expression = re.sub(r"(?<=\d)'(?=\d)", "", expression)
    expression = re.sub(r"(?<=\d)(?:u|U|l|L|f)+\b", "", expression)
    expression = re.sub(r"\b(?:std::chrono::\w+|u?int\d*_t|size_t|uint64_t|static_cast<\w+>)\s*[({]([^(){}]*)[)}]",
                        r"(\1)", expression)
    names = {name: constant(name, source) for name in re.findall(r"\b[A-Za-z_]\w*", expression)}
    if not re.fullmatch(r"[\w\s.+*/()<>-]+", expression):
        raise ValueError(f"cannot evaluate {expression!r}")
    return float(eval(expression, {"__builtins__": {}}, names))


def constant(name, source):
    match = re.search(DEFINITION % name, source)
    if match is None:
        raise ValueError(f"{name} is not defined there")
    return evaluate(match.group(1), source)


def sources():
    return {name: (prose.ROOT / name).read_text() for name in prose.tracked_files()
            if name.endswith((".h", ".cc", ".cu")) and not name.endswith("_test.cc")}


def value_anywhere(name, texts):
    values = set()
    for text in texts.values():
        for match in re.finditer(DEFINITION % name, text):
            try:
                values.add(evaluate(match.group(1), text))
            except (ValueError, SyntaxError, NameError):
                pass
    if len(values) != 1:
        raise ValueError(f"{name} has {len(values)} values in the sources")
    return values.pop()


def check_notes(texts):
    findings, count = [], 0
    for passage in prose.passages():
        if passage.file.startswith("tests/docs/"):
            continue
        for match in NOTED.finditer(passage.text):
            number = match.group(1) or match.group(4)
            name = match.group(2) or match.group(3)
            count += 1
            try:
                is_value = value_anywhere(name, texts)
                if value(number) != is_value:
                    findings.append((passage.file, passage.line(match.start()), f"{number} is not {name}, {is_value:g}"))
            except ValueError as problem:
                findings.append((passage.file, passage.line(match.start()), str(problem)))
    return findings, count


def check_row(file, pattern, constants, texts):
    lines = (prose.ROOT / file).read_text().splitlines()
    text = " ".join(" ".join(line.strip().lstrip("/") for line in lines).split())
    match = re.search(pattern, text)
    if match is None:
        return f"{file} has no sentence like {pattern!r}; has it been rewritten?"
    found = [value(group) for group in match.groups()]
    expected = [evaluate(name, texts[source]) for source, name in constants]
    if found != expected:
        return f"{match.group(0)!r}: the sources say {', '.join(f'{number:g}' for number in expected)}"
    return None


def check_table(texts):
    findings, rows = [], []
    for number, line in enumerate((prose.ROOT / TABLE).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if not line.startswith("  "):
            file, pattern = line.split(": ", 1)
            rows.append((number, file, pattern, []))
        else:
            source, name = line.strip().split(": ", 1)
            rows[-1][3].append((source, name))
    for number, file, pattern, constants in rows:
        try:
            problem = check_row(file, pattern, constants, texts)
        except (ValueError, KeyError, OSError) as error:
            problem = f"{file}: {error}"
        if problem:
            findings.append((TABLE, number, problem))
    return findings, sum(len(row[3]) for row in rows)


def main():
    texts = sources()
    noted, notes = check_notes(texts)
    tabled, rows = check_table(texts)
    return prose.report("docs.numbers", noted + tabled, notes + rows, "numbers that repeat a constant")


if __name__ == "__main__":
    sys.exit(main())
