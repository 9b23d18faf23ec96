"""Methods called from Python. Possible errors: wrong elements for some type, stride or order; an array that is read
after it was freed, or written though it is read-only; a result that the next run overwrites; arguments that are mixed
up or silently cast; a crash instead of a sentence; memory that grows."""

import gc
import sys
import threading
import unittest

import berth
import numpy as np

import models


def load(model, **options):
    arguments = {key: options.pop(key) for key in ("threads", "copy", "arenas", "name") if key in options}
    return berth.compile(model, **options).method(arguments.pop("name", None), **arguments)


class Elements(unittest.TestCase):
    def test_keeps_every_element_type(self):
        types = {
            "f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
            "i8": np.int8, "u8": np.uint8, "bool": np.bool_, "c64": np.complex64, "c128": np.complex128,
            "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
        }  # fmt: skip
        random = np.random.default_rng(1)
        taken = 0
        for name, dtype in types.items():
            try:
                method = load(models.flipped(name, (3, 5)))
            except berth.NotSupportedError:
                continue
            taken += 1
            bits = random.integers(0, 2, (3, 5)) if dtype is np.bool_ else random.integers(0, 100, (3, 5))
            x = bits.astype(dtype)
            (y,) = method(x)
            self.assertEqual(y.dtype, np.dtype(dtype), name)
            np.testing.assert_array_equal(y, x[:, ::-1], name)
        self.assertGreaterEqual(taken, 9)

    def test_gives_bf16_as_a_tensor_with_its_bits(self):
        method = load(models.flipped("bf16", (4,)))

        class Bits:  # an array by DLPack is bf16 in torch; here NumPy's bits under the name of ml_dtypes
            class dtype:
                name = "bfloat16"

            def view(self, kind):
                assert kind == "uint16"
                return np.array([0x3F80, 0x4000, 0xC040, 0x0000], np.uint16)

        (y,) = method(Bits())
        self.assertIsInstance(y, berth.Tensor)
        self.assertEqual((y.dtype, y.shape), ("bf16", (4,)))
        np.testing.assert_array_equal(y.bits(), np.array([0x0000, 0xC040, 0x4000, 0x3F80], np.uint16))
        np.testing.assert_array_equal(y.float32(), np.array([0, -3, 2, 1], np.float32))
        self.assertEqual(y.__dlpack_device__(), (1, 0))

    def test_takes_numbers_of_4_and_2_bits_as_bytes_and_no_others(self):
        for name, dtype, least, most in (("i4", np.int8, -8, 7), ("i2", np.int8, -2, 1), ("u4", np.uint8, 0, 15)):
            method = load(f"method f(%x: {name}[3]) {{\n%y: f32[3] = aten::_to_copy(%x, false, none, f32)\n"
                          f"%z: {name}[3] = aten::_to_copy(%y, false, none, {name})\nreturn %y, %z\n}}".encode())
            y, z = method(np.array([least, 1, most], dtype))
            np.testing.assert_array_equal(y, np.array([least, 1, most], np.float32), name)
            self.assertEqual((z.dtype, z.tolist()), (np.dtype(dtype), [least, 1, most]), name)
            with self.assertRaisesRegex(ValueError, f"has the element {most + 1}, which is not a number of {name}"):
                method(np.array([0, most + 1, 0], dtype))
            with self.assertRaises(TypeError):
                method(np.zeros(3, np.int16))

    def test_reads_any_strides(self):
        method = load(models.ADD)
        whole = np.arange(24, dtype=np.float32).reshape(4, 6)
        expected = np.arange(6, dtype=np.float32).reshape(2, 3)
        zeros = np.zeros((2, 3), np.float32)
        fortran = np.asfortranarray(expected)
        self.assertFalse(fortran.flags["C_CONTIGUOUS"])
        np.testing.assert_array_equal(method(fortran, zeros)[0], expected)
        np.testing.assert_array_equal(method(whole[::2, ::2], zeros)[0], whole[::2, ::2])
        np.testing.assert_array_equal(method(whole[1::-1, 5:2:-1], zeros)[0], whole[1::-1, 5:2:-1])
        broadcast = np.broadcast_to(np.float32(7), (2, 3))
        np.testing.assert_array_equal(method(zeros, broadcast)[0], broadcast)

    def test_reads_an_unaligned_array_where_the_method_uses_the_callers_memory(self):
        method = load(models.CHAIN, device_io={"x": "cpu", "z": "cpu"})
        raw = np.zeros(4 * 1024 + 1, np.uint8)
        x = raw[1:].view(np.float32)
        self.assertNotEqual(x.ctypes.data % 4, 0)
        x[:] = np.arange(1024)
        np.testing.assert_array_equal(method(x, np.ones(1024, np.float32))[0], 2 * np.arange(1024) + 1)

    def test_takes_no_dimensions_and_no_elements(self):
        scalar = load(b"method forward(%x: f32[]) { %y: f32[] = aten::neg(%x)\n return %y }")
        (y,) = scalar(np.float32(3))
        self.assertEqual((y.shape, float(y)), ((), -3.0))
        self.assertEqual(float(scalar(2)[0]), -2.0)
        empty = load(b"method forward(%x: f32[0,4]) { %y: f32[0,4] = aten::neg(%x)\n return %y }")
        self.assertEqual(empty(np.zeros((0, 4), np.float32))[0].shape, (0, 4))

    def test_agrees_with_a_model_that_onnx_runtime_ran(self):
        for target in ("portable", "cpu", "sim:0"):
            method = load(models.DIGITS + "/model.onnx", target=target, threads=2)
            (y,) = method(np.load(models.DIGITS + "/in0.npy"))
            np.testing.assert_allclose(y, np.load(models.DIGITS + "/out0.npy"), rtol=1e-4, atol=1e-5)


