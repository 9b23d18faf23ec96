"""Programs that ExecuTorch made, from a folder: NAME.pte, NAME.json (what is in it, and the calls that were made) and
NAME.npz (inputs, and what ExecuTorch's runtime gave), NAME.ptd where constants lie outside.

Each is read and verified; those with calls are run, all calls of one on the same memory, and again as `berth replan`
and as `berth compile` make them. A file that says of itself that its plan is unsound must be refused."""
import fnmatch
import json
import pathlib
import tempfile

import numpy as np

from drivers import Broken, Refused, difference

# Fields that are not known here are not thrown away.
NOT_REPLANNED = {"header_40": "longer than this version knows"}
UNSOUND = {"cond_twice_overlap": "over bytes of"}


def calls_of(about, data, work):
    """(method, input files, what is wanted by output index) for each call."""
    for number, call in enumerate(about.get("calls") or []):
        paths = []
        for entry in call["inputs"]:
            if "dtype" not in entry:
                continue
            array = data[entry["key"]]
            paths.append(work / f"{entry['key']}.npy")
            np.save(paths[-1], array)
        wanted = {i: data[o["key"]] if "key" in o else None for i, o in enumerate(call["outputs"])}
        yield call["method"], paths, wanted, number


def run(berth, program, calls, folder, data_file):
    """The outputs of every call: {(call, index): array}."""
    first, *others = calls
    arguments = ["--method", first[0], *[f"--input={p}" for p in first[1]]]
    arguments += [f"--then={method}={','.join(map(str, paths))}" for method, paths, _, _ in others]
    arguments += ["--data", data_file] if data_file else []
    folder.mkdir()
    berth.call("run", program, *arguments, "--output-dir", folder)
    found = {}
    for path in folder.glob("*.npy"):
        call, _, index = path.stem.rpartition("out")
        found[int(call[1:-1]) if call else 0, int(index)] = np.load(path)
    return found


def compare(calls, found, more=0):
    for _, _, wanted, number in calls:
        for index, want in wanted.items():
            if want is None:
                continue
            got = found.get((number, index))
            if got is None:
                return f"call {number} has no output {index}"
            problem = difference([got.reshape(want.shape) if got.size == want.size else got], [want.astype(got.dtype)])
            if problem:
                return f"call {number}, output {index}: {problem}"
    return None


def expect_refusal(berth, words, *arguments):
    try:
        berth.call(*arguments)
    except Refused as error:
        return None if words in str(error) else f"is refused with: {error}"
    return f"{arguments[0]} does not refuse it"


def check(berth, program, work):
    about = json.loads(program.with_suffix(".json").read_text())
    name, ptd = program.stem, program.with_suffix(".ptd")
    berth.call("inspect", program)
    if name in UNSOUND:
        return expect_refusal(berth, UNSOUND[name], "verify", program)
    berth.call("verify", program)
    data = ["--data", ptd] if ptd.exists() else []
    variants = [("as it is", program, ptd if ptd.exists() else None)]
    if name in NOT_REPLANNED:
        problem = expect_refusal(berth, NOT_REPLANNED[name], "replan", program, "-o", work / "replanned.pte")
        if problem:
            return problem
    else:
        berth.call("replan", program, "-o", work / "replanned.pte")
        berth.call("verify", work / "replanned.pte", *data)
        variants.append(("replanned", work / "replanned.pte", ptd if ptd.exists() else None))
    berth.call("compile", program, "-o", work / "compiled.pte", *data)
    berth.call("verify", work / "compiled.pte")
    variants.append(("compiled", work / "compiled.pte", None))
    arrays = program.with_suffix(".npz")
    if not arrays.exists() or not about.get("calls"):
        return None
    calls = list(calls_of(about, np.load(arrays), work))
    for how, file, data_file in variants:
        try:
            problem = compare(calls, run(berth, file, calls, work / how.replace(" ", "_"), data_file))
        except Refused as error:
            # A program may name a delegate that this build does not have.
            if any(method.get("delegates") for method in about["methods"].values()) and "NotFound" not in str(error):
                return None
            problem = str(error)
        if problem:
            return f"{how}: {problem}"
    return None


def programs(berth, names, tally):
    """`names`: the folder, then patterns."""
    if not names:
        print("programs: say the folder that holds them")
        return
    folder, patterns = pathlib.Path(names[0]), names[1:]
    for program in sorted(folder.glob("*.pte")):
        if patterns and not any(fnmatch.fnmatch(program.stem, p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                problem = check(berth, program, pathlib.Path(work))
            except (Refused, Broken) as error:
                problem = f"{type(error).__name__}: {error}"
        tally.add(program.stem, problem)
