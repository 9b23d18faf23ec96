// Paddings in all modes. Numbers come in pairs from the last dimension to the first; negative ones take away.
#include <algorithm>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kMaxPad = int64_t{1} << 31;

ValueId pad_constant(NodeContext& n, ValueId x, DimList pads, const IrArgument& value) {
  if (n.ok() && (pads.size() % 2 != 0 || pads.size() > 2 * static_cast<size_t>(n.rank(x)))) {
    n.invalid("the padding does not fit " + n.type_text(x));
  }
  for (Dim pad : pads) {
    if (pad.is_constant() && (pad.value > kMaxPad || pad.value < -kMaxPad)) n.unsupported("padding this large");
  }
  bool any = false;
  for (size_t i = 0; i + 1 < pads.size() && n.ok(); i += 2) {
    const int axis = n.rank(x) - 1 - static_cast<int>(i / 2);
    const auto negative = [](Dim d) { return d.is_constant() && d.value < 0; };
    if (negative(pads[i]) || negative(pads[i + 1])) {
      const Dim start = negative(pads[i]) ? Dim(-pads[i].value) : Dim(0);
      const Dim end = negative(pads[i + 1]) ? n.symbols().add(n.dim(x, axis), pads[i + 1]) : n.dim(x, axis);
      x = n.slice(x, axis, start, end);
      if (negative(pads[i])) pads[i] = Dim(0);
      if (negative(pads[i + 1])) pads[i + 1] = Dim(0);
    }
    any = any || pads[i] != Dim(0) || pads[i + 1] != Dim(0);
  }
  return any ? n.op(OpId::constant_pad_nd_out, {x, pads, value}) : x;
}

enum class Mode { kReflect, kReplicate, kCircular };

int64_t source_of(int64_t place, int64_t size, Mode mode) {
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (mode == Mode::kReplicate) return std::clamp<int64_t>(place, 0, size - 1);
  if (mode == Mode::kCircular) return modulo(place, size);
  if (size == 1) return 0;
  const int64_t folded = modulo(place, 2 * (size - 1));
  return std::min(folded, 2 * (size - 1) - folded);
}

// The operators with rows of their own take two dimensions before those that are padded at most.
ValueId pad_by_operator(NodeContext& n, ValueId x, const std::vector<int64_t>& pads, Mode mode) {
  constexpr OpId kReflect[] = {OpId::reflection_pad1d_out, OpId::reflection_pad2d_out, OpId::reflection_pad3d_out};
  constexpr OpId kReplicate[] = {OpId::replication_pad1d_out, OpId::replication_pad2d_out, OpId::replication_pad3d_out};
  const size_t rank = pads.size() / 2;
  const bool alike = std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p >= 0; });
  const int dims = n.rank(x);
  if (mode == Mode::kCircular || rank < 1 || rank > 3 || !alike) return {};
  if (dims != static_cast<int>(rank) + 1 && dims != static_cast<int>(rank) + 2) return {};
  return n.op(mode == Mode::kReflect ? kReflect[rank - 1] : kReplicate[rank - 1], {x, ir::dims(pads)});
}

ValueId pad_repeating(NodeContext& n, ValueId x, const std::vector<int64_t>& pads, Mode mode) {
  if (n.ok() && (pads.size() % 2 != 0 || pads.size() > 2 * static_cast<size_t>(n.rank(x)))) {
    n.invalid("the padding does not fit " + n.type_text(x));
  }
  if (!n.ok()) return {};
  if (const ValueId y = pad_by_operator(n, x, pads, mode); y.valid()) return y;
  for (size_t i = 0; i + 1 < pads.size() && n.ok(); i += 2) {
    if (pads[i] == 0 && pads[i + 1] == 0) continue;
    const int axis = n.rank(x) - 1 - static_cast<int>(i / 2);
    const int64_t size = n.fixed(n.dim(x, axis), "the size of a dimension that is padded with its own elements");
    constexpr int64_t kMaxSize = 1 << 24;
    for (int64_t pad : {pads[i], pads[i + 1]}) {
      if (pad < -kMaxSize || pad > kMaxSize) n.unsupported("padding this large");
    }
    if (n.ok() && (size < 1 || size > kMaxSize || pads[i] + size + pads[i + 1] < 0)) n.invalid("no element to repeat");
    if (!n.ok()) return {};
    std::vector<int64_t> indices;
    for (int64_t at = -pads[i]; at < size + pads[i + 1]; ++at) indices.push_back(source_of(at, size, mode));
    x = n.op(OpId::index_select_out, {x, Dim(axis), n.ints(indices)});
  }
  return x;
}

void import_constant_pad(NodeContext& n) {
  n.output(pad_constant(n, n.tensor("self"), n.dims("pad"), n.scalar("value", Dim(0))));
}

void import_pad(NodeContext& n) {
  const std::string mode = n.text("mode", "constant");
  if (mode == "constant") return import_constant_pad(n);
  const Mode kind = mode == "reflect" ? Mode::kReflect : mode == "replicate" ? Mode::kReplicate : Mode::kCircular;
  n.output(pad_repeating(n, n.tensor("self"), n.integers("pad"), kind));
}

template <int mode>
void import_padding(NodeContext& n) {
  const char* name = n.argument("padding") != nullptr ? "padding" : "pad";
  n.output(pad_repeating(n, n.tensor("self"), n.integers(name), static_cast<Mode>(mode)));
}

constexpr int kReflect = static_cast<int>(Mode::kReflect);
constexpr int kReplicate = static_cast<int>(Mode::kReplicate);
constexpr int kCircular = static_cast<int>(Mode::kCircular);

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
