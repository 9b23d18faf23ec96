"""What it costs to import a large model: seconds, and memory of the process's own (mapped weights are the file's)."""
import pathlib
import re
import subprocess
import time

from replan import exported

SECONDS, MEGABYTES = 0.3, 16


def measured(binary, file):
    """Seconds, and the largest anonymous resident memory in MB that was seen while it ran, looked at each
    millisecond."""
    start, most = time.perf_counter(), 0
    process = subprocess.Popen([binary, "inspect", file, "--ir"], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            most = max(most, *(int(n) for n in re.findall(r"RssAnon:\s+(\d+)", status)), 0)
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(.001)
    if process.returncode != 0:
        raise RuntimeError(f"berth inspect {file} --ir ended with {process.returncode}")
    return time.perf_counter() - start, most / 1024


def imports(berth, models, tally):
    """`models`: (name, folder with model.pt2). Its archive, and the program that ExecuTorch makes of it."""
    for name, folder in models:
        for file in (folder / "model.pt2", exported(folder)):
            runs = [measured(berth.binary, file) for _ in range(5)]
            seconds, memory = min(r[0] for r in runs), max(r[1] for r in runs)
            size = file.stat().st_size / 2**20
            problem = None if seconds <= SECONDS and memory <= MEGABYTES else f"more than {SECONDS} s or {MEGABYTES} MB"
            tally.add(f"{name}{file.suffix}", problem,
                      f"  ({size:.0f} MB: {seconds * 1e3:.0f} ms, {memory:.1f} MB of its own)")
