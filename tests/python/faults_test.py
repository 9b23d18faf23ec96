"""Each allocation of C++ fails once, in calls from Python. The fears: the process ends, memory is lost, and what was
there before does not work any more. Needs failing_new.cc preloaded."""

import ctypes
import gc
import os
import tempfile
import unittest

import models
import numpy as np

import berth

LIBRARY = ctypes.CDLL(None)
STRIDE = 29  # of the thousands of a compilation


class Faults(unittest.TestCase):
    def setUp(self):
        self.assertTrue(hasattr(LIBRARY, "berth_fail_new"), "failing_new.cc is not preloaded")
        LIBRARY.berth_fail_new.argtypes = [ctypes.c_long]
        LIBRARY.berth_live_blocks.restype = ctypes.c_long
        self.program = berth.compile(models.CHAIN, target="cpu")
        self.method = self.program.method("forward")
        self.inputs = [np.arange(-512, 512, dtype=np.float32), np.ones(1024, np.float32)]
        self.want = [np.array(y) for y in self.method(*self.inputs)]

    def fail_each(self, call, stride=1):
        call()
        call()
        n = 0
        while True:
            gc.collect()
            before = LIBRARY.berth_live_blocks()
            LIBRARY.berth_fail_new(n)
            error = None
            try:
                call()
            except (MemoryError, berth.Error) as caught:
                error = str(caught)
                del caught
            finally:
                failed = LIBRARY.berth_has_failed()
            if not failed:
                break
            gc.collect()
            self.assertLessEqual(LIBRARY.berth_live_blocks(), before, f"allocation {n} failed: {error}")
            n += stride
        self.assertIsNone(error)
        self.assertGreater(n, 0)
        for y, want in zip(self.method(*self.inputs), self.want):
            np.testing.assert_array_equal(y, want)

    def test_a_load_that_fails_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a_name_that_is_longer_than_what_a_text_holds_in_place.pte")
            self.program.save(path)
            self.fail_each(lambda: berth.load(path))

    def test_a_method_that_fails_to_load_is_an_error(self):
        self.fail_each(lambda: self.program.method("forward"))

    def test_a_run_that_fails_is_an_error(self):
        self.fail_each(lambda: self.method(*self.inputs))

    def test_a_compilation_that_fails_is_an_error(self):
        for target in ("portable", "cpu", "sim:0"):
            with self.subTest(target):
                self.fail_each(lambda target=target: berth.compile(models.CHAIN, target=target), STRIDE)


if __name__ == "__main__":
    unittest.main()
