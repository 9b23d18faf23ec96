"""Operators written in Python. Possible errors: arguments that are mixed up or of another kind than the schema says; a
result that is written over what is still to be read; a wrong result that is written behind the end of its memory; an
exception that is lost; an array over the program's memory that outlives the call; a crash instead of a sentence."""

import gc
import os
import subprocess
import sys
import threading
import traceback
import unittest

import berth
import numpy as np


def gain(x, factor):
    return x * np.float32(factor)


GAIN = berth.Operator("my::gain", "Tensor self, float factor=1 -> Tensor out", infer=lambda x, factor: x, compute=gain, in_place="self")

GAIN_MODEL = b"""
method forward(%x: f32[4]) {
  %a: f32[4] = aten::neg(%x)
  %b: f32[4] = my::gain(%a, 2.5)
  %y: f32[4] = my::gain(%b, 0.5)
  return %y
}
"""
X = np.array([1, -2, 3, 4], np.float32)


def with_kernel(compute, infer=lambda x, factor: x, schema="Tensor self, float factor=1 -> Tensor out", **options):
    """A method of GAIN_MODEL with this kernel."""
    plugin = berth.Plugin(berth.Operator("my::gain", schema, infer=infer, compute=compute, **options))
    return berth.compile(GAIN_MODEL, plugins=plugin).method()


