#!/usr/bin/env python3
"""What a build costs: seconds of processor, user and system, of each command that compiles.

    bench/build_seconds.py build/release                     # everything
    bench/build_seconds.py build/release --for berth         # what the target `berth` needs
    bench/build_seconds.py build/release compiler/ir '^tools/'   # objects that match one of these

The commands are those of the folder's compile_commands.json, without a compiler cache, one after the other; each is run
--times times (1) and its lowest time counts. What the build generates has to be there: build once before. Objects go
to a temporary file. The costliest come last, then a line for each folder, and the sum. Other processes on the machine
add to these seconds, by a fifth and more on cores that share their units: compare what was measured in the same hour.
"""
import argparse
import collections
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile


def objects_for(build, target):
    """The files that ninja makes or reads for the target."""
    return set(subprocess.run(["ninja", "-C", build, "-t", "inputs", target], check=True, capture_output=True,
                              text=True).stdout.splitlines())


def without_cache(command):
    while command and pathlib.Path(command[0]).name in ("ccache", "sccache"):
        command = command[1:]
    return command


def seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--for", dest="target")
    parser.add_argument("--times", type=int, default=1)
    arguments = parser.parse_intermixed_args()
    wanted = objects_for(arguments.build, arguments.target) if arguments.target else None
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        for entry in json.loads((arguments.build / "compile_commands.json").read_text()):
            command = without_cache(shlex.split(entry["command"]))
            at = command.index("-o") + 1
            made = entry.get("output", command[at]).removeprefix(entry["directory"] + "/")
            if wanted is not None and made not in wanted:
                continue
            if arguments.patterns and not any(re.search(pattern, made) for pattern in arguments.patterns):
                continue
            command[at] = f"{folder}/object"
            costs[made] = min(seconds(command, entry["directory"]) for _ in range(arguments.times))
    rooms = collections.Counter()
    for made, cost in sorted(costs.items(), key=lambda item: item[1]):
        print(f"{cost:8.2f} {made}")
        rooms[made.split("/CMakeFiles/")[0]] += cost
    print()
    for room, cost in reversed(rooms.most_common()):
        print(f"{cost:8.1f} {room}")
    print(f"{sum(costs.values()):8.1f} in all, {len(costs)} commands")


if __name__ == "__main__":
    main()
