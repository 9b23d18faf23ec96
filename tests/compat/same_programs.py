#!/usr/bin/env python3
"""Does another compiler make the same programs, byte for byte?

    ./dev same-programs collect              # the corpus: every model that ./dev compat compiles, with its options
    ./dev same-programs record FILE          # SHA-256 of each program of the corpus, for each target
    ./dev same-programs compare FILE         # against this build; exit code 1 when a program differs

For changes that must not change what is compiled. The corpus is build/same_programs: models that torch exports differ
from one export to the next, so a record is compared over the corpus that it was made from. The models of the repository
and of the suite are in it too. A model that is refused has its sentence in the record.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "build/same_programs"
TARGETS = {"portable": ["--target", "portable"], "cpu": ["--target", "cpu", "--cpu", "avx512"],
           "sim:0": ["--target", "sim:0"], "split": ["--target", "cpu,sim:0", "--cpu", "avx512", "--split"]}
CHOSEN_HERE = {"--target", "--cpu", "-o", "--output"}  # with their values

# Stands in for the tool while the corpus is collected: keeps what is compiled, then does what it was asked.
KEEPER = """#!{python}
import sys
sys.path.insert(0, {here!r})
import same_programs
same_programs.keep(sys.argv[1:])
import os
os.execv({berth!r}, [{berth!r}] + sys.argv[1:])
"""


def keep(arguments):
    """Keeps the model of a compilation under the hash of its contents and options."""
    if not arguments or arguments[0] != "compile":
        return
    model, options, i = None, [], 1
    while i < len(arguments):
        one = arguments[i]
        if one in CHOSEN_HERE:
            i += 1
        elif one in ("--split", "--json"):
            pass
        elif one.startswith("--"):
            options.append(one)
            if "=" not in one and i + 1 < len(arguments) and not arguments[i + 1].startswith("-") and takes_value(one):
                options.append(arguments[i + 1])
                i += 1
        elif model is None:
            model = pathlib.Path(one)
        i += 1
    if model is None or not model.is_file() or any(o.startswith(("--place", "--device-io", "--dump-ir", "--data"))
                                                   for o in options):
        return
    contents = model.read_bytes()
    name = hashlib.sha256(contents + "\0".join(options).encode()).hexdigest()[:24]
    CORPUS.mkdir(parents=True, exist_ok=True)
    about = CORPUS / f"{name}.json"
    if about.exists():
        return
    stored = CORPUS / f"{name}{model.suffix}"
    stored.write_bytes(contents)
    partial = about.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"model": stored.name, "options": options}))
    partial.rename(about)


def takes_value(option):
    return option not in {"--no-reuse", "--no-inplace", "--no-alias", "--no-reorder", "--no-fusion", "--verify-ir"}


def collect(berth):
    shutil.rmtree(CORPUS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        keeper = pathlib.Path(folder) / "berth"
        keeper.write_text(KEEPER.format(python=sys.executable, here=str(pathlib.Path(__file__).parent),
                                        berth=str(pathlib.Path(berth).resolve())))
        keeper.chmod(keeper.stat().st_mode | stat.S_IXUSR)
        for model in sorted(ROOT.glob("models/*/model.onnx")):
            keep(["compile", str(model)])
        subprocess.run([sys.executable, ROOT / "tests/compat/run.py", keeper], check=False)
    print(f"{len(list(CORPUS.glob('*.json')))} models in {CORPUS.relative_to(ROOT)}")


def program_of(berth, about, target):
    """(model and target, the program's hash or the sentence that refuses it)"""
    entry = json.loads(about.read_text())
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "p.pte"
        # By its name alone, which sentences and sources may hold.
        done = subprocess.run([berth, "compile", entry["model"], *entry["options"], *TARGETS[target], "-o", out],
                              cwd=CORPUS, capture_output=True, text=True, errors="replace", timeout=300)
        made = done.returncode == 0
        what = hashlib.sha256(out.read_bytes()).hexdigest() if made else f"exit code {done.returncode}: {done.stderr.strip()}"
    return f"{about.stem} {target}", what


def programs(berth):
    jobs = [(about, target) for about in sorted(CORPUS.glob("*.json")) for target in TARGETS]
    if not jobs:
        sys.exit(f"there is no corpus in {CORPUS}: ./dev same-programs collect makes it")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(lambda job: program_of(str(pathlib.Path(berth).resolve()), *job), jobs))


def compare(record, now):
    """Prints what differs; how many programs do."""
    differ = [name for name in sorted(record.keys() | now.keys()) if record.get(name) != now.get(name)]
    for name in differ[:40]:
        print(f"{name}\n    before {record.get(name, 'not there')}\n    now    {now.get(name, 'not there')}")
    if len(differ) > 40:
        print(f"… and {len(differ) - 40} more")
    print(f"{len(now) - len(differ)} programs are the same, {len(differ)} differ")
    return len(differ)


def main():
    if len(sys.argv) == 3 and sys.argv[2] == "collect":
        return collect(sys.argv[1])
    if len(sys.argv) != 4 or sys.argv[2] not in ("record", "compare"):
        sys.exit(__doc__)
    now = programs(sys.argv[1])
    if sys.argv[2] == "record":
        pathlib.Path(sys.argv[3]).write_text(json.dumps(now, indent=0) + "\n")
        return print(f"{len(now)} programs in {sys.argv[3]}")
    sys.exit(1 if compare(json.loads(pathlib.Path(sys.argv[3]).read_text()), now) else 0)


if __name__ == "__main__":
    main()