def aligned(size):
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64:][:size]


class Arguments(unittest.TestCase):
    def setUp(self):
        self.method = load(models.ADD)
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.z = np.ones((2, 3), np.float32)

    def refused(self, kind, words, *args, **kwargs):
        with self.assertRaisesRegex(kind, words) as caught:
            self.method(*args, **kwargs)
        self.assertIsInstance(caught.exception, berth.Error)
        return caught.exception

    def test_go_by_position_and_by_name(self):
        expected = self.x + self.z
        for y in (self.method(self.x, self.z), self.method(self.x, z=self.z), self.method(z=self.z, x=self.x)):
            np.testing.assert_array_equal(y[0], expected)

    def test_takes_lists_and_refuses_what_would_lose_something(self):
        np.testing.assert_array_equal(self.method([[1, 2, 3], [4, 5, 6]], self.z)[0], [[2, 3, 4], [5, 6, 7]])
        whole = load(models.flipped("i32", (2,)))
        with self.assertRaisesRegex(TypeError, "takes i32"):
            whole([1.5, 2])
        for dtype, kept, lost in (("i8", [-128, 127], [1, 300]), ("u8", [0, 255], [0, -1]), ("bool", [0, 1], [0, 2]),
                                  ("u64", [2**63, 2**64 - 1], [0, -1]), ("f32", [2**24, -5], [2**24 + 1, 0]),
                                  ("f32", [0.1, float("inf")], [1e300, 0]), ("f16", [65504, 0.1], [65536, 0])):
            flip = load(models.flipped(dtype, (2,)))
            self.assertEqual(flip(kept)[0].tolist(), np.array(kept[::-1]).astype(flip(kept)[0].dtype).tolist(), dtype)
            with self.assertRaisesRegex(ValueError, f"is not a number of {dtype}"):
                flip(lost)

    def test_refuses_another_number_of_arrays(self):
        self.refused(TypeError, "input z: is not given", self.x)
        self.refused(TypeError, "more than it has inputs", self.x, self.z, self.z)
        self.refused(TypeError, "given twice", self.x, self.z, x=self.x)
        self.refused(TypeError, "no input w; there are: x, z", self.x, w=self.z)

    def test_refuses_another_type_or_size(self):
        error = self.refused(TypeError, r"takes f32\[2x3\], was given f64\[2x3\]", self.x.astype(np.float64), self.z)
        self.assertEqual((error.code, error.place), ("InvalidType", "method forward: input x"))
        self.refused(ValueError, r"was given f32\[3x2\]", self.x.T.copy(), self.z)
        self.refused(ValueError, r"was given f32\[6\]", self.x.ravel(), self.z)
        self.refused(ValueError, r"was given f32\[1x3\]", self.x[:1], self.z)
        self.refused(ValueError, r"was given f32\[2000x3\]", np.zeros((2000, 3), np.float32), self.z)

    def test_refuses_what_is_no_array(self):
        self.refused(TypeError, "is a str, not an array", "text", self.z)
        self.refused(TypeError, "is a NoneType", None, self.z)
        self.refused(TypeError, "is a object", object(), self.z)
        self.refused(ValueError, "not an array of numbers", [[1, 2], [3]], self.z)
        self.refused(TypeError, "type that Berth does not have", np.zeros((2, 3), "datetime64[s]"), self.z)
        self.refused(TypeError, "", np.array([["a"]]), self.z)
        self.refused(ValueError, "other order", self.x.astype(">f4"), self.z)
        self.refused(ValueError, "17 dimensions", np.zeros((1,) * 17, np.float32), self.z)

    def test_works_on_after_it_refused(self):
        self.refused(TypeError, "", "text", self.z)
        np.testing.assert_array_equal(self.method(self.x, self.z)[0], self.x + self.z)

    def test_refuses_a_size_out_of_its_range(self):
        method = load(models.DYNAMIC)
        for n in (1, 5, 8):
            self.assertEqual(method(np.ones((n, 3), np.float32))[0].shape, (n, 3))
        with self.assertRaisesRegex(ValueError, r"at most, was given f32\[9x3\]"):
            method(np.ones((9, 3), np.float32))
        with self.assertRaisesRegex(ValueError, r"was given f32\[0x3\]"):
            method(np.ones((0, 3), np.float32))

    def test_refuses_a_method_or_a_number_of_threads_that_there_is_not(self):
        program = berth.compile(models.ADD)
        with self.assertRaisesRegex(ValueError, "no method encode; there are: forward"):
            program.method("encode")
        for threads in (0, -1, 100000):
            with self.assertRaisesRegex(ValueError, "threads"):
                program.method(threads=threads)


