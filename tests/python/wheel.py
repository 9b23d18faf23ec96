#!/usr/bin/env python3
"""usage: wheel.py [WHEEL]: in an environment that has the package and NumPy alone, whether it works, and the wheel, of
which it was installed, is what it has to be."""

import os
import subprocess
import sys
import tempfile
import zipfile

import berth
import models
import numpy as np

MOST_BYTES = 6_000_000


def main():
    installed = os.path.dirname(os.path.abspath(berth.__file__))
    assert installed.startswith(sys.prefix), installed
    try_package()
    if len(sys.argv) > 1:
        check_wheel(sys.argv[1], installed)


def check_wheel(wheel, installed):
    size = os.path.getsize(wheel)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(archive.read(name).decode() for name in names if name.endswith("METADATA"))
    libraries = [name for name in names if ".so" in name]
    assert len(libraries) == 1, f"one copy of the code, and no other library: {libraries}"
    assert [line for line in metadata.splitlines() if line.startswith("Requires-Dist")] == ["Requires-Dist: numpy>=1.22"]
    licences = {os.path.basename(name) for name in names if "licenses/" in name}
    for of in ("LICENSE", "CLI11.txt", "flatbuffers.txt", "fmt.txt", "highway.txt", "minizip.txt", "nanobind.txt",
               "nlohmann-json.txt", "robin-map.txt"):  # fmt: skip
        assert of in licences, f"the licence {of} is not in the wheel: {sorted(licences)}"
    assert size <= MOST_BYTES, f"{size} bytes, more than {MOST_BYTES}"
    print(f"{os.path.basename(wheel)}: {size / 1e6:.2f} MB, installed {installed_bytes(installed) / 1e6:.2f} MB")


def try_package():
    tool = os.path.join(os.path.dirname(sys.executable), "berth")
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(models.DIGITS, "model.onnx")
        made = os.path.join(folder, "digits.pte")
        subprocess.run([tool, "compile", model, "--target", "cpu", "-o", made], check=True, stdout=subprocess.DEVNULL)
        (y,) = berth.load(made).method("forward", threads=2)(np.load(os.path.join(models.DIGITS, "in0.npy")))
        np.testing.assert_allclose(y, np.load(os.path.join(models.DIGITS, "out0.npy")), rtol=1e-4, atol=1e-5)
        program = berth.compile(model, target="cpu")
        with open(made, "rb") as file:
            assert file.read() == bytes(program), "the tool and the package make different programs"


def installed_bytes(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names
               if not name.endswith(".pyc"))  # fmt: skip


if __name__ == "__main__":
    main()
