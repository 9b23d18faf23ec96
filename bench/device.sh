#!/usr/bin/env bash
# What a machine with an NVIDIA GPU is asked once: builds with CUDA, runs the conformance suite, the kernels' tests (with
# cuBLASLt and cuDNN, and without them) and the repository's models on cuda:0, and prints a table of what came out.
#
#   bench/device.sh [FOLDER…]      FOLDER: .onnx models to run besides
#
# Everything it makes lies in build/gpu; the full output of each step in build/gpu/check. Ends with 0 when nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/gpu
logs=$build/check
mkdir -p "$logs"
failed=0
rows=()

# step NAME COMMAND…: runs it, keeps its output, and adds a row with how it ended and how long it took.
step() {
  local name=$1 begin end result=ok
  shift
  begin=$(date +%s.%N)
  "$@" >"$logs/$name.log" 2>&1 || { result=FAILED; failed=1; }
  end=$(date +%s.%N)
  grep -q '\[  SKIPPED \]' "$logs/$name.log" && [ "$result" = ok ] && result='ok, some skipped'
  rows+=("$(printf '%-28s %-18s %8.1f s' "$name" "$result" "$(echo "$end - $begin" | bc -l)")")
  echo "${rows[-1]}"
}

# run_model NAME MODEL: the program for cuda:0 against the one for the host.
run_model() {
  local name=$1 model=$2 out=$logs/$1
  mkdir -p "$out/host" "$out/cuda"
  "$build/berth" compile "$model" -o "$out/host.pte" &&
    "$build/berth" compile "$model" --target cuda:0 -o "$out/cuda.pte" &&
    "$build/berth" inspect "$out/cuda.pte" &&
    "$build/berth" run "$out/host.pte" --output-dir "$out/host" &&
    "$build/berth" run "$out/cuda.pte" --output-dir "$out/cuda" &&
    compare "$out/host" "$out/cuda" &&
    "$build/berth" bench "$out/cuda.pte" --iterations 50
}

# compare FOLDER FOLDER: the largest relative distance of each pair of outputs, by numpy where Python has it.
compare() {
  python3 - "$1" "$2" <<'PY'
import glob, os, sys
try:
    import numpy as np
except ImportError:
    sys.exit("numpy is needed to compare outputs")
worst = 0.0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.npy"))):
    a, b = np.load(path), np.load(os.path.join(sys.argv[2], os.path.basename(path)))
    if a.shape != b.shape or a.dtype != b.dtype:
        sys.exit(f"{path}: {a.shape} {a.dtype} on the host, {b.shape} {b.dtype} on the device")
    a, b = a.astype(np.float64), b.astype(np.float64)
    distance = np.linalg.norm((a - b).ravel()) / max(np.linalg.norm(a.ravel()), 1e-30) if a.size else 0.0
    print(f"{os.path.basename(path)}: {distance:.3g}")
    if not distance < 1e-3:
        sys.exit(f"{path}: too far from the host's")
    worst = max(worst, distance)
print(f"worst relative distance {worst:.3g}")
PY
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "nvidia-smi finds no GPU"
step configure cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBERTH_CUDA=ON \
  -DBERTH_CUDA_ARCHITECTURES="${BERTH_CUDA_ARCHITECTURES:-native}"
[ $failed = 0 ] || { cat "$logs/configure.log"; exit 1; }
step build cmake --build "$build" --target berth test_device_cuda test_cuda_kernels test_cuda_allocator
[ $failed = 0 ] || { tail -40 "$logs/build.log"; exit 1; }

# GPU: without one, every test is skipped, and that is not success here.
if ! "$build/berth" devices | grep -qE '^cuda +[1-9]'; then
  echo "berth devices lists no cuda device"
  exit 1
fi

for test in cuda.allocator device.cuda cuda.kernels cuda.kernels_alone; do
  step "$test" ctest --test-dir "$build" -R "^${test//./\\.}\$" --output-on-failure --no-tests=error -V
done

models=()
for folder in models "$@"; do
  while IFS= read -r model; do models+=("$model"); done < <(find "$folder" -name '*.onnx' | sort)
done
for model in "${models[@]}"; do
  name=$(basename "$model" .onnx)
  step "model.$name" run_model "$name" "$model"
done

echo
printf '%s\n' "${rows[@]}"
for model in "${models[@]}"; do
  log=$logs/model.$(basename "$model" .onnx).log
  grep -hE 'worst relative|median|copies' "$log" | sed "s|^|$(basename "$model" .onnx): |"
done
grep -h 'products by cuBLASLt' "$logs"/cuda.kernels*.log
[ $failed = 0 ] && echo "all of it passed" || echo "something failed: the logs are in $logs"
exit $failed
