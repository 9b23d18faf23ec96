"""What people read in the repository: the text of its documents, comments and messages, with line numbers.

    for passage in prose.passages():
        passage.file, passage.text, passage.line(offset in the text)
"""

import bisect
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The changelog tells of things as they were called then.
HISTORY = {"CHANGELOG.md"}
C_FAMILY = {".cc", ".h", ".cu", ".cpp", ".def", ".fbs"}
HASH_FAMILY = {".py", ".cmake", ".sh", ".ir", ".txt", ""}

C_TOKEN = re.compile(
    r'(?P<raw>R"(?P<tag>\w*)\((?P<body>.*?)\)(?P=tag)")|(?P<string>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])\''
    r"|//(?P<comment>[^\n]*)|/\*(?P<block>.*?)\*/", re.S)
_HASH_TOKEN = re.compile(
    r'(?P<block>"""(?P<body>.*?)""")|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?<![\w$&{\\])#(?P<comment>[^\n]*)", re.S)
_IR_TOKEN = re.compile(r'(?P<string>"[^"\n]*")|//(?P<comment>[^\n]*)')


class Passage:
    """A document, a run of comment lines, or a message; line ends are spaces, so that sentences are whole."""

    def __init__(self, file, lines, is_code_text=False):
        self.file = file
        self.is_message = is_code_text
        self._numbers = [number for number, _ in lines]
        self._starts = []
        text = ""
        for _, line in lines:
            self._starts.append(len(text))
            text += line + " "
        self.text = text

    def line(self, offset):
        return self._numbers[bisect.bisect_right(self._starts, offset) - 1]


def tracked_files():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    skipped = {"build", ".git"}
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
            if path.is_file() and path.relative_to(ROOT).parts[0] not in skipped]


def _source_passages(file, text, token):
    """Comment lines that follow each other are one passage, as are string literals that follow each other."""
    run, kind = [], None
    for match in token.finditer(text):
        groups = match.groupdict()
        first = text.count("\n", 0, match.start()) + 1
        if groups.get("comment") is not None:
            lines, found = [(first, groups["comment"].lstrip("/").strip())], "comment"
        elif groups.get("raw") or groups.get("block"):
            body = groups.get("body") or groups["block"] or ""
            lines, found = [(first + i, line.strip()) for i, line in enumerate(body.splitlines())], "block"
        elif groups.get("string"):
            lines, found = [(first, groups["string"][1:-1])], "string"
        else:
            continue
        follows = run and kind == found and found != "block" and first <= run[-1][0] + 1
        if run and not follows:
            yield Passage(file, run, kind == "string")
            run = []
        run, kind = run + lines, found
    if run:
        yield Passage(file, run, kind == "string")


def passages():
    for name in tracked_files():
        path = pathlib.Path(name)
        if name in HISTORY or "corpus" in path.parts or path.parts[0] == "models" and path.suffix != ".py":
            continue
        family = path.suffix
        if family not in C_FAMILY | HASH_FAMILY | {".md"}:
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if family == ".md":
            yield Passage(name, list(enumerate(text.splitlines(), 1)))
        elif family == ".ir":
            yield from _source_passages(name, text, _IR_TOKEN)
        elif family in C_FAMILY:
            yield from _source_passages(name, text, C_TOKEN)
        elif family == ".py" or "CMakeLists" in name or family == ".cmake" or text.startswith("#!"):
            yield from _source_passages(name, text, _HASH_TOKEN)


def report(name, findings, count, what):
    for file, line, message in findings:
        print(f"{file}:{line}: {message}")
    print(f"{name}: {count} {what}, {len(findings)} wrong")
    return 1 if findings else 0
