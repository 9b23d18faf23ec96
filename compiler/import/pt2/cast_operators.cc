// Changes of element type, and the many ways of saying that nothing changes.
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

void import_same(NodeContext& n) { n.output(n.tensor("self")); }

void import_to(NodeContext& n) {
  const ValueId x = n.tensor("self");
  DType type = n.dtype(x);
  if (n.argument("other") != nullptr && n.argument("other")->kind == ArgumentKind::kTensor) {
    type = n.dtype(n.tensor("other"));
  }
  n.output(n.cast(x, n.dtype("dtype", type)));
}

void import_type_as(NodeContext& n) { n.output(n.cast(n.tensor("self"), n.dtype(n.tensor("other")))); }

void import_convert(NodeContext& n) {
  const ValueId x = n.tensor("a");
  n.output(n.cast(x, n.dtype("dtype", n.dtype(x))));
}

// What PyTorch's quantiser for f16 writes: a cast that is not to be fused.
void import_rounded(NodeContext& n) {
  const ValueId x = n.tensor("input");
  n.output(n.cast(x, n.dtype("dtype", n.dtype(x))));
}

// The element type stays that of self.
void import_copy(NodeContext& n) {
  const ValueId self = n.tensor("self");
  n.output(n.expand(n.cast(n.tensor("src"), n.dtype(self)), n.shape(self)));
}

constexpr OperatorRow kCastRows[] = {
    {"_to_copy", import_to},
    {"alias", import_same},
    {"clone", import_same},
    {"contiguous", import_same},
    {"convert_element_type", import_convert},
    {"copy", import_copy},
    {"detach", import_same},
    {"lift", import_same},
    {"lift_fresh", import_same},
    {"lift_fresh_copy", import_same},
    {"positive", import_same},
    {"quantized_decomposed::convert_element_type", import_rounded},
    {"resolve_conj", import_same},
    {"resolve_neg", import_same},
    {"to", import_to},
    {"type_as", import_type_as},
};

}  // namespace

OperatorTable cast_operators() { return kCastRows; }

}  // namespace berth::pt2
