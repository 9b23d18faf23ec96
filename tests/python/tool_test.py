"""The command `berth` of the package, which is the tool inside the extension. Possible errors: other exit codes or
texts than the tool's; Ctrl-C that does not end it; a traceback; an import that takes long or brings what is not
needed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import berth

import models


def berth_command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "berth", *arguments], capture_output=True, text=True, timeout=120, **options
    )


class Command(unittest.TestCase):
    def test_compiles_and_runs_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            made = berth_command("compile", models.DIGITS + "/model.onnx", "-o", folder + "/digits.pte")
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            ran = berth_command("run", folder + "/digits.pte", "--input", models.DIGITS + "/in0.npy", "--top", "1")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn("out0", ran.stdout)

    def test_has_the_tools_exit_codes_and_no_traceback(self):
        for arguments, code in ((["--version"], 0), ([], 2), (["fly"], 2), (["verify", "/there/is/none"], 2)):
            done = berth_command(*arguments)
            self.assertEqual(done.returncode, code, arguments)
            self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(berth_command("--version").stdout, f"berth {berth.__version__}\n")

    def test_ctrl_c_ends_it(self):
        program = os.path.join(tempfile.mkdtemp(), "digits.pte")
        berth.compile(models.DIGITS + "/model.onnx").save(program)
        running = subprocess.Popen(
            [sys.executable, "-m", "berth", "bench", program, "--iterations", "10000000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(1)
        self.assertIsNone(running.poll())
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(20), -signal.SIGINT)


class Import(unittest.TestCase):
    def test_brings_little(self):
        script = "import sys; before = set(sys.modules); import berth; print(*sorted(set(sys.modules) - before))"
        loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual([n for n in loaded if not n.startswith("berth") and n not in ("__future__", "atexit")], [])


if __name__ == "__main__":
    unittest.main()
