#!/usr/bin/env python3
"""Breaks the rows of docs/behaviours.md one after the other, and looks that the test of each fails.

    tests/row_mutants/run.py --check             only that each mutant can be applied, and the page lists its rows
    tests/row_mutants/run.py [ROW...]            all rows that have a mutant, or these
        [--build FOLDER]                         a configured build (build/release)

Each mutant (rows.py says how one is written) changes one source where it lies, builds the one test program that the row
names, runs the one test, and undoes the change. The tests must pass before. The exit code is 1 if a mutant survives.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from rows import ROOT, Fault, check, ranges, read_mutants

SECONDS = 120  # for one test; what takes longer has failed


def sources(file):
    """The source itself, or those that it joins: CMake's unity_N_cxx.cxx includes them."""
    joined = re.findall(r'#include "([^"]+)"', Path(file).read_text()) if Path(file).name.startswith("unity_") else []
    return joined or [file]


def programs(build):
    """For each test file, and for each target, the target and its program."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        output = re.search(r" -o (\S*?)CMakeFiles/(tests?_[^/]+)\.dir/", entry["command"])
        if output:
            program = (output.group(2), build / output.group(1) / output.group(2))
            found[output.group(2)] = program
            for source in sources(entry["file"]):
                found.setdefault(os.path.relpath(source, ROOT), program)
    return found


def make(build, target):
    """What the compiler says if the target does not build, else None."""
    done = subprocess.run(["ninja", "-C", build, target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else done.stdout


def passes(program, case):
    """Whether the test ran, and all of it passed."""
    names = f"{case}:{case}/*:*/{case}:*/{case}/*"
    try:
        done = subprocess.run([program, "--gtest_filter=" + names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and re.search(r"^\[  PASSED  \] [1-9]", done.stdout, re.MULTILINE) is not None


def outcome(mutant, build, target, program):
    source = ROOT / mutant.source
    before = source.read_text()
    try:
        source.write_text(mutant.applied(before))
        said = make(build, target)
        if said is not None:
            return "does not build", said
        return ("SURVIVED", "") if passes(program, mutant.test_case) else ("caught", "")
    finally:
        source.write_text(before)


def run(mutants, build):
    """The number of mutants that were not caught."""
    known = programs(build)
    order = {}
    for mutant in mutants:
        program = known.get(mutant.target or mutant.test_file)
        if program is None:
            raise Fault(f"{mutant.where}: no test program of {build} is made of {mutant.target or mutant.test_file}")
        order.setdefault(program, []).append(mutant)
    bad = 0
    for (target, program), own in order.items():
        said = make(build, target)
        if said is not None:
            raise Fault(f"{target} does not build without a mutant:\n{said[-2000:]}")
        for mutant in own:
            if not passes(program, mutant.test_case):
                raise Fault(f"{mutant.test} does not pass, or is skipped, without a mutant")
        for mutant in own:
            started = time.monotonic()
            result, said = outcome(mutant, build, target, program)
            print(f"{result:<9} {mutant.name()}: {mutant.test_case} ({time.monotonic() - started:.0f} s)", flush=True)
            if result != "caught":
                bad += 1
                print("\n".join([f"  {mutant.where}: {mutant.source}", *said.splitlines()[-12:]]), flush=True)
        make(build, target)
    return bad


def run_all(mutants, build):
    """Those of other configurations only where these are there: beside `build`."""
    bad = 0
    done = []
    for name in sorted({mutant.build for mutant in mutants}):
        own = [mutant for mutant in mutants if mutant.build == name]
        folder = build.parent / name if name else build
        if not (folder / "build.ninja").exists():
            print(f"left out: {', '.join(m.name() for m in own)}: {folder} is not configured (cmake --preset {folder.name})")
            continue
        bad += run(own, folder)
        done += own
    rows = [row for mutant in done for row in mutant.rows]
    print(f"{len(done)} mutants of {len(set(rows))} rows ({ranges(rows)}): {len(done) - bad} caught")
    return 1 if bad else 0


def stop(*_):
    sys.exit(130)  # by way of `finally`, which undoes the change


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    try:
        mutants = read_mutants()
        if arguments.check:
            check(mutants)
            print(f"{len(mutants)} mutants can be applied")
            return 0
        wanted = [m for m in mutants if not arguments.rows or set(m.rows) & set(arguments.rows)]
        return run_all(wanted, Path(arguments.build).resolve())
    except Fault as fault:
        print(f"FAIL: {fault}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
