#!/usr/bin/env python3
"""libberth.so exports the functions that berth.h declares, and nothing else: `exports.py LIBRARY BERTH_H`. The fear: a
function that is declared and not there, and names of C++ that clash with an application's own."""

import re
import subprocess
import sys


def declared(header):
    return set(re.findall(r"^BERTH_API [^;]*?\b(berth_\w+)\(", open(header).read(), re.MULTILINE))


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-2:] for line in lines.splitlines()]
    # The name of the version is a symbol of its own.
    return {name.split("@")[0] for kind, name in symbols if kind != "A"}


def soname(library):
    lines = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.search(r"SONAME.*\[(.*)\]", lines).group(1)


def main():
    library, header = sys.argv[1:]
    there, said = exported(library), declared(header)
    faults = [f"{name} is declared and not exported" for name in sorted(said - there)]
    faults += [f"{name} is exported and not declared" for name in sorted(there - said)]
    if len(said) < 40:
        faults.append(f"only {len(said)} declarations were found in {header}")
    if not re.fullmatch(r"libberth\.so\.\d+", soname(library)):
        faults.append(f"the soname is {soname(library)}")
    lines = len(open(header).read().splitlines())
    if lines > 400:
        faults.append(f"{header} has {lines} lines; 400 are enough")
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"{len(there)} functions, {lines} lines, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
