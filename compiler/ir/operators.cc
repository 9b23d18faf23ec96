#include "compiler/ir/operators.h"

#include <unordered_map>

#include "base/enum_array.h"
#include "compiler/ir/operator_schema.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

struct View {
  ViewKind kind;
  uint8_t dim;
};

constexpr View view_of(ViewKind kind, uint8_t dim = 0) { return {kind, dim}; }

struct Row {
  const char* name;
  const char* functional;
  const char* out;
  const char* schema;
  ShapeRule infer;
  uint32_t in_place_arguments;
  uint32_t unplaced;
  OpId id;
  InPlaceClass in_place;
  View view;
  bool layout_agnostic;
  ElementUse elements;
  bool sized_by_contents;
  OperatorRole role;
};

// A row of a region or state operator, which the IR alone has.
constexpr Row own(const char* name, const char* schema, OpId id) {
  Row row{};
  row.name = name;
  row.functional = "";
  row.out = "";
  row.schema = schema;
  row.id = id;
  row.elements = ElementUse::kMoves;
  return row;
}

struct InPlace {
  InPlaceClass kind;
  uint32_t arguments;
};

template <typename... I>
constexpr InPlace in_place(InPlaceClass kind, I... indices) {
  return {kind, ((1u << indices) | ... | 0u)};
}

#define NEVER in_place(InPlaceClass::kNever)
#define ELEMENT(...) in_place(InPlaceClass::kElement, __VA_ARGS__)
#define ROW(...) in_place(InPlaceClass::kRow, __VA_ARGS__)
#define SELF(...) in_place(InPlaceClass::kSelf, __VA_ARGS__)
#define NONE view_of(ViewKind::kNone)
#define RESHAPE view_of(ViewKind::kReshape)
#define REORDER view_of(ViewKind::kReorder)
#define CONCAT(i) view_of(ViewKind::kConcat, i)
#define PART(i) view_of(ViewKind::kPart, i)
#define PLACED 0u
#define UNPLACED(k) (1u << (k))
#define ROW_MAJOR false
#define ANY_LAYOUT true
#define COMPUTES ElementUse::kComputes
#define COMPLEX ElementUse::kComputesComplex
#define STORES ElementUse::kStoresNumber
#define CONVERTS ElementUse::kConverts
#define MOVES ElementUse::kMoves
#define BY_SHAPES false
#define BY_CONTENTS true
#define PLAIN OperatorRole::kPlain
#define RANDOM OperatorRole::kRandom
#define FUSED OperatorRole::kFused
#define HOST_TO_DEVICE OperatorRole::kHostToDevice
#define DEVICE_TO_HOST OperatorRole::kDeviceToHost
#define DEVICE_TO_DEVICE OperatorRole::kDeviceToDevice
#define DEQUANTIZES OperatorRole::kDequantizes
#define OVERWRITES OperatorRole::kOverwrites
constexpr Row kRows[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place_class, view, unplaced, layout, elements, reads, \
           sizes, role) \
  {name, \
   functional, \
   out, \
   schema, \
   &infer_##rule, \
   (in_place_class).arguments, \
   unplaced, \
   OpId::identifier, \
   (in_place_class).kind, \
   view, \
   layout, \
   elements, \
   sizes, \
   role},
#include "format/operators.def"
#undef OP
    own("berth::if", "Scalar cond", OpId::if_),
    own("berth::while", "Tensor[] init", OpId::while_),
    own("berth::scan", "int length, Tensor[] carried, Tensor[] scanned", OpId::scan),
    own("berth::delegate", "Tensor[] inputs", OpId::delegate),
    own("berth::state_read", "", OpId::state_read),
    own("berth::state_write", "Tensor value", OpId::state_write),
};
#undef NEVER
#undef ELEMENT
#undef ROW
#undef SELF
#undef NONE
#undef RESHAPE
#undef REORDER
#undef CONCAT
#undef PART
#undef PLACED
#undef UNPLACED
#undef ROW_MAJOR
#undef ANY_LAYOUT
#undef COMPUTES
#undef COMPLEX
#undef STORES
#undef CONVERTS
#undef MOVES
#undef BY_SHAPES
#undef BY_CONTENTS
#undef PLAIN
#undef RANDOM
#undef FUSED
#undef HOST_TO_DEVICE
#undef DEVICE_TO_HOST
#undef DEVICE_TO_DEVICE
#undef DEQUANTIZES
#undef OVERWRITES

using Rows = EnumArray<OpId, Operator, OpId::kCount>;
static_assert(sizeof(kRows) / sizeof(kRows[0]) == Rows::size(), "one row an operator");

struct Table {
  Rows rows;
  std::unordered_map<std::string_view, const Operator*> by_functional_name;
  std::unordered_map<std::string, const Operator*> by_out_variant;

  Table() {
    for (const Row& row : kRows) {
      Operator& op = rows[row.id];
      op.id = row.id;
      op.name = row.name;
      op.functional_name = row.name;
      if (row.functional[0] != '\0') op.functional_name.append(".").append(row.functional);
      op.out_overload = row.out;
      op.infer = row.infer;
      op.in_place = row.in_place;
      op.in_place_arguments = row.in_place_arguments;
      op.view = row.view.kind;
      op.dim_argument = row.view.dim;
      op.unplaced_outputs = row.unplaced;
      op.layout_agnostic = row.layout_agnostic;
      op.elements = row.elements;
      op.sized_by_contents = row.sized_by_contents;
      op.role = row.role;
      parse_schema(row.schema, op);
      BERTH_CHECK(by_functional_name.emplace(op.functional_name, &op).second);
      by_out_variant.emplace(std::string(row.name) + "." + row.out, &op);
    }
  }
};

// Never destroyed, so that no order of destruction matters.
const Table& table() {
  static const Table* const kTable = new Table;
  return *kTable;
}

}  // namespace

int Operator::parameter_index(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) return static_cast<int>(i);
  }
  return -1;
}

const Operator& operator_of(OpId id) {
  BERTH_CHECK(id < OpId::kCount);
  return table().rows[id];
}

const Operator* find_operator(std::string_view functional_name) {
  const auto found = table().by_functional_name.find(functional_name);
  return found == table().by_functional_name.end() ? nullptr : found->second;
}

const Operator* find_out_variant(std::string_view name, std::string_view out_overload) {
  const auto found = table().by_out_variant.find(std::string(name) + "." + std::string(out_overload));
  return found == table().by_out_variant.end() ? nullptr : found->second;
}

}  // namespace berth::ir