class Lifetimes(unittest.TestCase):
    def test_results_outlive_the_next_run_and_the_method(self):
        method = load(models.ADD)
        one = np.ones((2, 3), np.float32)
        (first,) = method(one, one)
        (second,) = method(one * 10, one)
        del method
        gc.collect()
        np.testing.assert_array_equal(first, one * 2)
        np.testing.assert_array_equal(second, one * 11)
        first[0, 0] = 5  # may be written

    def test_results_that_are_written_straight_are_their_own_as_well(self):
        method = load(models.CHAIN, device_io={"x": "cpu", "z": "cpu", "y": "cpu", "n": "cpu"})
        x = np.arange(1024, dtype=np.float32)
        zero = np.zeros(1024, np.float32)
        y1, n1, x1 = method(x, zero)
        y2, n2, x2 = method(x + 1, zero)
        np.testing.assert_array_equal(y1, 2 * x)
        np.testing.assert_array_equal(n2, -2 * (x + 1))
        np.testing.assert_array_equal(x1, x)
        np.testing.assert_array_equal(x2, x + 1)

    def test_a_view_is_of_the_last_run_and_keeps_its_memory(self):
        method = load(models.ADD, copy=False)
        one = np.ones((2, 3), np.float32)
        (view,) = method(one, one)
        np.testing.assert_array_equal(view, one * 2)
        self.assertFalse(view.flags.writeable)
        (again,) = method(one * 4, one)
        self.assertEqual(view.ctypes.data, again.ctypes.data)
        np.testing.assert_array_equal(view, one * 5)
        del method, again
        gc.collect()
        np.testing.assert_array_equal(view, one * 5)

    def test_never_writes_an_input(self):
        for io in ({}, {"x": "cpu", "z": "cpu"}):
            method = load(models.CHAIN, device_io=io)
            x = np.arange(1024, dtype=np.float32)
            x.flags.writeable = False
            y, n, same = method(x, np.ones(1024, np.float32))
            np.testing.assert_array_equal(x, np.arange(1024))
            np.testing.assert_array_equal(same, x)
            np.testing.assert_array_equal(n, -(2 * x + 1))

    def test_the_method_keeps_its_program(self):
        for program in (models.ADD, bytes(berth.compile(models.ADD))):
            method = (berth.compile(program) if program is models.ADD else berth.load(program)).method()
            gc.collect()
            one = np.ones((2, 3), np.float32)
            np.testing.assert_array_equal(method(one, one)[0], one * 2)

    def test_bytes_that_may_change_are_copied(self):
        program = bytearray(bytes(berth.compile(models.ADD)))
        loaded = berth.load(program)
        program[:] = b"\0" * len(program)
        one = np.ones((2, 3), np.float32)
        np.testing.assert_array_equal(loaded.method()(one, one)[0], one * 2)


