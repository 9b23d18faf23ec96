"""The programs that are bent: compiled from the texts in seeds/ for every kind of target, and those of the fuzz
corpus."""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CORPORA = [os.path.join(HERE, "..", "fuzz", "corpus", name) for name in ("pte_import_fuzz", "replan_fuzz")]
WAYS = {
    "portable": ["--target", "portable"],
    "cpu": ["--target", "cpu"],
    "sim": ["--target", "sim:0"],
    "split": ["--target", "sim:0,sim:1", "--split"],
    "plain": ["--target", "portable", "--no-reuse", "--no-alias", "--no-fusion"],
}


def make(berth, folder):
    """Paths of the programs, in an order of their own."""
    os.makedirs(folder, exist_ok=True)
    for text in sorted(glob.glob(os.path.join(HERE, "seeds", "*.ir"))):
        name = os.path.splitext(os.path.basename(text))[0]
        for way, options in WAYS.items():
            program = os.path.join(folder, f"{name}-{way}.pte")
            done = subprocess.run([berth, "compile", text, "-o", program, *options], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{text} for {way}: exit code {done.returncode}: {done.stderr}")
    programs = sorted(glob.glob(os.path.join(folder, "*.pte")))
    return programs + [path for path in in_corpora() if "damaged" not in path]


def damaged():
    """Programs that are no longer sound; nothing is made from them."""
    return [path for path in in_corpora() if "damaged" in path]


def in_corpora():
    return [path for corpus in CORPORA for path in sorted(glob.glob(os.path.join(corpus, "*.pte")))]
