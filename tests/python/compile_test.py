"""Compiling from Python. Possible errors: an option of the compiler that Python lacks or sets wrongly; a model from
memory that differs from its file; a failure without code, place or sentence; a report that does not say what was
made."""

import os
import re
import tempfile
import unittest

import berth
import numpy as np

import models


def options_of(structure):
    """The members of a structure in compiler/compile.h."""
    with open(os.path.join(models.ROOT, "compiler", "compile.h"), encoding="utf-8") as file:
        body = re.search(r"struct %s \{(.*?)\n\};" % structure, file.read(), re.S).group(1)
    body = re.sub(r"//.*", "", body)
    return set(re.findall(r"(\w+)(?: = [^;]*)?;", body))


class Options(unittest.TestCase):
    # What a value of each looks like; what is not here takes True or False.
    VALUES = {
        "target": "portable", "cpu": "generic", "precision": "f32", "activations": "float", "place": {},
        "node_device": lambda method, node, operator: None,
        "specs": [], "device_io": {"x": "cpu"}, "banks": ["sram=1K", "dram,slow"], "pins": {}, "states": {}, "planner": "greedy",
        "alignment": 32, "in_place_operators": ["aten::relu"], "external_constants": {}, "constant_alignment": 64,
        "segment_alignment": 4096, "time_limit": 1, "costs": "none", "why": "reuse", "overlap": "0", "stack_traces": True, "verify_ir": True,
    }  # fmt: skip

    def test_python_has_every_option_of_the_compiler(self):
        import inspect

        taken = set(inspect.signature(berth.compile).parameters)
        self.assertEqual(options_of("CompileOptions") - taken, set())

    def test_each_is_taken_and_no_other_value(self):
        for name in sorted(options_of("CompileOptions") - {"plugins", "methods", "dump_ir", "progress"}):
            with self.subTest(name):
                value = self.VALUES.get(name, False)
                berth.compile(models.CHAIN, **{name: value})
                if name != "target":
                    with self.assertRaises((TypeError, ValueError)) as caught:
                        berth.compile(models.CHAIN, **{name: object()})
                    self.assertNotIsInstance(caught.exception, AttributeError)

    def test_each_is_taken_for_one_method(self):
        for name in sorted(options_of("MethodSettings")):
            with self.subTest(name):
                value = {} if name in ("device_io", "states") else self.VALUES.get(name, False)
                berth.compile(models.COUNTER, methods={"push": {name: value}})
        with self.assertRaisesRegex(TypeError, "there is no option colour"):
            berth.compile(models.COUNTER, methods={"push": {"colour": 1}})
        with self.assertRaisesRegex(ValueError, "there is no such method; there are: push, look"):
            berth.compile(models.COUNTER, methods={"pull": {"target": "cpu"}})

    def test_placing_by_cost_is_placing(self):
        for options in ({"target": "auto"}, {"target": "sim:0,cpu", "by_cost": True}):
            program = berth.compile(models.CHAIN, costs="none", why=["partition"], **options)
            self.assertTrue(any("by cost: a run takes" in line for line in program.report["why"]), program.report["why"])
        with self.assertRaisesRegex(Exception, "there is no such file of costs"):
            berth.compile(models.CHAIN, target="cpu", costs="/nowhere/costs.json")

    def test_do_what_they_say(self):
        arena = lambda **options: sum(a["bytes"] for a in berth.compile(models.CHAIN, **options).arenas)  # noqa: E731
        self.assertGreater(arena(planner="naive"), arena())
        self.assertGreater(arena(in_place=False), arena())
        self.assertLess(arena(device_io={"x": "cpu", "y": "cpu"}), arena())
        program = berth.compile(models.CHAIN, target="sim:0", why=["reuse"])
        self.assertTrue(any("%y" in line for line in program.report["why"]), program.report["why"])
        self.assertEqual([d["backend"] for d in program.report["delegates"]], ["berth.sim"])
        self.assertEqual({c["to"] for c in program.report["copies"]}, {"cpu", "sim:0"})

    def test_a_function_says_where_nodes_run(self):
        seen = []

        def where(method, node, operator):
            seen.append((method, operator))
            return "sim:0" if operator == "aten::relu" else "cpu"

        program = berth.compile(models.CHAIN, target="sim:0,portable", node_device=where)
        self.assertIn(("forward", "aten::relu"), seen)
        self.assertEqual([d["nodes"] for d in program.report["delegates"]], [1])
        with self.assertRaisesRegex(ZeroDivisionError, "zero"):
            berth.compile(models.CHAIN, target="sim:0,portable", node_device=lambda *_: 1 / 0)
        with self.assertRaisesRegex(ValueError, "gave 'moon', which is not a device"):
            berth.compile(models.CHAIN, target="sim:0,portable", node_device=lambda *_: "moon")