class Bound(unittest.TestCase):
    def check(self, **options):
        method = load(models.CHAIN, **options)
        x = np.arange(1024, dtype=np.float32)
        y = np.empty(1024, np.float32)
        method.bind(inputs={"x": x}, outputs={"y": y})
        for k in range(3):
            x += k
            results = method(np.full(1024, k, np.float32))
            self.assertIsNone(results[0])
            np.testing.assert_array_equal(y, np.maximum(2 * x + k, 0))
            np.testing.assert_array_equal(results[1], -(2 * x + k))
        method.bind(outputs={"y": None}, inputs={"x": None})
        kept = y.copy()
        results = method(x, x)
        np.testing.assert_array_equal(results[0], 3 * x)
        np.testing.assert_array_equal(y, kept)

    def test_arrays_are_read_and_written_in_each_run(self):
        self.check()

    def test_so_they_are_in_the_callers_memory(self):
        self.check(device_io={"x": "cpu", "y": "cpu"})
        self.check(device_io={"x": "cpu", "z": "cpu", "y": "cpu", "n": "cpu"})

    def test_writes_to_any_strides(self):
        for io in ({}, {"y": "cpu"}):
            method = load(models.CHAIN, device_io=io)
            room = np.zeros(2048, np.float32)
            method.bind(outputs={"y": room[::2]})
            method(np.ones(1024, np.float32), np.ones(1024, np.float32))
            np.testing.assert_array_equal(room[::2], np.full(1024, 3))
            np.testing.assert_array_equal(room[1::2], np.zeros(1024))

    def test_refuses_what_does_not_fit(self):
        method = load(models.CHAIN)
        read_only = np.zeros(1024, np.float32)
        read_only.flags.writeable = False
        for array, kind, words in (
            (read_only, ValueError, "read-only"),
            (np.zeros(1024), TypeError, "was given f64"),
            (np.zeros(1023, np.float32), ValueError, r"was given f32\[1023\]"),
            ("text", TypeError, "not an array"),
        ):
            with self.assertRaisesRegex(kind, words):
                method.bind(outputs={"y": array})
        with self.assertRaisesRegex(TypeError, "no output q"):
            method.bind(outputs={"q": read_only})
        with self.assertRaisesRegex(TypeError, "no input q"):
            method.bind(inputs={"q": read_only})
        with self.assertRaisesRegex(TypeError, "was given f64"):
            method.bind(inputs={"x": np.zeros(1024)})

    def test_bound_memory_outlives_its_array(self):
        method = load(models.CHAIN, device_io={"x": "cpu", "y": "cpu"})
        method.bind(inputs={"x": np.full(1024, 3, np.float32)}, outputs={"y": np.empty(1024, np.float32)})
        gc.collect()
        for _ in range(10):
            n = method(np.ones(1024, np.float32))[1]
            np.testing.assert_array_equal(n, np.full(1024, -7))


