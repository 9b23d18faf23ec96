"""docs/python.md: each example runs and gives what stands there. And the types in _berth.pyi are those of the
extension."""

import ast
import doctest
import os
import tempfile
import unittest

import berth
import numpy as np

import models


class Examples(unittest.TestCase):
    def test_give_what_the_page_says(self):
        page = os.path.join(models.ROOT, "docs", "python.md")
        folder = tempfile.TemporaryDirectory()
        here = os.getcwd()
        with open(models.DIGITS + "/model.onnx", "rb") as model, open(folder.name + "/model.onnx", "wb") as copy:
            copy.write(model.read())
        os.chdir(folder.name)
        try:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            failed, tried = doctest.testfile(page, module_relative=False, optionflags=flags, globs={"np": np})
        finally:
            os.chdir(here)
            folder.cleanup()
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 20)


class Stubs(unittest.TestCase):
    def test_name_all_that_there_is(self):
        folder = os.path.join(models.ROOT, "python", "berth")
        with open(os.path.join(folder, "_berth.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        stubs = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                stubs[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            elif isinstance(node, ast.FunctionDef):
                stubs[node.name] = None
        for name in ("Method", "Tensor", "Arenas"):
            public = {member for member in vars(getattr(berth._berth, name)) if not member.startswith("_")}
            self.assertEqual(public - stubs[name], set(), name)
            self.assertEqual({m for m in stubs[name] if not m.startswith("_")} - public, set(), name)
        functions = {name for name, value in vars(berth._berth).items() if callable(value) and not isinstance(value, type)}
        self.assertEqual(functions - set(stubs), set())

    def test_every_public_name_says_what_it_is(self):
        for name in berth.__all__:
            one = getattr(berth, name)
            self.assertTrue(one.__doc__, name)
            for member, value in vars(one).items() if isinstance(one, type) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
