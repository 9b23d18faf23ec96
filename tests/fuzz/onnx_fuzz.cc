// Imports any bytes as an ONNX model. What imports must be sound IR: the verifier is the judge.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/own_operators.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::ImportOptions options;
  options.operators = berth::fuzz::own_operators();
  options.input_shapes = {{"x", "1..4x3x8"}};  // the corpus has a model with a symbolic input of this name
  for (const bool with_shapes : {false, true}) {
    auto module = berth::import_onnx({data, size}, with_shapes ? options : berth::ImportOptions());
    if (module.ok()) {
      BERTH_CHECK(berth::ir::verify(*module).ok());
    } else {
      BERTH_CHECK(!module.error().message.empty());
    }
  }
  return 0;
}