class Memory(unittest.TestCase):
    def test_arenas_are_the_callers(self):
        program = berth.compile(models.CHAIN)
        (arena,) = program.arenas
        memory = np.zeros(arena["bytes"] + 64, np.uint8)
        start = -memory.ctypes.data % 64
        memory = memory[start : start + arena["bytes"]]
        method = program.method(arenas=[memory])
        x = np.ones(1024, np.float32)
        np.testing.assert_array_equal(method(x, x)[0], 3 * x)
        self.assertTrue(memory.any())

    def test_refuses_arenas_that_do_not_do(self):
        program = berth.compile(models.CHAIN)
        (arena,) = program.arenas
        with self.assertRaisesRegex(ValueError, f"arena 1: needs {arena['bytes']} bytes, was given 16"):
            program.method(arenas=[np.zeros(16, np.uint8)])
        with self.assertRaisesRegex(ValueError, "read-only"):
            program.method(arenas=[bytes(arena["bytes"])])
        with self.assertRaisesRegex(ValueError, "multiple of"):
            program.method(arenas=[np.zeros(arena["bytes"] + 16, np.uint8)[1:]])

    def test_methods_share_state_in_shared_arenas(self):
        program = berth.compile(models.COUNTER)
        arenas = program.shared_arenas()
        push, look = (program.method(name, arenas=arenas) for name in ("push", "look"))
        ones = np.ones(4, np.float32)
        for k in (1, 2, 3):
            np.testing.assert_array_equal(push(ones)[0], ones * k)
            np.testing.assert_array_equal(look()[0], -ones * k)

    def test_a_view_of_bf16_is_a_tensor(self):
        text = b"method f(%x: bf16[4]) {\n%y: bf16[4] = aten::neg(%x)\nreturn %y\n}"
        bits = np.array([0x3F80, 0x4000, 0xC040, 0x0000], np.uint16)

        class Bits:
            class dtype:
                name = "bfloat16"

            def view(self, kind):
                return bits

        for copy in (True, False):
            (y,) = berth.compile(text).method(copy=copy)(Bits())
            self.assertIsInstance(y, berth.Tensor)
            self.assertEqual((y.dtype, y.shape), ("bf16", (4,)))
            np.testing.assert_array_equal(y.bits(), bits ^ 0x8000)
            np.testing.assert_array_equal(y.float32(), np.array([-1, -2, 3, 0], np.float32))
            self.assertEqual(y.bits().flags.writeable, copy)

    def test_a_method_that_is_loaded_late_does_not_set_the_others_back(self):
        program = berth.compile(models.COUNTER)
        arenas = program.shared_arenas()
        push = program.method("push", arenas=arenas)
        push(np.ones(4, np.float32))
        with self.assertRaisesRegex(berth.Error, "loaded before the first runs"):
            program.method("look", arenas=arenas)
        np.testing.assert_array_equal(push(np.ones(4, np.float32))[0], np.full(4, 2))

    def test_methods_in_the_same_memory_wait_for_each_other(self):
        # So large that a run lasts: two threads would lose what the other adds.
        size, calls = 1 << 18, 200
        program = berth.compile(models.COUNTER.replace(b"f32[4]", b"f32[%d]" % size))
        given = [aligned(arena["bytes"]) for arena in program.arenas if arena["method"] == "push"]
        ones = np.ones(size, np.float32)
        for arenas in (program.shared_arenas(), given):
            both = [program.method("push", arenas=arenas) for _ in range(2)]
            threads = [threading.Thread(target=lambda m=m: [m(ones) for _ in range(calls)]) for m in both]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            np.testing.assert_array_equal(both[0](np.zeros(size, np.float32))[0], np.full(size, 2 * calls))

    def test_refuses_arenas_that_lie_in_each_other(self):
        program = berth.compile(models.COUNTER)
        memory = aligned(max(arena["bytes"] for arena in program.arenas))
        with self.assertRaisesRegex(ValueError, "arena 2: has memory that arena 1 has, too"):
            program.method("push", arenas=[memory, memory])

    def test_states_are_saved_and_set_again(self):
        program = berth.compile(models.COUNTER)
        push = program.method("push")
        shape = {"name": "sum", "dtype": "f32", "shape": [4], "device": "cpu"}
        self.assertEqual(push.states, [shape])
        push(np.array([1, 2, 3, 4], np.float32))
        saved = push.get_state()
        np.testing.assert_array_equal(saved["sum"], [1, 2, 3, 4])
        push(np.ones(4, np.float32))
        np.testing.assert_array_equal(saved["sum"], [1, 2, 3, 4], "an array of its own")
        other = program.method("push")
        other.set_state(saved)
        np.testing.assert_array_equal(other(np.ones(4, np.float32))[0], [2, 3, 4, 5])
        other.set_state({"sum": np.arange(8, dtype=np.float32)[::2]})
        np.testing.assert_array_equal(other.get_state()["sum"], [0, 2, 4, 6])
        other.set_state({})
        np.testing.assert_array_equal(other.get_state()["sum"], [0, 2, 4, 6])
        self.assertEqual(load(models.ADD).get_state(), {})

    def test_states_on_a_device_in_another_order_and_on_the_host_are_alike(self):
        model = b"""
        state @seen: f32[1,2,3,4]
        method forward(%x: f32[1,2,3,4]) {
          %old: f32[1,2,3,4] = berth::state_read() @seen
          %new: f32[1,2,3,4] = aten::add.Tensor(%old, %x)
          berth::state_write(%new) @seen
          return %new
        }
        """
        x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
        for target in ("portable", "cpu", "sim:0"):
            method = load(model, target=target)
            method(x)
            saved = method.get_state()
            np.testing.assert_array_equal(saved["seen"], x, target)
            method(x)
            method.set_state(saved)
            np.testing.assert_array_equal(method(x)[0], 2 * x, target)

    def test_refuses_states_that_do_not_fit_and_changes_nothing(self):
        model = models.COUNTER.replace(b"state @sum: f32[4]", b"state @sum: f32[4]\nstate @more: f32[4]").replace(
            b"berth::state_write(%new) @sum", b"berth::state_write(%new) @sum\nberth::state_write(%new) @more")
        push = berth.compile(model).method("push")
        ones = np.ones(4, np.float32)
        push(ones)
        for kind, words, states in (
            (ValueError, r"state sum: is f32\[4\], was given f32\[5\]", {"more": ones * 7, "sum": np.ones(5, np.float32)}),
            (TypeError, r"state sum: is f32\[4\], was given f64\[4\]", {"more": ones * 7, "sum": np.ones(4)}),
            (ValueError, "has no state none; there are: ", {"more": ones * 7, "none": ones}),
        ):
            with self.assertRaisesRegex(kind, words):
                push.set_state(states)
            self.assertTrue(all((state == 1).all() for state in push.get_state().values()), words)

    def test_arenas_need_what_the_shapes_need(self):
        program = berth.compile(models.DYNAMIC)
        method = program.method()
        (most,) = method.planned_bytes()
        self.assertEqual(most, program.arenas[0]["bytes"])
        (few,) = method.planned_bytes({"x": (2, 3)})
        self.assertLess(few, most / 3)
        self.assertEqual(method.planned_bytes({"x": [None, 3]}), [most])
        self.assertEqual(method.planned_bytes({"x": [np.int64(2), 3]}), [few])
        memory = np.zeros(few + 64, np.uint8)
        memory = memory[-memory.ctypes.data % 64 :][:few]
        small = program.method(arenas=[memory])
        x = np.ones((2, 3), np.float32)
        np.testing.assert_array_equal(small(x)[0], x)
        with self.assertRaisesRegex(MemoryError, "n up to 2 fits"):
            small(np.ones((3, 3), np.float32))
        for kind, words, shapes in (
            (ValueError, "is between 1 and 8, found 9", {"x": (9, 3)}),
            (ValueError, "no size -1", {"x": (-1, 3)}),
            (ValueError, "dimensions", {"x": (2,)}),
            (TypeError, "expected a shape such as", {"x": "2x3"}),
            (TypeError, "integers or None", {"x": (2.5, 3)}),
            (TypeError, "no input y; there are: x", {"y": (2, 3)}),
        ):
            with self.assertRaisesRegex(kind, words):
                method.planned_bytes(shapes)

    def test_100000_calls_leave_resident_memory_flat(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        method = load(models.ADD)
        x = np.ones((2, 3), np.float32)
        strided = np.asfortranarray(x)

        def calls(count):
            for _ in range(count):
                method(x, z=strided)
            for _ in range(count // 100):
                try:
                    method(x)
                except TypeError:
                    pass

        calls(5000)
        before = resident()
        calls(100000)
        gc.collect()
        self.assertLess(resident() - before, 512 * 1024)

    def test_references_are_given_back(self):
        method = load(models.ADD)
        x = np.ones((2, 3), np.float32)
        z = np.ones((2, 3), np.float32)
        before = sys.getrefcount(x)
        for _ in range(100):
            method(x, z)
            self.assertRaises(TypeError, method, x)
        self.assertEqual(sys.getrefcount(x), before)


class Threads(unittest.TestCase):
    def test_two_threads_take_turns_on_one_method(self):
        method = load(models.CHAIN, threads=2)
        failures = []

        def work(k):
            x = np.full(1024, k, np.float32)
            for _ in range(300):
                y, n, same = method(x, x)
                if not (y == 3 * k).all() or not (n == -3 * k).all() or not (same == k).all():
                    failures.append(k)

        workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failures, [])

    def test_methods_of_one_program_run_side_by_side(self):
        program = berth.compile(models.DIGITS + "/model.onnx", target="cpu")
        x = np.load(models.DIGITS + "/in0.npy")
        expected = np.load(models.DIGITS + "/out0.npy")
        failures = []

        def work():
            method = program.method(threads=2)
            for _ in range(50):
                if not np.allclose(method(x)[0], expected, rtol=1e-4, atol=1e-5):
                    failures.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failures, [])

    def test_a_call_inside_a_call_on_one_thread_is_refused(self):
        method = load(models.ADD)
        one = np.ones((2, 3), np.float32)
        seen = []

        class Lazy:
            # Asked for its elements before the method's turn begins, so that the call inside has a turn of its own.
            def __dlpack__(self, *args, **kwargs):
                seen.append(method(one, one)[0])
                return one.__dlpack__(*args, **kwargs)

            def __dlpack_device__(self):
                return one.__dlpack_device__()

        np.testing.assert_array_equal(method(Lazy(), one)[0], one * 2)
        np.testing.assert_array_equal(seen[0], one * 2)


class Profiles(unittest.TestCase):
    def test_have_every_instruction(self):
        method = load(models.DIGITS + "/model.onnx", target="cpu")
        profile = method.profile(np.load(models.DIGITS + "/in0.npy"), runs=3)
        self.assertEqual(len(profile.runs), 3)
        outer = [row for row in profile.instructions if row["depth"] == 0]
        inner = [row for row in profile.instructions if row["depth"] == 1]
        self.assertEqual([row["name"] for row in outer], ["berth.cpu"])
        self.assertGreater(len(inner), 2)
        self.assertLessEqual(sum(row["ns"] for row in inner), 1.5 * sum(row["ns"] for row in outer) + 1e5)
        events = profile.trace()["traceEvents"]
        self.assertEqual(len(events), 3 * (len(outer) + len(inner)))
        self.assertIn("berth.cpu", repr(profile))


if __name__ == "__main__":
    unittest.main()