LARGE = b"method forward(%x: f32[64,64]) {\n" + b"".join(
    b"  %%a%d: f32[64,64] = aten::add.Tensor(%%%s, %%%s)\n"
    % (i, b"x" if i < 7 else b"a%d" % (i - 7), b"x" if i < 2 else b"a%d" % (i * i % i or i // 2))
    for i in range(400)
) + b"  return %a399, %a398, %a397\n}"


class Progress(unittest.TestCase):
    def test_is_told_from_the_first_step_to_the_last(self):
        seen = []
        berth.compile(models.CHAIN, progress=lambda step, done: seen.append((step, done)))
        steps = [step for step, _ in seen]
        self.assertIn("memory of forward", steps)
        self.assertEqual(steps[-1], "program")
        self.assertTrue(steps[0].startswith("pass "))
        parts = [done for _, done in seen]
        self.assertEqual(parts, sorted(parts))
        self.assertTrue(0 <= parts[0] and parts[-1] <= 1)

    def test_changes_no_byte_of_the_program(self):
        for model in (models.DIGITS + "/model.onnx", LARGE):
            self.assertEqual(bytes(berth.compile(model, progress=lambda *_: None)), bytes(berth.compile(model)))

    def test_ends_the_compilation_at_any_step(self):
        steps = []
        with tempfile.TemporaryDirectory() as folder:
            berth.compile(models.DIGITS + "/model.onnx", target="cpu", output=folder + "/digits.pte",
                          progress=lambda step, _: steps.append(step))
        self.assertEqual(steps[-2:], ["program", "file"])
        with tempfile.TemporaryDirectory() as folder:
            for last in range(len(steps)):
                left = iter(range(last))
                with self.assertRaisesRegex(berth.FailedError, "was ended") as caught:
                    berth.compile(
                        models.DIGITS + "/model.onnx",
                        target="cpu",
                        output=folder + "/digits.pte",
                        progress=lambda *_: next(left, None) is not None,
                    )
                self.assertEqual(caught.exception.code, "InvalidState")
                self.assertEqual(os.listdir(folder), [])
        self.assertGreater(len(steps), 10)

    def test_an_exception_comes_back(self):
        with self.assertRaises(ZeroDivisionError):
            berth.compile(models.CHAIN, progress=lambda *_: 1 / 0)

    def test_ctrl_c_ends_a_long_compilation(self):
        import signal
        import threading
        import time

        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while time.monotonic() < start + 60:
                berth.compile(LARGE)
        self.assertLess(time.monotonic() - start, 30)
        self.assertTrue(berth.compile(models.ADD).arenas)


class Models(unittest.TestCase):
    def test_bytes_and_paths_give_the_same_program(self):
        path = models.DIGITS + "/model.onnx"
        with open(path, "rb") as file:
            data = file.read()
        expected = bytes(berth.compile(path))
        self.assertEqual(bytes(berth.compile(data)), expected)

        class ModelProto:
            def SerializeToString(self):  # noqa: N802: onnx's name
                return data

        self.assertEqual(bytes(berth.compile(ModelProto())), expected)
        self.assertEqual(bytes(berth.compile(__import__("pathlib").Path(path))), expected)

    def test_a_file_is_written_as_it_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/digits.pte"
            program = berth.compile(models.DIGITS + "/model.onnx", output=path)
            self.assertEqual(program.path, path)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), bytes(program))
            program.save(folder + "/again.pte")
            self.assertEqual(bytes(berth.load(folder + "/again.pte")), bytes(program))
            self.assertEqual(sorted(os.listdir(folder)), ["again.pte", "digits.pte"])

    def test_constants_go_to_a_data_file(self):
        with tempfile.TemporaryDirectory() as folder:
            options = dict(external_constants={"*": folder + "/weights.ptd"}, output=folder + "/model.pte")
            program = berth.compile(models.DIGITS + "/model.onnx", **options)
            self.assertEqual([file["file"] for file in program.report["external"]], [folder + "/weights.ptd"])
            x = np.load(models.DIGITS + "/in0.npy")
            expected = np.load(models.DIGITS + "/out0.npy")
            loaded = berth.load(folder + "/model.pte", data=[folder + "/weights.ptd"])
            for one in (program, loaded):
                np.testing.assert_allclose(one.method()(x)[0], expected, rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(ValueError, "external constants"):
            berth.compile(models.DIGITS + "/model.onnx", external_constants={"*": "weights.ptd"})

    def test_several_models_become_the_methods_of_one_program(self):
        program = berth.compile(
            {"add": models.ADD, "chain": models.CHAIN}, methods={"chain": {"target": "cpu"}}
        )
        self.assertEqual(program.method_names, ["add", "chain"])
        self.assertEqual({d["method"] for d in program.report["delegates"]}, {"chain"})
        one = np.ones((2, 3), np.float32)
        np.testing.assert_array_equal(program.method("add")(one, one)[0], one * 2)
        with self.assertRaisesRegex(ValueError, "no method forward; there are: add, chain"):
            program.method()

    def test_shapes_are_texts_or_numbers(self):
        open_model = b"symbol n in [1, 64]\nmethod forward(%x: f32[n,3]) { %y: f32[n,3] = aten::relu(%x)\n return %y }"
        self.assertEqual(berth.compile(open_model).methods[0]["inputs"][0]["shape"], [64, 3])
        from berth._models import shape_text

        self.assertEqual([shape_text(s) for s in ("1x3", (1, 3), [(1, 8), 3], 5, ())], ["1x3", "1x3", "1..8x3", "5", ""])


class Failures(unittest.TestCase):
    def test_have_a_code_a_place_and_a_sentence(self):
        with self.assertRaises(berth.Error) as caught:
            berth.compile(models.ADD.replace(b"aten::add.Tensor", b"aten::nothing"))
        error = caught.exception
        self.assertEqual(str(error), f"{error.place}: {error.message}")
        self.assertTrue(error.code and error.place and error.message)
        import pickle

        self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))

    def test_call_a_model_in_memory_what_it_is(self):
        for call in (berth.compile, berth.verify, berth.inspect):
            with self.assertRaisesRegex(ValueError, "the model's bytes") as caught:
                call(b"\x08\x07 neither a model nor a program")
            self.assertNotIn("/proc/", str(caught.exception))

    def test_are_of_types_that_fit(self):
        for kind, call in (
            (FileNotFoundError, lambda: berth.compile("/there/is/none.onnx")),
            (FileNotFoundError, lambda: berth.load("/there/is/none.pte")),
            (FileNotFoundError, lambda: berth.compile(models.ADD, plugins=["/there/is/none.so"])),
            (ValueError, lambda: berth.load(b"no program at all, but some text of this kind")),
            (ValueError, lambda: berth.load(b"")),
            (ValueError, lambda: berth.load(models.DIGITS + "/model.onnx")),
            (ValueError, lambda: berth.compile(b"")),
            (ValueError, lambda: berth.compile(models.ADD, target="moon")),
            (ValueError, lambda: berth.compile(models.ADD, planner="quick")),
            (ValueError, lambda: berth.compile(models.ADD, alignment=3)),
            (ValueError, lambda: berth.load(models.DIGITS + "/model.onnx", verification="none")),
            (TypeError, lambda: berth.compile(3)),
            (TypeError, lambda: berth.load(3)),
            (TypeError, lambda: berth.load(None)),
            (OSError, lambda: berth.compile(models.ADD, output="/there/is/none/x.pte")),
            (OSError, lambda: berth.compile(models.ADD).save("/there/is/none/x.pte")),
            (MemoryError, lambda: berth.compile(b"method forward(%x: f32[1000000000,1000]) { %y: f32[1000000000,1000] = aten::relu(%x)\n return %y }").method()),
        ):  # fmt: skip
            with self.subTest(kind.__name__):
                self.assertRaises(kind, call)

    def test_a_damaged_program_is_refused_with_a_sentence(self):
        whole = bytes(berth.compile(models.DIGITS + "/model.onnx"))
        random = np.random.default_rng(3)
        refused = 0
        for _ in range(200):
            damaged = bytearray(whole)
            for at in random.integers(0, 2000, 3):
                damaged[at] ^= 1 << random.integers(0, 8)
            try:
                berth.load(bytes(damaged)).method()
            except berth.Error as error:
                refused += 1
                self.assertTrue(error.message)
        self.assertGreater(refused, 50)
        for size in range(0, len(whole), max(1, len(whole) // 50)):
            self.assertRaises(ValueError, berth.load, whole[:size])

    def test_a_device_that_is_not_here_is_a_sentence(self):
        program = berth.compile(models.ADD, target="cuda:0")
        with self.assertRaisesRegex(berth.NotFoundError, "cuda"):
            program.method()
        one = np.ones((2, 3), np.float32)
        mapped = berth.load(bytes(program), devices={"cuda:0": "sim:0"})
        np.testing.assert_array_equal(mapped.method()(one, one)[0], one * 2)
        with self.assertRaisesRegex(ValueError, "device 'moon'"):
            berth.load(bytes(program), devices={"cuda:0": "moon"})


class Reports(unittest.TestCase):
    def setUp(self):
        self.program = berth.compile(models.DIGITS + "/model.onnx")

    def test_say_what_was_made(self):
        report = self.program.report
        (arena,) = report["arenas"]
        self.assertTrue(arena["optimal"])
        self.assertEqual(arena["bytes"], arena["lower_bound"])
        self.assertEqual(self.program.method().memory["arena_bytes"], arena["bytes"])
        self.assertEqual(self.program.methods[0]["instructions"], report["instructions"])
        self.assertIn(f"{arena['bytes']} bytes, optimal", repr(self.program))

    def test_a_notebook_shows_the_picture(self):
        page = self.program._repr_html_()
        self.assertIn("<iframe srcdoc=", page)
        self.assertNotIn("<script", page.split("srcdoc=")[1].split('"')[1])
        with tempfile.TemporaryDirectory() as folder:
            text = berth.report(self.program, bytes(self.program), output=folder + "/plan.html")
            with open(folder + "/plan.html", encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertIn("<html", text)

    def test_inspect_and_verify_are_the_tools(self):
        self.assertEqual(berth.inspect(self.program)["methods"][0]["name"], "forward")
        self.assertEqual(berth.inspect(models.DIGITS + "/model.onnx")["format"], "model")
        self.assertIn("text", berth.inspect(self.program, plan=True))
        checked = berth.verify(self.program)
        self.assertEqual((checked["sound"], checked["methods"]), (True, 1))
        with self.assertRaises(ValueError):
            berth.verify(bytes(self.program)[:-100])

    def test_replan_makes_a_worse_plan_better(self):
        naive = berth.compile(models.DIGITS + "/model.onnx", planner="naive")
        better = berth.replan(naive)
        self.assertLess(better.report["after"], better.report["before"])
        x = np.load(models.DIGITS + "/in0.npy")
        np.testing.assert_array_equal(better.method()(x)[0], naive.method()(x)[0])


class Quantize(unittest.TestCase):
    MODEL = models.DIGITS + "/model.onnx"

    def samples(self, seed, count=8):
        random = np.random.default_rng(seed)
        return [random.uniform(0, 16, (1, 1, 8, 8)).astype(np.float32) for _ in range(count)]

    def test_stays_near_the_model_in_a_smaller_program(self):
        exact = berth.compile(self.MODEL, target="cpu")
        small = berth.quantize(self.MODEL, self.samples(1), target="cpu", threads=1)
        self.assertEqual([layer["state"] for layer in small.report["layers"]], ["8 bits"] * 4)
        self.assertLess(len(bytes(small)), len(bytes(exact)) / 2)
        for x in self.samples(2):
            np.testing.assert_allclose(small.method()(x)[0], exact.method()(x)[0], atol=0.1)

    def test_takes_samples_in_every_form(self):
        arrays = self.samples(3, 2)
        want = bytes(berth.quantize(self.MODEL, arrays))
        self.assertEqual(bytes(berth.quantize(self.MODEL, [[x] for x in arrays])), want)
        self.assertEqual(bytes(berth.quantize(self.MODEL, ({"x": x} for x in arrays))), want)
        with tempfile.TemporaryDirectory() as folder:
            for i, x in enumerate(arrays):
                np.save(f"{folder}/{i}.npy", x)
            self.assertEqual(bytes(berth.quantize(self.MODEL, folder)), want)

    def test_options_and_mistakes_are_the_tools(self):
        kept = berth.quantize(self.MODEL, self.samples(4, 2), keep="node_linear", ranges="percentile", percentile=99.9)
        self.assertEqual(kept.report["layers"][-1]["state"], "kept")
        with self.assertRaisesRegex(berth.InvalidArgumentError, "like no layer's name"):
            berth.quantize(self.MODEL, self.samples(4, 1), keep=["none"])
        with self.assertRaisesRegex(berth.InvalidArgumentError, "sample 0: has no array for input x"):
            berth.quantize(self.MODEL, [{"y": np.zeros(1)}])
        with self.assertRaisesRegex(berth.Error, "but input x is f32"):
            berth.quantize(self.MODEL, [np.zeros((1, 1, 8, 8))])


class Planner(unittest.TestCase):
    def test_places_buffers_that_are_alive_together_apart(self):
        random = np.random.default_rng(5)
        for _ in range(10):
            count = int(random.integers(1, 60))
            lower = random.integers(0, 40, count)
            upper = lower + random.integers(1, 15, count)
            size = random.integers(0, 1000, count)
            alignment = 2 ** random.integers(0, 7, count)
            made = berth.plan(lower, upper, size, alignment, time_limit=0.05)
            offsets = made["offsets"]
            self.assertTrue((offsets % alignment == 0).all())
            for i in range(count):
                for j in range(i):
                    together = lower[i] < upper[j] and lower[j] < upper[i] and size[i] and size[j]
                    apart = offsets[i] + size[i] <= offsets[j] or offsets[j] + size[j] <= offsets[i]
                    self.assertTrue(apart or not together)
            self.assertEqual(made["height"], max(offsets + size, default=0))
            live = max(size[(lower <= t) & (t < upper)].sum() for t in range(60))
            self.assertGreaterEqual(made["lower_bound"], live)
            self.assertEqual(made["optimal"], made["height"] == made["lower_bound"])

    def test_takes_lists_and_refuses_what_is_no_problem(self):
        self.assertEqual(berth.plan([0, 1], [2, 3], [4, 4])["height"], 8)
        self.assertEqual(berth.plan([], [], [])["height"], 0)
        for lower, upper, size, kind in (
            ([0], [2, 3], [4, 4], ValueError),
            ([0.5], [2], [4], TypeError),
            ([[0]], [2], [4], TypeError),
            ([3], [2], [4], ValueError),
            ([0], [2], [-4], ValueError),
            ("a", [2], [4], TypeError),
        ):
            self.assertRaises(kind, berth.plan, lower, upper, size)
        with self.assertRaisesRegex(berth.Error, "needs 8"):
            berth.plan([0, 1], [2, 3], [4, 4], capacity=7)


if __name__ == "__main__":
    unittest.main()
