// Einsum.
#include "compiler/import/lowering/einsum.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

void import_einsum(NodeContext& n) {
  const ValueList inputs = n.all_inputs();
  n.output(0, lowering::einsum(n, n.text("equation", ""), inputs));
}

constexpr OperatorRow kEinsumRows[] = {
    {"Einsum", 1, kVariadic, import_einsum},
};

}  // namespace

OperatorTable einsum_operators() { return kEinsumRows; }

}  // namespace berth::onnx
