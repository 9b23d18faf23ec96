"""For processes that export hundreds of small modules: the same programs in half the time."""
import collections.abc
import functools
import gc
import typing


def quick_export():
    """Once a process, behind its imports. What it changes in torch is looked for first: a torch that has it otherwise
    is as slow as it is."""
    import torch
    import torch._export.utils as utils
    # run_decompositions() has torch list all operators of C++ anew for each of thirty namespaces.
    if hasattr(utils, "_materialize_cpp_cia_ops"):
        utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)
    # It also defines six thousand functions, whose annotations are Callable[…]: typing remembers what that is.
    if getattr(torch._ops, "Callable", None) is collections.abc.Callable:
        torch._ops.Callable = typing.Callable
    # The modules of torch are a million objects, which a collection need not look through.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
