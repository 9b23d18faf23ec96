"""Reuse of memory changes no bit of any output, and a program needs exactly the memory that it says."""
import pathlib
import subprocess

from drivers import Broken, Refused


def same_without_reuse(berth, model, inputs, work):
    """Compiles with and without reuse, runs both: (problem or None, note)."""
    try:
        default = berth.compile(model, work / "default.pte")
        plain = berth.compile(model, work / "plain.pte", "--no-reuse")
        got = berth.run(work / "default.pte", inputs, work / "default")
        want = berth.run(work / "plain.pte", inputs, work / "plain")
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}", ""
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}", ""
    for i, (g, w) in enumerate(zip(got, want)):
        if g.dtype != w.dtype or g.shape != w.shape or g.tobytes() != w.tobytes():
            return f"out{i} is not bit for bit what it is without reuse", ""
    before, after = (sum(a["bytes"] for a in report["arenas"]) for report in (plain, default))
    return None, f"  (bit for bit; arenas {before} -> {after} bytes)"


def exact_memory(berth, model, work):
    """Loads and runs in exactly what is needed, and is refused with one byte less: (problem or None, note)."""
    driver = pathlib.Path(berth.binary).with_name("tests") / "exact_memory"
    try:
        berth.compile(model, work / "model.pte")
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}", ""
    done = subprocess.run([driver, work / "model.pte"], capture_output=True, text=True, timeout=600)
    said = done.stdout.strip().rpartition("model.pte: ")[2]
    return (None, f"  ({said})") if done.returncode == 0 else (said or done.stderr[-300:], "")
