#!/usr/bin/env bash
# Tries Berth on a machine with an NVIDIA GPU: the conformance suite, the kernels' tests with cuBLASLt and cuDNN and
# without them, and models on cuda:0 against the host. Prints a table, losers and failures first.
#
#   bench/device.sh bundle FOLDER [MODELS…]   where there is a CUDA toolkit: builds in build/gpu, and puts into FOLDER
#                                             all that a check needs, this script too (about 45 MB). MODELS: .onnx
#                                             files, or folders of them; the repository's own come along
#   FOLDER/device.sh check [MODELS…]          where there is a GPU, and nothing else: only runs. numpy compares outputs
#   bench/device.sh                           both, on one machine
#
# Logs go to $OUT, or to FOLDER/log. Libraries in PyPI's packages are found through BERTH_CUDA_LIBRARY_PATH. Ends with 0
# when all of it passed; a library that is found and takes no call is a failure.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

bundle() {
  local folder build=build/gpu program models=()
  mkdir -p "$1" && folder=$(realpath "$1") || exit 1
  shift
  # Where the caller stands, before this goes to the repository.
  [ $# = 0 ] || mapfile -t models < <(realpath "$@")
  cd "$here/.." || exit 1
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBERTH_CUDA=ON >/dev/null || exit 1
  cmake --build "$build" --target berth test_device_cuda test_cuda_kernels test_cuda_allocator || exit 1
  mkdir -p "$folder/bin" "$folder/lib" "$folder/models"
  for program in berth tests/device/test_device_cuda backends/cuda/kernels_test/test_cuda_kernels \
    backends/cuda/device/test_cuda_allocator; do
    strip -o "$folder/bin/$(basename "$program")" "$build/$program" || exit 1
  done
  cp "$build"/generated/backends/cuda/*.env "$folder/"
  # What another system need not have; the C and C++ libraries are its own.
  ldd "$folder"/bin/* | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl)\.so' |
    sort -u | xargs -r cp -Lt "$folder/lib"
  find models "${models[@]}" -name '*.onnx' | while IFS= read -r file; do
    local name=${file%.onnx}
    cp "$file" "$folder/models/$(echo "${name%/model}" | tr / _).onnx"
  done
  cp "$here/device.sh" "$folder/"
  du -sh "$folder"
}

rows=()
failed=0

# step NAME COMMAND…: runs it, keeps its output, and adds a row with how it ended.
step() {
  local name=$1 result=ok
  shift
  "$@" >"$logs/$name.log" 2>&1 || { result=FAILED; failed=1; }
  grep -q 'cuda: .* is neither where' "$logs/$name.log" && result="$result, without a library"
  rows+=("$(printf '%-10s %s' "$result" "$name")")
  echo "${rows[-1]}"
}

# run_model MODEL FOLDER: the program for cuda:0 against the one for the host, then its times.
run_model() {
  local berth=$here/bin/berth out=$2
  mkdir -p "$out/host" "$out/cuda"
  "$berth" compile "$1" -o "$out/host.pte" && "$berth" compile "$1" --target cuda:0 -o "$out/cuda.pte" &&
    "$berth" run "$out/host.pte" --output-dir "$out/host" && "$berth" run "$out/cuda.pte" --output-dir "$out/cuda" &&
    compare "$out/host" "$out/cuda" && "$berth" bench "$out/cuda.pte" --iterations 200
}

# compare FOLDER FOLDER: how far each output is from the host's, relative to the host's largest element.
compare() {
  python3 - "$1" "$2" <<'PY'
import glob, os, sys
import numpy as np
worst = 0.0
paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.npy")))
if not paths:
    sys.exit(f"{sys.argv[1]}: the host gave no outputs")
for path in paths:
    a, b = np.load(path), np.load(os.path.join(sys.argv[2], os.path.basename(path)))
    if a.shape != b.shape or a.dtype != b.dtype:
        sys.exit(f"{path}: {a.shape} {a.dtype} on the host, {b.shape} {b.dtype} on the device")
    a, b = a.astype(np.float64), b.astype(np.float64)
    distance = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30)) if a.size else 0.0
    if not distance < 1e-3:
        sys.exit(f"{path}: {distance:.3g} is too far from the host's")
    worst = max(worst, distance)
print(f"worst relative distance {worst:.3g}")
PY
}

check() {
  logs=${OUT:-$here/log}
  work=$(mktemp -d)
  mkdir -p "$logs"
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  if [ -z "${BERTH_CUDA_LIBRARY_PATH:-}" ]; then
    BERTH_CUDA_LIBRARY_PATH=$(python3 -c 'import glob, os, site
files = [p for s in site.getsitepackages() for p in glob.glob(s + "/nvidia/*/lib/libcu*.so*")]
print(":".join(sorted({os.path.dirname(p) for p in files})))' 2>/dev/null)
    export BERTH_CUDA_LIBRARY_PATH
  fi
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
  # Without a GPU every test is skipped, and that is not success here.
  if ! "$here/bin/berth" devices | tee "$logs/devices.log" | grep -qE '^cuda +[1-9]'; then
    grep '^cuda' "$logs/devices.log"
    exit 1
  fi
  step cuda.allocator "$here/bin/test_cuda_allocator"
  step device.cuda "$here/bin/test_device_cuda"
  step device.cuda_threads_often "$here/bin/test_device_cuda" --gtest_filter='*Threads*' --gtest_repeat=200
  step cuda.kernels env "$(sed -n 1p "$here/with_libraries.env")" "$(sed -n 2p "$here/with_libraries.env")" \
    "$here/bin/test_cuda_kernels"
  step cuda.kernels_alone env "$(sed -n 1p "$here/alone.env")" "$(sed -n 2p "$here/alone.env")" \
    "$(sed -n 3p "$here/alone.env")" "$here/bin/test_cuda_kernels"
  local model name
  while IFS= read -r model; do
    name=$(echo "${model%.onnx}" | sed "s|^$here/models/||" | tr / _)
    step "$name" run_model "$model" "$work/$name"
    sed -n -e "s|^worst|$name: worst|p" -e "s|^load|$name: load|p" "$logs/$name.log"
  done < <(find "$here/models" "$@" -name '*.onnx' | sort)
  rm -rf "$work"
  echo
  printf '%s\n' "${rows[@]}" | sort
  [ $failed = 0 ] && echo "all of it passed" || echo "something failed: the logs are in $logs"
  exit $failed
}

case ${1:-both} in
  bundle) shift; [ $# -ge 1 ] || { sed -n 2,14p "${BASH_SOURCE[0]}"; exit 2; }; bundle "$@" ;;
  check) shift; check "$@" ;;
  both) bundle "$here/../build/gpu/bundle" && exec "$here/../build/gpu/bundle/device.sh" check ;;
  *) sed -n 2,14p "${BASH_SOURCE[0]}"; exit 2 ;;
esac
