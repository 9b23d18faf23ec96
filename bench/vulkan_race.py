#!/usr/bin/env python3
"""The suite's models on one Vulkan driver, Berth beside ncnn, in turns.

    bench/vulkan_race.py BERTH [NAME…]     # with a Python that has ncnn, pnnx and NumPy

The driver is the machine's first, Mesa's lavapipe where there is no card; its cache of shaders is off. Models are f32
for both, converted for ncnn by pnnx with fp16=0, and inputs are theirs under build/models. Each turn times both, each
in a process of its own: load and first run, then the fastest of a few more. A ratio is Berth's fastest over ncnn's, and
the same for load and first run together. Outputs of both are compared with the model's before. What ncnn cannot
convert, or computes wrongly, is left out by name. The table names the losers first.

With --processor-time, times are of all threads of each process, which is what to compare beside other work. ncnn's
files are kept in --work, if that is given, and not made again.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "models"
# gpt_small has integers for an input and lstm_tagger layers that ncnn runs on the processor.
SUITE = ("squeezenet1_1", "dscnn_kws", "mobilenet_v2", "resnet18", "unet", "vit_small", "shufflenet_v2",
         "mobilenet_v3_small", "randwire", "resnet50")
ENVIRONMENT = {**os.environ, "MESA_SHADER_CACHE_DISABLE": "true"}
RUNS = 5


def agrees(found, wanted):
    """The suite's tolerance: rtol 1e-3, atol 1e-4 of the largest."""
    found, wanted = np.ravel(found), np.ravel(wanted)
    return found.shape == wanted.shape and bool(
        np.all(np.abs(found - wanted) <= 1e-3 * np.abs(wanted) + 1e-4 * np.abs(wanted).max()))


def ncnn_worker(folder, name, source, clock):
    """In a process of its own: times as JSON, and whether the output is right."""
    import ncnn
    image = np.load(source / "in0.npy")[0]
    net = ncnn.Net()
    start = clock()
    net.opt.use_vulkan_compute = True
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.num_threads = os.cpu_count()
    net.load_param(str(folder / f"{name}.ncnn.param"))
    net.load_model(str(folder / f"{name}.ncnn.bin"))

    def run():
        with net.create_extractor() as extractor:
            extractor.input("in0", ncnn.Mat(image).clone())
            return np.array(extractor.extract("out0")[1])

    output = run()
    ready = clock() - start
    best = math.inf
    for _ in range(RUNS):
        start = clock()
        run()
        best = min(best, clock() - start)
    print(json.dumps({"ready": 1e3 * ready, "run": 1e3 * best,
                      "right": agrees(output, np.load(source / "out0.npy"))}))


def convert(name, work):
    """The folder with ncnn's files; None where pnnx has made none."""
    folder = work / name
    if (folder / f"{name}.ncnn.bin").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    source = FOLDER / name
    shape = ",".join(map(str, np.load(source / "in0.npy").shape))
    (folder / f"{name}.onnx").write_bytes((source / "model.onnx").read_bytes())
    pnnx = pathlib.Path(sys.executable).parent / "pnnx"
    subprocess.run([pnnx, f"{name}.onnx", f"inputshape=[{shape}]", "fp16=0"], cwd=folder, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=600)
    return folder if (folder / f"{name}.ncnn.bin").exists() else None


def time_ncnn(folder, name, clock):
    done = subprocess.run([sys.executable, __file__, "--worker", str(folder), name, clock], env=ENVIRONMENT, text=True,
                          capture_output=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else None


def compile_berth(berth, name, work):
    """The program; ends the script where its output is wrong."""
    program = work / f"{name}.pte"
    source = FOLDER / name
    subprocess.run([berth, "compile", source / "model.onnx", "--target", "vulkan:0", "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([berth, "run", program, "--input", source / "in0.npy", "--output-dir", work], check=True,
                   stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    if not agrees(np.load(work / "out0.npy"), np.load(source / "out0.npy")):
        sys.exit(f"{name}: Berth's output is wrong")
    return program


def time_berth(berth, program, name, clock):
    options = ["--processor-time"] if clock == "processor" else []
    done = subprocess.run([berth, "bench", program, "--input", FOLDER / name / "in0.npy", "--iterations", str(RUNS),
                           "--json", *options], check=True, capture_output=True, text=True, env=ENVIRONMENT)
    times = json.loads(done.stdout)
    if times["device"]["submissions"] != 1 or times["device"]["pipelines"] or times["device"]["allocations"]:
        sys.exit(f"{name}: a run is not one submission: {times['device']}")
    ready = times["load_ms"] + times["first_ms"] if clock == "wall" else processor_ms([
        berth, "run", program, "--input", FOLDER / name / "in0.npy"])
    return {"ready": ready, "run": times["min_ms"]}


def processor_ms(command):
    """Of a whole process: a tool that starts, opens the device, loads and runs once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def race(berth, name, turns, work, clock):
    """Of both, the fastest of all turns; None, with a word, where ncnn has nothing to time."""
    folder = convert(name, work)
    first = folder and time_ncnn(folder, name, clock)
    if not first or not first["right"]:
        print(f"{name}: left out, ncnn " + ("computes it wrongly" if first else "does not run it"), flush=True)
        return None
    program = compile_berth(berth, name, work)
    times = {"berth": [], "ncnn": []}
    for _ in range(turns):
        times["berth"].append(time_berth(berth, program, name, clock))
        times["ncnn"].append(time_ncnn(folder, name, clock))
    return {who: {what: min(t[what] for t in all_turns) for what in ("ready", "run")}
            for who, all_turns in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("berth", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--work", type=pathlib.Path)
    arguments = parser.parse_args()
    clock = "processor" if arguments.processor_time else "wall"
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        work = (arguments.work or pathlib.Path(scratch)).resolve()
        for name in arguments.names or SUITE:
            found = race(arguments.berth.resolve(), name, arguments.turns, work, clock)
            if found is None:
                continue
            ratios = [found["berth"][what] / found["ncnn"][what] for what in ("run", "ready")]
            rows.append((*ratios, name, found))
            print(f"{name}: {ratios[0]:.2f}, load and first run {ratios[1]:.2f}", flush=True)
    if not rows:
        sys.exit("nothing to compare")
    print("\n| model | berth | ncnn | berth / ncnn | load and first run: berth | ncnn | berth / ncnn |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for run, ready, name, found in sorted(rows, key=lambda row: row[:3], reverse=True):
        berth, ncnn = found["berth"], found["ncnn"]
        print(f"| {name} | {berth['run']:.3g} | {ncnn['run']:.3g} | {run:.2f} | {berth['ready']:.0f} | "
              f"{ncnn['ready']:.0f} | {ready:.2f} |")
    means = [math.exp(statistics.mean(math.log(row[k]) for row in rows)) for k in (0, 1)]
    print(f"\nGeometric mean {means[0]:.3f}, of load and first run {means[1]:.3f}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        ncnn_worker(pathlib.Path(sys.argv[2]), sys.argv[3], FOLDER / sys.argv[3],
                    time.process_time if sys.argv[4] == "processor" else time.perf_counter)
    else:
        main()
