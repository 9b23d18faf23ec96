"""Whole programs as Berth writes them: branches, loops, state and sizes that change, from the texts in ir/.

Each is compiled with every planner and called several times on the same memory, in Berth's runtime and in ExecuTorch's:
both give what a few lines of NumPy say."""
import fnmatch
import pathlib
import tempfile

import numpy as np

from drivers import Broken, ExecuTorch, Refused, difference
from programs import run

TEXTS = pathlib.Path(__file__).with_name("ir")
PLANNERS = ("naive", "greedy", "best")
f32 = np.float32


def numbers(*shape, seed):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(f32)


def branches(c, x):
    r = x * 2 if c else -np.exp(x)
    return r + (np.sin(x) if c else x), r


def while_loop(x, turns):
    """Two values that change places in each turn."""
    n, w, u = np.zeros(1, f32), x, x
    while n < turns:
        n, w, u = n + 1, u, w * 2
    return w, u, n


def scan(h, x):
    rows = []
    for s in x:
        h = h + s
        rows.append(h * s)
    return h, np.stack(rows)


def scan_sizes(h, x):
    sums = h + np.cumsum(x, axis=0, dtype=f32)
    return sums[-1], sums


def branch_in_scan(h, x, flags):
    rows = []
    for s, f in zip(x, flags):
        h = h + s if f else h
        rows.append(h * s)
    return h, np.stack(rows)


def scan_in_scan(h, x):
    stacks = []
    for rows in x:
        stack = []
        for row in rows:
            stack.append(h)
            h = row - h
        h = np.maximum(h, 0)
        stacks.append(np.stack(stack))
    return h, np.stack(stacks)


def state():
    count = np.array([1, 2, 3, 4], f32)

    def call(x):
        nonlocal count
        count = count + x
        return count * 10,
    return call


def states_that_swap():
    a, b = np.array([1, 2, 3, 4], f32), np.zeros(4, f32)

    def call(x):
        nonlocal a, b
        old = a, b, b + x
        a, b = b + x, a[::-1].copy()
        return old
    return call


def state_through_a_scan():
    h = np.zeros(4, f32)

    def call(x):
        nonlocal h
        rows = []
        for s in x:
            h = np.tanh(h + s)
            rows.append(h)
        return np.stack(rows),
    return call


def state_in_regions():
    """A branch writes one state, and a loop in it another."""
    count, last = np.array([1, 2, 3, 4], f32), np.zeros(4, f32)

    def call(c, x):
        nonlocal count, last
        seen, rows = last, x
        if c:
            rows = []
            for s in x:
                last = count * s
                rows.append(last)
                count = count + s
        return np.stack(rows), -seen
    return call


def sizes(x):
    return -np.exp(x).reshape(len(x), 2, 3), np.full(len(x) + 2, 1.5, f32)


def cases():
    """Name of the text, what makes the reference, the inputs of each call."""
    def flag(value):
        return np.array(value)

    def random(*shapes):
        return [[numbers(*s, seed=10 * k + i) for i, s in enumerate(shapes)] for k in range(4)]

    always = lambda reference: lambda: reference  # noqa: E731
    yield "branches", always(branches), [[flag(k % 2 == 0), numbers(4, seed=k)] for k in range(4)]
    yield "while_loop", always(while_loop), [[numbers(4, seed=k), np.array([k], f32)] for k in (3, 0, 1, 4)]
    yield "scan", always(scan), random((4, ), (5, 4))
    yield "scan_sizes", always(scan_sizes), [[numbers(4, seed=k), numbers(k, 4, seed=9)] for k in (6, 1, 3)]
    flags = [np.array([k & 1, k & 2, k & 4], bool) for k in (0, 5, 7, 2)]
    yield "branch_in_scan", always(branch_in_scan), [[*given, f] for given, f in zip(random((4, ), (3, 4)), flags)]
    yield "scan_in_scan", always(scan_in_scan), random((2, ), (3, 4, 2))
    yield "state", state, random((4, ))
    yield "states_that_swap", states_that_swap, random((4, ))
    yield "state_through_a_scan", state_through_a_scan, random((3, 4))
    turns = [flag(value) for value in (False, True, False, True)]
    yield "state_in_regions", state_in_regions, [[c, *given] for c, given in zip(turns, random((3, 4)))]
    yield "sizes", always(sizes), [[numbers(k, 6, seed=k)] for k in (8, 1, 5)]


def saved(calls, work):
    """The .npy paths of each call."""
    paths = []
    for number, arrays in enumerate(calls):
        paths.append([work / f"c{number}in{i}.npy" for i in range(len(arrays))])
        for path, array in zip(paths[-1], arrays):
            np.save(path, array)
    return paths


def check(berth, executorch, name, reference, calls, planner, work):
    """The problem, or None."""
    program = work / "program.pte"
    berth.compile(TEXTS / f"{name}.ir", program, "--planner", planner)
    paths, expected = saved(calls, work), reference()
    wanted = [expected(*arrays) for arrays in calls]
    found = run(berth, program, [("forward", inputs, None, n) for n, inputs in enumerate(paths)], work / "berth", None)
    for number, want in enumerate(wanted):
        problem = difference([found.get((number, i), np.zeros(0)) for i in range(len(want))], list(want))
        if problem:
            return f"Berth, call {number}: {problem}"
        got, _ = executorch.run(program, paths[number], work / f"executorch{number}",
                                before=[list(map(str, before)) for before in paths[:number]])
        problem = difference(got, list(want))
        if problem:
            return f"ExecuTorch, call {number}: {problem}"
    return None


def emitted(berth, patterns, tally):
    executorch = ExecuTorch()
    for name, reference, calls in cases():
        if patterns and not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        for planner in PLANNERS:
            with tempfile.TemporaryDirectory() as work:
                try:
                    problem = check(berth, executorch, name, reference, calls, planner, pathlib.Path(work))
                except (Refused, Broken) as error:
                    problem = f"{type(error).__name__}: {error}"
            tally.add(f"{name} --planner {planner}", problem, f"  ({len(calls)} calls)")
