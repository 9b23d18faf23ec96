// Paddings in all modes. Numbers come in pairs from the last dimension to the first; negative ones take away.
#include <algorithm>

#include "compiler/import/lowering/padding.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kMaxPad = int64_t{1} << 31;

// `x` without what negative pads take away; those are 0 then.
ValueId cropped(NodeContext& n, ValueId x, DimList* pads) {
  for (const Dim pad : *pads) {
    if (pad.is_constant() && (pad.value > kMaxPad || pad.value < -kMaxPad)) n.unsupported("padding this large");
  }
  const auto negative = [](Dim d) { return d.is_constant() && d.value < 0; };
  for (size_t i = 0; i + 1 < pads->size() && n.ok(); i += 2) {
    Dim& before = (*pads)[i];
    Dim& after = (*pads)[i + 1];
    if (!negative(before) && !negative(after)) continue;
    const int axis = n.rank(x) - 1 - static_cast<int>(i / 2);
    const Dim start = negative(before) ? Dim(-before.value) : Dim(0);
    const Dim end = negative(after) ? n.symbols().add(n.dim(x, axis), after) : n.dim(x, axis);
    x = n.slice(x, axis, start, end);
    before = negative(before) ? Dim(0) : before;
    after = negative(after) ? Dim(0) : after;
  }
  return x;
}

ValueId pad_constant(NodeContext& n, ValueId x, DimList pads, const IrArgument& value) {
  if (n.ok() && (pads.size() % 2 != 0 || pads.size() > 2 * static_cast<size_t>(n.rank(x)))) {
    n.invalid("the padding does not fit " + n.type_text(x));
  }
  x = cropped(n, x, &pads);
  const bool any = std::any_of(pads.begin(), pads.end(), [](Dim pad) { return pad != Dim(0); });
  return any ? n.op(OpId::constant_pad_nd_out, {x, pads, value}) : x;
}

using lowering::Ends;

// The operators with rows of their own take two dimensions before those that are padded at most.
ValueId pad_by_operator(NodeContext& n, ValueId x, const DimList& pads, Ends ends) {
  constexpr OpId kReflect[] = {OpId::reflection_pad1d_out, OpId::reflection_pad2d_out, OpId::reflection_pad3d_out};
  constexpr OpId kReplicate[] = {OpId::replication_pad1d_out, OpId::replication_pad2d_out, OpId::replication_pad3d_out};
  const size_t rank = pads.size() / 2;
  const bool alike = std::all_of(pads.begin(), pads.end(), [](Dim p) { return p.is_constant() && p.value >= 0; });
  const int dims = n.rank(x);
  if (ends == Ends::kWrap || rank < 1 || rank > 3 || !alike) return {};
  if (dims != static_cast<int>(rank) + 1 && dims != static_cast<int>(rank) + 2) return {};
  return n.op(ends == Ends::kReflect ? kReflect[rank - 1] : kReplicate[rank - 1], {x, pads});
}

ValueId pad_repeating(NodeContext& n, ValueId x, DimList pads, Ends ends) {
  if (n.ok() && (pads.size() % 2 != 0 || pads.size() > 2 * static_cast<size_t>(n.rank(x)))) {
    n.invalid("the padding does not fit " + n.type_text(x));
  }
  if (!n.ok()) return {};
  // As PyTorch has it, the rows that are left go around.
  if (ends == Ends::kWrap) x = cropped(n, x, &pads);
  if (const ValueId y = pad_by_operator(n, x, pads, ends); y.valid()) return y;
  for (size_t i = 0; i + 1 < pads.size() && n.ok(); i += 2) {
    x = lowering::repeat_ends(n, x, n.rank(x) - 1 - static_cast<int>(i / 2), pads[i], pads[i + 1], ends);
  }
  return x;
}

void import_constant_pad(NodeContext& n) {
  n.output(pad_constant(n, n.tensor("self"), n.dims("pad"), n.scalar("value", Dim(0))));
}

void import_pad(NodeContext& n) {
  const std::string mode = n.text("mode", "constant");
  if (mode == "constant") return import_constant_pad(n);
  const Ends ends = mode == "reflect" ? Ends::kReflect : mode == "replicate" ? Ends::kEdge : Ends::kWrap;
  n.output(pad_repeating(n, n.tensor("self"), n.dims("pad"), ends));
}

template <int mode>
void import_padding(NodeContext& n) {
  const char* name = n.argument("padding") != nullptr ? "padding" : "pad";
  n.output(pad_repeating(n, n.tensor("self"), n.dims(name), static_cast<Ends>(mode)));
}

constexpr int kReflect = static_cast<int>(Ends::kReflect);
constexpr int kReplicate = static_cast<int>(Ends::kEdge);
constexpr int kCircular = static_cast<int>(Ends::kWrap);

constexpr OperatorRow kPadRows[] = {
    {"_pad_circular", import_padding<kCircular>},
    {"constant_pad_nd", import_constant_pad},
    {"pad", import_pad},
    {"reflection_pad1d", import_padding<kReflect>},
    {"reflection_pad2d", import_padding<kReflect>},
    {"reflection_pad3d", import_padding<kReflect>},
    {"replication_pad1d", import_padding<kReplicate>},
    {"replication_pad2d", import_padding<kReplicate>},
    {"replication_pad3d", import_padding<kReplicate>},
};

}  // namespace

OperatorTable pad_operators() { return kPadRows; }

}  // namespace berth::pt2
