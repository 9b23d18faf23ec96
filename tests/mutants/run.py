#!/usr/bin/env python3
"""Programs that are damaged where it matters, through every command of the tool.

    tests/mutants/run.py BERTH FOLDER [--count N] [--seconds S] [--seed N] [--jobs N]

A mutant is a sound program with one to four mutations (mutate.py) that know its structure; what is around them still
parses. Each goes through one to three commands. Nothing may die, hang, take more than 1 GiB or end with exit code 1:
what is wrong with a damaged file is the file's fault. What is written from one must be sound, and what `verify` calls
sound must be taken by the commands that only look.

FOLDER gets seeds/, and for what goes wrong NAME.pte with NAME.txt, which has the command that repeats it. The same seed
and programs make the same mutants, however many processes there are.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter

import seeds
from judge import Tool, fault
from mutate import mutant
from program import Program

KEPT = 3  # files of one kind

MEMORY = ["--max-memory", "64M"]
LOOKS = [["verify", "FILE"], ["verify", "--json", "FILE"], ["inspect", "FILE"], ["inspect", "--json", "FILE"],
         ["inspect", "--values", "--instructions", "FILE"], ["inspect", "--plan", "FILE"],
         ["report", "FILE", "-o", "OUT.html"]]
OTHERS = [["inspect", "--ir", "FILE"], ["report", "FILE", "FILE", "-o", "OUT.html"]]
WRITES = [["replan", "FILE", "-o", "OUT.pte"], ["compile", "FILE", "-o", "OUT.pte"],
          ["compile", "FILE", "-o", "OUT.pte", "--target", "cpu"],
          ["compile", "FILE", "-o", "OUT.pte", "--target", "sim:0", "--planner", "greedy"]]
RUNS = [["run", "FILE", *MEMORY], ["run", "FILE", *MEMORY, "--threads", "2"],
        ["run", "FILE", *MEMORY, "--load", "read"], ["run", "FILE", *MEMORY, "--then", "forward="],
        ["bench", "FILE", *MEMORY, "--iterations", "2"],
        ["bench", "FILE", *MEMORY, "--iterations", "1", "--json", "--profile"]]


def commands(draw):
    """One to three, and `verify` before those whose answer it must agree with."""
    drawn = []
    for _ in range(draw.choice([1, 2, 2, 3])):
        drawn.append(draw.choice(draw.choices([LOOKS, OTHERS, WRITES, RUNS], [30, 5, 30, 35])[0]))
    if any(command in LOOKS for command in drawn) and LOOKS[0] not in drawn:
        drawn.insert(0, LOOKS[0])
    return drawn


class Worker:
    def __init__(self, berth, folder, work):
        self.tool, self.folder, self.work = Tool(berth, work), folder, work
        self.findings, self.kinds, self.codes, self.runs = [], Counter(), Counter(), 0
        self.slowest = (0, "")

    def named(self, command):
        names = {"FILE": os.path.join(self.work, "mutant.pte"), "OUT.html": os.path.join(self.work, "out.html"),
                 "OUT.pte": os.path.join(self.work, "out.pte")}
        return [names.get(word, word) for word in command]

    def mutant(self, seed, number, path, program):
        draw = random.Random(f"{seed}:{number}")
        data, said = mutant(program, draw)
        told = f"{os.path.basename(path)}, mutant {number} of seed {seed}:\n" + "".join(f"  {line}\n" for line in said)
        self.take(f"seed{seed}-{number}", data, commands(draw), told)

    def as_it_is(self, path):
        """What the mutants are made from must be well itself, and what is damaged already is a mutant too."""
        with open(path, "rb") as file:
            data = file.read()
        stem = os.path.splitext(os.path.basename(path))[0]
        self.take(stem, data, LOOKS + OTHERS + WRITES + RUNS, f"{path}, as it is\n")

    def take(self, stem, data, drawn, told):
        with open(os.path.join(self.work, "mutant.pte"), "wb") as file:
            file.write(data)
        sound = None
        for command in drawn:
            wrong, result = self.judge(command)
            if wrong is None and sound and command in LOOKS and result.code:
                wrong = f"is sound to verify, and refused: {fault_words(result)}"
            if command == LOOKS[0]:
                sound = result.code == 0
            if wrong is None and command in WRITES and result.code == 0:
                wrong, result = self.judge(["verify", "OUT.pte"])
                if result.code:
                    wrong = f"writes what is not sound: {fault_words(result)}"
            if wrong is not None:
                self.keep(stem, command, wrong, told, result, data)

    def judge(self, command):
        result = self.tool.run(self.named(command))
        self.runs += 1
        self.codes[command[0], result.code] += 1
        if result.seconds > self.slowest[0]:
            self.slowest = (result.seconds, " ".join(command))
        return fault(result), result

    def keep(self, stem, command, wrong, told, result, data):
        kind = f"{command[0]} {wrong}"
        self.kinds[kind] += 1
        if self.kinds[kind] > KEPT:
            return
        stem = os.path.join(self.folder, f"{stem}-{command[0]}")
        with open(stem + ".pte", "wb") as file:
            file.write(data)
        words = [stem + ".pte" if word == "FILE" else os.path.join("/tmp", word.lower()) if word[:4] == "OUT." else word
                 for word in command]
        with open(stem + ".txt", "w") as file:
            file.write(f"{self.tool.berth} {' '.join(words)}\n\n{wrong}\n{told}\n{result.said}")
        self.findings.append((kind, stem + ".txt"))


def fault_words(result):
    return fault(result._replace(code=1))


def work(options, programs, first, deadline, pipe):
    folder = tempfile.mkdtemp(prefix="berth-mutants-")
    try:
        worker = Worker(options.berth, options.folder, folder)
        for path in (programs + seeds.damaged())[first :: options.jobs]:
            worker.as_it_is(path)
        parsed, number = {}, first
        while number < options.count and time.monotonic() < deadline:
            name = programs[number % len(programs)]
            if name not in parsed:
                with open(name, "rb") as file:
                    parsed[name] = Program(file.read())
            worker.mutant(options.seed, number, name, parsed[name])
            number += options.jobs
        told = (len(range(first, number, options.jobs)), worker.runs, worker.kinds, worker.findings, worker.codes,
                worker.slowest)
        with os.fdopen(pipe, "w") as out:
            out.write(repr([dict(part) if isinstance(part, Counter) else part for part in told]))
    finally:
        shutil.rmtree(folder)


def start(options, programs, first, deadline):
    """A process of its own, and where its report comes from."""
    source, sink = os.pipe()
    child = os.fork()
    if child:
        os.close(sink)
        return child, source
    os.close(source)
    status = 1
    try:
        work(options, programs, first, deadline, sink)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("berth")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=5000, help="how many mutants")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 30))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    options.berth, options.folder = os.path.abspath(options.berth), os.path.abspath(options.folder)
    return options


def main():
    options = parse(sys.argv[1:])
    programs = seeds.make(options.berth, os.path.join(options.folder, "seeds"))
    print(f"mutants: {options.count} of {len(programs)} programs, seed {options.seed}, {options.jobs} at a time",
          flush=True)
    begin = time.monotonic()
    children = [start(options, programs, first, begin + options.seconds) for first in range(options.jobs)]
    mutants, runs, kinds, findings, codes, slowest, broken = 0, 0, Counter(), [], Counter(), (0, ""), 0
    for child, source in children:
        with os.fdopen(source) as pipe:
            told = pipe.read()
        broken += os.waitpid(child, 0)[1] != 0
        if told:
            more = eval(told)  # a literal that a process of this script wrote
            mutants, runs, findings = mutants + more[0], runs + more[1], findings + more[3]
            kinds.update(more[2])
            codes.update(more[4])
            slowest = max(slowest, tuple(more[5]))
    print(f"{mutants} mutants, {runs} commands in {time.monotonic() - begin:.0f} s; "
          f"slowest {slowest[0]:.2f} s: {slowest[1]}")
    for command in sorted({name for name, _ in codes}):
        counts = [(code, n) for (name, code), n in sorted(codes.items(), key=str) if name == command]
        print(f"  {command:8}" + ",".join(f" exit code {code}: {n}" for code, n in counts))
    for kind, count in kinds.most_common():
        files = [file for found, file in findings if found == kind]
        print(f"FOUND {count} x {kind}\n      {files[0]}")
    if not kinds and not broken:
        print("nothing was found")
    return 1 if kinds or broken else 0


if __name__ == "__main__":
    sys.exit(main())