class Operators(unittest.TestCase):
    def test_are_computed_by_their_functions(self):
        plugin = berth.Plugin(GAIN)
        program = berth.compile(GAIN_MODEL, plugins=[plugin])
        self.assertEqual(program.methods[0]["operators"], {"aten::neg.out": 1, "my::gain.out": 2})
        np.testing.assert_array_equal(program.method()(X)[0], -X * 1.25)
        again = berth.load(bytes(program), plugins=plugin).method()
        np.testing.assert_array_equal(again(X)[0], -X * 1.25)
        self.assertTrue(berth.verify(program, plugins=plugin)["sound"])
        with self.assertRaisesRegex(berth.NotSupportedError, "my::gain.out"):
            berth.load(bytes(program)).method()

    def test_get_their_arguments_in_the_order_and_the_kinds_of_the_schema(self):
        seen = []

        def compute(*arguments):
            self.assertEqual([part.tolist() for part in arguments[2]], [[0, 1, 2], [5, 6, 7]])
            seen.append((None, arguments[1], None, *arguments[3:]))
            return arguments[0].copy()

        def infer(*arguments):
            seen.append(arguments)
            return arguments[0]

        schema = (
            "Tensor self, Tensor? mask, Tensor[] parts, int count, int[] dims, float scale, bool flag, bool[] flags, "
            "float[] weights, str mode, ScalarType dtype, int[] none=[], float last=7 -> Tensor out"
        )
        plugin = berth.Plugin(berth.Operator("my::all", schema, infer=infer, compute=compute))
        model = b"""
method forward(%x: f32[2], %p: i64[3], %q: i64[3]) {
  %y: f32[2] = my::all(%x, none, [%p, %q], 3, [4, 5], 0.5, true, [false, true], [1.5, 2.5], "slow, (x", i64)
  return %y
}
"""
        method = berth.compile(model, plugins=plugin).method()
        infer_arguments = seen[0]
        del seen[:]
        p, q = np.arange(3), np.arange(3) + 5
        (y,) = method([1, 2], p, q)
        self.assertEqual(y.tolist(), [1, 2])
        for arguments in (infer_arguments, seen[0]):
            self.assertEqual(arguments[1], None)
            self.assertEqual(arguments[3:], (3, [4, 5], 0.5, True, [False, True], [1.5, 2.5], "slow, (x", "i64", [], 7.0))
            self.assertIs(type(arguments[6]), bool)
        self.assertEqual([(v.dtype, v.shape) for v in infer_arguments[2]], [("i64", (3,))] * 2)

    def test_work_on_sizes_that_are_known_at_run_time(self):
        def infer(x, y):
            n, m = x.shape
            self.assertEqual(n, y.shape[0])
            self.assertNotEqual(n, y.shape[1])
            return [(x.dtype, (n + 1, m)), ("i64", (2 * n * y.shape[1], n // 2)), ("f32", (n - 1, 3))]

        def compute(x, y):
            n, m = x.shape
            return (
                np.vstack([x, x.sum(0, keepdims=True)]),
                np.full((2 * n * y.shape[1], n // 2), n),
                np.ones((n - 1, 3), np.float32),
            )

        plugin = berth.Plugin(
            berth.Operator("my::grow", "Tensor x, Tensor y -> Tensor a, Tensor b, Tensor c", infer=infer, compute=compute)
        )
        model = b"""
symbol n in [1, 8]
symbol k in [1, 3]
method forward(%x: f32[n,3], %y: f32[n,k]) {
  %a: f32[(n + 1),3], %b: i64[((n * 2) * k),floordiv(n, 2)], %c: f32[(n + -1),3] = my::grow(%x, %y)
  return %a, %b, %c
}
"""
        try:
            program = berth.compile(model, plugins=plugin)
        except berth.Error as error:
            self.fail(str(error))
        method = program.method()
        for n, k in ((1, 1), (8, 3), (5, 2), (8, 1)):
            x = np.random.default_rng(n).random((n, 3), np.float32)
            a, b, c = method(x, np.zeros((n, k), np.float32))
            np.testing.assert_array_equal(a, np.vstack([x, x.sum(0, keepdims=True)]))
            self.assertEqual((b.shape, c.shape), ((2 * n * k, n // 2), (n - 1, 3)))
            self.assertTrue((b == n).all() and (c == 1).all())

    def test_are_as_long_as_the_contents_make_them(self):
        def infer(x, least):
            count = berth.Size.by_contents(x, x.shape[0])
            return [(x.dtype, (count, x.shape[1])), ("i64", (count,))]

        def compute(x, least):
            rows = np.nonzero(x[:, 0] >= least)[0]
            return x[rows], rows

        schema = "Tensor x, float least -> Tensor rows, Tensor places"
        plugin = berth.Plugin(berth.Operator("my::filter", schema, infer=infer, compute=compute, sized_by_contents=True))
        model = b"""
symbol n in [1, 8]
symbol p in [0, 8]
symbol q in [0, 8]
method forward(%x: f32[n,2]) {
  %a: f32[p,2], %i: i64[p] = my::filter(%x, 0.5)
  %b: f32[q,2], %j: i64[q] = my::filter(%x, 0.8)
  %c: f32[p,2] = aten::neg(%a)
  %d: f32[p,2] = aten::mul.Tensor(%c, %a)
  %e: f32[(p + q),2] = aten::cat([%d, %b])
  return %e, %i, %j
}
"""
        programs = [berth.compile(model, plugins=plugin, planner=planner) for planner in ("best", "naive")]
        programs.append(berth.compile(bytes(programs[0]), plugins=plugin))
        for program in programs:
            method = program.method()
            for seed in range(12):
                x = np.random.default_rng(seed).random((1 + seed % 8, 2), np.float32)
                e, i, j = method(x)
                a, b = x[x[:, 0] >= 0.5], x[x[:, 0] >= 0.8]
                np.testing.assert_array_equal(e, np.vstack([-a * a, b]))
                np.testing.assert_array_equal(i, np.nonzero(x[:, 0] >= 0.5)[0])
                np.testing.assert_array_equal(j, np.nonzero(x[:, 0] >= 0.8)[0])

    def test_see_constants_while_compiling(self):
        rows = []

        def infer(x, table):
            rows.append(table.constant)
            self.assertIsNone(x.constant)
            return "f32", (int(table.constant[0, 1]),)

        plugin = berth.Plugin(
            berth.Operator("my::count", "Tensor x, Tensor table -> Tensor out", infer=infer,
                           compute=lambda x, table: np.repeat(x[:1], table[0, 1]))  # fmt: skip
        )
        model = b"""
const @t: i64[2,2] = dense<[1, 3, 5, 7]>
method forward(%x: f32[2]) {
  %t: i64[2,2] = const @t
  %y: f32[3] = my::count(%x, %t)
  return %y
}
"""
        (y,) = berth.compile(model, plugins=plugin).method()([2, 4])
        self.assertEqual((y.tolist(), rows[0].tolist()), ([2, 2, 2], [[1, 3], [5, 7]]))

    def test_keep_every_element_type(self):
        plugin = berth.Plugin(berth.Operator("my::turn", "Tensor x -> Tensor out", infer=lambda x: x, compute=lambda x: x[::-1]))
        for name, dtype in {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i8": np.int8,
                            "u16": np.uint16, "u64": np.uint64, "bool": np.bool_, "c64": np.complex64}.items():  # fmt: skip
            model = f"method forward(%x: {name}[3]) {{\n%y: {name}[3] = my::turn(%x)\nreturn %y\n}}".encode()
            x = np.array([1, 0, 1], dtype) if name == "bool" else np.array([1, 2, 3], dtype)
            (y,) = berth.compile(model, plugins=plugin).method()(x)
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(y, x[::-1], name)

    def test_may_give_what_lies_where_it_is_written(self):
        # In place, the result's memory is the argument's: one that is turned would be overwritten while it is copied.
        method = with_kernel(lambda x, factor: x[::-1], in_place=["self"])
        np.testing.assert_array_equal(method(X)[0], -X)
        np.testing.assert_array_equal(with_kernel(lambda x, factor: x, in_place="self")(X)[0], -X)
        swap = berth.Operator("my::swap", "Tensor a, Tensor b -> Tensor c, Tensor d", infer=lambda a, b: [b, a],
                              compute=lambda a, b: (b, a), in_place=["a", "b"])  # fmt: skip
        model = b"""
method forward(%x: f32[3], %z: f32[3]) {
  %a: f32[3] = aten::neg(%x)
  %b: f32[3] = aten::neg(%z)
  %c: f32[3], %d: f32[3] = my::swap(%a, %b)
  return %c, %d
}
"""
        c, d = berth.compile(model, plugins=berth.Plugin(swap)).method()([1, 2, 3], [4, 5, 6])
        self.assertEqual((c.tolist(), d.tolist()), ([-4, -5, -6], [-1, -2, -3]))

    def test_give_arrays_of_any_strides(self):
        wide = np.arange(8, dtype=np.float32)
        np.testing.assert_array_equal(with_kernel(lambda x, factor: wide[::2])(X)[0], wide[::2])
        np.testing.assert_array_equal(with_kernel(lambda x, factor: wide[::-2])(X)[0], wide[::-2])
        np.testing.assert_array_equal(with_kernel(lambda x, factor: np.broadcast_to(x[:1], 4))(X)[0], [-1] * 4)
        np.testing.assert_array_equal(with_kernel(lambda x, factor: [1, 2, 3, 4])(X)[0], [1, 2, 3, 4])

    def test_with_effects_are_all_called_in_order(self):
        calls = []
        log = berth.Operator("my::log", "Tensor x, int id -> Tensor out", infer=lambda x, id: x,
                             compute=lambda x, id: calls.append(id) or x, has_effects=True)  # fmt: skip
        model = b"""
method forward(%x: f32[2]) {
  %a: f32[2] = my::log(%x, 1)
  %b: f32[2] = my::log(%x, 2)
  %c: f32[2] = my::log(%x, 2)
  return %a
}
"""
        berth.compile(model, plugins=berth.Plugin(log)).method()([1, 2])
        self.assertEqual(calls, [1, 2, 2])

    def test_random_chains_give_numpys_numbers_in_each_plan(self):
        blend = berth.Operator("my::blend", "Tensor[] parts, Tensor? more=None -> Tensor out", infer=lambda parts, more: parts[0],
                               compute=lambda parts, more: sum(parts) + (0 if more is None else 2 * more), in_place=["parts", "more"])  # fmt: skip
        plugin = berth.Plugin(GAIN, blend)
        seed = int(os.environ.get("BERTH_SEED", "1"))
        random = np.random.default_rng(seed)
        for graph in range(20):
            lines, values = [], {"x": X, "z": X[::-1].copy()}
            for step in range(int(random.integers(2, 12))):
                names = [str(name) for name in random.choice(list(values), 3)]
                a, b, c = (values[name] for name in names)
                kind = int(random.integers(4))
                factor = float(random.choice([0.5, -1, 2]))
                name = f"v{step}"
                text, value = [
                    (f"my::gain(%{names[0]}, {factor:.1f})", a * np.float32(factor)),
                    (f"my::blend([%{names[0]}, %{names[1]}], %{names[2]})", a + b + 2 * c),
                    (f"my::blend([%{names[0]}])", a),
                    (f"aten::neg(%{names[0]})", -a),
                ][kind]
                lines.append(f"%{name}: f32[4] = {text}")
                values[name] = value.astype(np.float32)
            outputs = [str(name) for name in random.choice(list(values)[2:], min(3, len(values) - 2), replace=False)]
            model = "method forward(%x: f32[4], %z: f32[4]) {\n" + "\n".join(lines) + "\nreturn " + ", ".join("%" + n for n in outputs) + "\n}"
            for planner in ("best", "naive"):
                got = berth.compile(model.encode(), plugins=plugin, planner=planner).method()(values["x"], values["z"])
                for name, array in zip(outputs, got):
                    np.testing.assert_array_equal(array, values[name], f"seed {seed}, graph {graph}, {planner}, %{name}:\n{model}")


class Failures(unittest.TestCase):
    def expect(self, kind, text, call):
        with self.assertRaisesRegex(kind, text) as caught:
            call()
        return caught.exception

    def test_refuse_results_that_the_program_has_no_room_for(self):
        for compute, text in (
            (lambda x, f: x.astype(np.float64), r"result 0: is f32 of 1 dimensions, and the kernel gave f64\[4\]"),
            (lambda x, f: np.zeros((2, 2), np.float32), r"and the kernel gave f32\[2x2\]"),
            (lambda x, f: np.zeros(5, np.float32), "has room for 16 bytes, and the kernel gave f32.5."),
            (lambda x, f: np.zeros(3, np.float32), "sizes that it cannot have"),
            (lambda x, f: None, "is a NoneType, not an array"),
            (lambda x, f: "text", "is a str, not an array"),
            (lambda x, f: x.astype(">f4"), "bytes in the other order"),
        ):  # fmt: skip
            method = with_kernel(compute)
            self.expect(berth.Error, text, lambda: method(X))
        pair = berth.Operator("my::two", "Tensor x -> Tensor a, Tensor b", infer=lambda x: [x, x], compute=lambda x: [x])
        model = b"method forward(%x: f32[2]) {\n%a: f32[2], %b: f32[2] = my::two(%x)\nreturn %a, %b\n}"
        method = berth.compile(model, plugins=berth.Plugin(pair)).method()
        self.expect(ValueError, "expected a tuple of 2 arrays", lambda: method([1, 2]))

    def test_an_exception_of_the_kernel_is_the_cause(self):
        def compute(x, factor):
            if x[0] > 0:
                raise ZeroDivisionError("no gain")
            return x

        method = with_kernel(compute)
        error = self.expect(berth.FailedError, "ZeroDivisionError: no gain", lambda: method(-X))
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        self.assertIn("in compute", "".join(traceback.format_tb(error.__cause__.__traceback__)))
        np.testing.assert_array_equal(method(X)[0], -X)  # and it can be called again
        for kind, expected in ((ValueError, ValueError), (MemoryError, MemoryError), (NotImplementedError, NotImplementedError)):

            def fails(x, factor, kind=kind):
                raise kind("too bad")

            self.expect(expected, f"{kind.__name__}: too bad", lambda: with_kernel(fails)(X))

    def test_an_interruption_stays_one(self):
        def interrupted(x, factor):
            raise KeyboardInterrupt

        method = with_kernel(interrupted)
        with self.assertRaises(KeyboardInterrupt):
            method(X)
        with self.assertRaises(KeyboardInterrupt):
            with_kernel(gain, infer=interrupted)

    def test_a_rule_that_fails_names_the_node(self):
        def infer(x, factor):
            raise TypeError("takes f64")

        error = self.expect(ValueError, "TypeError: takes f64", lambda: with_kernel(gain, infer=infer))
        self.assertIsInstance(error.__cause__, TypeError)
        self.assertIn(":4", error.place)
        for rule, text in (
            (lambda x, f: ("f31", (4,)), "element type 'f31'"),
            (lambda x, f: ("f32", (-4,)), "which cannot be"),
            (lambda x, f: ("f32", (1 << 61,)), "which cannot be"),
            (lambda x, f: None, "TypeError"),
            (lambda x, f: ("f32", 4), "TypeError"),
            (lambda x, f: [x, x], "2 results"),
            (lambda x, f: "f32", "ValueError"),
            (lambda x: x, "TypeError"),
        ):  # fmt: skip
            self.expect(berth.Error, text, lambda: with_kernel(gain, infer=rule))

    def test_a_size_by_contents_is_a_first_dimension_and_within_its_bound(self):
        contents = berth.Size.by_contents

        def compiled(infer, compute=lambda x, factor: x, **options):
            model = GAIN_MODEL.replace(b"method", b"symbol p in [0, 4]\nmethod").replace(b"%b: f32[4]", b"%b: f32[p]")
            model = model.replace(b"%y: f32[4] = my::gain(%b, 0.5)", b"%y: f32[p] = aten::neg(%b)")
            op = berth.Operator("my::gain", GAIN.schema, infer=infer, compute=compute, **options)
            return berth.compile(model, plugins=berth.Plugin(op))

        by_contents = {"sized_by_contents": True}
        short = compiled(lambda x, f: ("f32", (contents(x, 4),)), lambda x, f: x[:3], **by_contents).method()
        self.assertEqual(short(X)[0].tolist(), [1, -2, 3])
        long = compiled(lambda x, f: ("f32", (contents(x, 4),)), lambda x, f: np.zeros(5, np.float32), **by_contents).method()
        self.expect(berth.Error, "has room for 16 bytes", lambda: long(X))
        for rule, text, options in (
            (lambda x, f: ("f32", (contents(x, 4),)), "does not say that it has one", {}),
            (lambda x, f: ("f32", (contents(x, 4) + 1,)), "a size by contents in dimension 0", by_contents),
            (lambda x, f: ("f32", (4, contents(x, 4))), "a size by contents in dimension 1", by_contents),
            (lambda x, f: ("f32", (contents(x, -1),)), "at most -1", by_contents),
            (lambda x, f: ("f32", (contents(x, 4),)), "calls with effects differ", {**by_contents, "has_effects": True}),
        ):
            self.expect(ValueError, text, lambda: compiled(rule, **options))

    def test_a_value_cannot_be_used_after_its_rule(self):
        kept = []

        def infer(x, factor):
            kept.append(x)
            return x

        model = GAIN_MODEL.replace(b"method", b"symbol n in [1, 9]\nmethod").replace(b"f32[4]", b"f32[n]")
        plugin = berth.Plugin(berth.Operator("my::gain", GAIN.schema, infer=infer, compute=gain))
        berth.compile(model, plugins=plugin)
        self.expect(berth.FailedError, "used after the rule has returned", lambda: kept[0].shape[0] + 1)

    def test_an_array_cannot_be_kept(self):
        kept = []

        def keeps(x, factor):
            kept.append(x[1:])
            return x

        self.expect(berth.FailedError, "keeps an array of its arguments", lambda: with_kernel(keeps)(X))

        def fails(x, factor):
            raise ValueError("x is in this frame")

        error = self.expect(ValueError, "in this frame", lambda: with_kernel(fails)(X))
        trace = error.__cause__.__traceback__
        while trace is not None:
            self.assertNotIn("x", {name for name in trace.tb_frame.f_locals if trace.tb_frame.f_code.co_name == "fails"})
            trace = trace.tb_next

        def writes(x, factor):
            x[0] = 1
            return x

        self.expect(ValueError, "read-only", lambda: with_kernel(writes)(X))

    def test_what_is_not_an_operator_is_refused(self):
        for name, schema, text in (
            ("aten::gain", "Tensor x -> Tensor out", "aten"),
            ("gain", "Tensor x -> Tensor out", "gain"),
            ("my::gain", "Tensor x", "schema"),
            ("my::gain", "Tensr x -> Tensor out", "schema"),
            ("my::gain", "", "schema"),
        ):
            self.expect(ValueError, text, lambda: berth.compile(GAIN_MODEL, plugins=berth.Plugin(
                berth.Operator(name, schema, infer=lambda x: x, compute=lambda x: x))))  # fmt: skip
        self.expect(ValueError, "neither", lambda: berth.Plugin(berth.Operator("my::gain", "Tensor x -> Tensor out")))
        self.expect(ValueError, "in_place names y", lambda: berth.Operator("my::g", "Tensor x -> Tensor out", in_place=["y"]))
        self.expect(ValueError, "stands twice", lambda: berth.Plugin(GAIN, GAIN))
        self.expect(ValueError, "takes berth.Operator", lambda: berth.Plugin(gain))
        self.expect(berth.MissingFileError, "none.so", lambda: berth.compile(GAIN_MODEL, plugins=[berth.Plugin(GAIN), "./none.so"]))


class Running(unittest.TestCase):
    def test_two_threads_call_one_kernel(self):
        program = berth.compile(GAIN_MODEL, plugins=berth.Plugin(GAIN))
        wrong = []

        def work(seed):
            method = program.method()
            for i in range(300):
                x = np.full(4, seed * 1000 + i, np.float32)
                if not (method(x)[0] == -x * 1.25).all():
                    wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_calls_keep_nothing(self):
        method = with_kernel(gain, in_place="self")
        method(X)
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(2000):
            method(X)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 200)

    def test_the_interpreter_ends_cleanly(self):
        script = (
            "import berth, numpy as np, atexit\n"
            "o = berth.Operator('my::gain', 'Tensor self, float factor=1 -> Tensor out', infer=lambda x, f: x, compute=lambda x, f: x)\n"
            f"m = berth.compile({GAIN_MODEL!r}, plugins=berth.Plugin(o)).method()\n"
            "print(m([1, 2, 3, 4])[0].tolist())\n"
        )
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "[-1.0, -2.0, -3.0, -4.0]\n", ""))


if __name__ == "__main__":
    unittest.main()
