#!/usr/bin/env python3
"""Comments, messages and documents are plain English: "is not a tensor", never "is no tensor"; things, not people.

What may stay as it is, such as a quotation, is listed in `wording_allowed.txt`: the file, a colon, and the words.
"""

import pathlib
import re
import sys

import prose

ALLOWED = "tests/docs/wording_allowed.txt"
# "There is no X", "has no effect", "by no means" and "no longer", "no more" are English as it is spoken.
RULES = [
    (re.compile(r"\b(?:is|are|was|were|be|been|being|am) no (?!longer\b|more\b|less\b|fewer\b|way\b)\w+", re.I),
     "say 'is not a …'",
     re.compile(r"\b(?:there|here|where|nor) (?:\w+ )?(?:is|are|was|were|be|been|being) no|\bno (?:\w+ )?(?:larger|smaller|higher|lower|better|worse|faster|slower|longer|different|later|earlier|shorter|wider|other)\b", re.I)),
    (re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever|someone|anyone|everyone)(?:'s)?\b", re.I),
     "say what it is instead of who", None),
    (re.compile(r"\bthousand million\b", re.I), "say billion, or 10⁹", None),
    (re.compile(r"\bha(?:s|ve|d) not (?:got|as many|one|any|an?|the)\b", re.I), "say 'does not have'", None),
    (re.compile(r"\bis well\b[.;,]?"), "say 'is ok'", None),
]


def allowed():
    words = set()
    for line in (prose.ROOT / ALLOWED).read_text().splitlines():
        if line and not line.startswith("#"):
            file, text = line.split(": ", 1)
            words.add((file, text))
    return words


def main():
    excused, used, findings, count = allowed(), set(), [], 0
    for passage in prose.passages():
        if passage.file.startswith("tests/docs/"):
            continue
        count += 1
        for pattern, advice, exception in RULES:
            for match in pattern.finditer(passage.text):
                start = max(0, match.start() - 24)
                around = passage.text[start:match.end() + 24]
                if exception and exception.search(around):
                    continue
                if (passage.file, match.group(0)) in excused:
                    used.add((passage.file, match.group(0)))
                    continue
                findings.append((passage.file, passage.line(match.start()), f"“{around.strip()}”: {advice}"))
    for file, text in sorted(excused - used):
        findings.append((ALLOWED, 0, f"{file} does not say {text!r}"))
    return prose.report("docs.wording", findings, count, "passages")


if __name__ == "__main__":
    sys.exit(main())
