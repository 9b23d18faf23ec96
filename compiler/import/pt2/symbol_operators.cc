// Arithmetic on sizes, done while importing; and assertions, which say what the shape rules and kernels check anyway.
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

void import_nothing(NodeContext& n) {
  for (size_t i = 0; i < n.output_count(); ++i) n.unknown_output(i, "is only there to be checked");
}

void import_sym_size(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  if (n.ok()) n.output(0, n.dim(x, axis));
}

void import_sym_numel(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(0, n.product(n.shape(x), 0, n.rank(x)));
}

/// The number `name` when it is a size; false when it is anything else.
bool take_size(NodeContext& n, const char* name, Dim* out) {
  const Argument* a = n.argument(name);
  if (a == nullptr) return false;
  if (a->kind != ArgumentKind::kInt && a->kind != ArgumentKind::kSymInt) return false;
  if (a->kind == ArgumentKind::kSymInt && !a->names[0].empty()) {
    const auto found = n.scope().find(a->names[0]);
    if (found == n.scope().end() || !std::holds_alternative<Dim>(found->second.value)) return false;
  }
  *out = n.dim(name, Dim(0));
  return true;
}

using SizeFunction = Dim (*)(ir::Symbols& s, Dim a, Dim b);

bool is_nonzero(ir::Symbols& s, Dim d) { return s.lower(d) > 0 || s.upper(d) < 0; }

// Numbers that are not sizes are computed at run time, if they are used: most of this is there for assertions.
void import_arithmetic(NodeContext& n, SizeFunction function, bool divides) {
  Dim a, b;
  if (!take_size(n, "a", &a) || !take_size(n, "b", &b) || (divides && !is_nonzero(n.symbols(), b))) {
    return import_number(n);
  }
  n.output(0, function(n.symbols(), a, b));
}

void import_add(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.add(a, b); }, false);
}
void import_sub(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.sub(a, b); }, false);
}
void import_mul(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.mul(a, b); }, false);
}
void import_floordiv(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.floor_div(a, b); }, true);
}
void import_mod(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.mod(a, b); }, true);
}
void import_max(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.max(a, b); }, false);
}
void import_min(NodeContext& n) {
  import_arithmetic(
      n, [](ir::Symbols& s, Dim a, Dim b) { return s.min(a, b); }, false);
}

void import_neg(NodeContext& n) {
  Dim a;
  if (!take_size(n, "a", &a)) return import_number(n);
  n.output(0, n.symbols().mul(a, Dim(-1)));
}

// Comparisons of sizes that are known, or that hold whatever the sizes are.
enum class Relation { kLess, kLessEqual, kEqual, kNotEqual };

void import_compare(NodeContext& n, Relation relation, bool swapped) {
  Dim a, b;
  const bool sizes =
      swapped ? take_size(n, "b", &a) && take_size(n, "a", &b) : take_size(n, "a", &a) && take_size(n, "b", &b);
  if (sizes) {
    const ir::Symbols& s = n.symbols();
    const bool never_equal = s.upper(a) < s.lower(b) || s.lower(a) > s.upper(b);
    switch (relation) {
      case Relation::kLess:
        if (s.upper(a) < s.lower(b)) return n.output(0, true);
        if (s.lower(a) >= s.upper(b)) return n.output(0, false);
        break;
      case Relation::kLessEqual:
        if (s.upper(a) <= s.lower(b)) return n.output(0, true);
        if (s.lower(a) > s.upper(b)) return n.output(0, false);
        break;
      case Relation::kEqual:
      case Relation::kNotEqual:
        if (a == b) return n.output(0, relation == Relation::kEqual);
        if (never_equal) return n.output(0, relation == Relation::kNotEqual);
        break;
    }
  }
  import_number(n);
}

void import_lt(NodeContext& n) { import_compare(n, Relation::kLess, false); }
void import_le(NodeContext& n) { import_compare(n, Relation::kLessEqual, false); }
void import_gt(NodeContext& n) { import_compare(n, Relation::kLess, true); }
void import_ge(NodeContext& n) { import_compare(n, Relation::kLessEqual, true); }
void import_eq(NodeContext& n) { import_compare(n, Relation::kEqual, false); }
void import_ne(NodeContext& n) { import_compare(n, Relation::kNotEqual, false); }

// Anything else that gives a size: the file says which.
void import_declared(NodeContext& n) {
  const auto declared = n.output_count() == 1 ? n.graph().sym_ints.find(n.output_name(0)) : n.graph().sym_ints.end();
  if (declared != n.graph().sym_ints.end()) {
    const auto value = n.state().symbols.value(declared->second);
    if (value.ok()) return n.output(0, *value);
  }
  import_number(n);
}

// A number out of a tensor. A whole one with bounds may be a size; programs know sizes by the tensors that have them,
// so it becomes the size of one: of as many numbers as it says. Any other is a tensor without dimensions, of Python's
// element type: f64 for a floating number, i64 for a whole one.
void import_item(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if (!n.ok() || n.output_count() != 1) return;
  const auto declared = n.graph().sym_ints.find(n.output_name(0));
  if (declared != n.graph().sym_ints.end()) {
    const auto value = n.state().symbols.value(declared->second);
    if (value.ok()) return n.output(0, *value);
    const auto size = n.state().symbols.bounded(declared->second);
    if (size.ok()) {
      const DType type = n.dtype(x) == DType::kI64 ? DType::kI64 : DType::kI32;
      const ValueId counted = n.op(OpId::repeat_interleave_Tensor_out, {n.view(n.cast(x, type), {Dim(1)}), None()});
      if (!n.ok()) return;
      n.state().method.value(counted).tensor()->shape = {*size};
      return n.output(0, *size);
    }
  }
  const DType type = n.dtype(x);
  const DType pythons = is_floating(type) ? DType::kF64 : type == DType::kBool ? type : DType::kI64;
  n.output(0, n.cast(n.view(x, {}), pythons));
}

constexpr OperatorRow kSymbolRows[] = {
    {"_assert_async", import_nothing},
    {"_assert_scalar", import_nothing},
    {"_assert_tensor_metadata", import_nothing},
    {"_functional_assert_async", import_nothing},
    {"_functional_assert_scalar", import_nothing},
    {"_functional_sym_constrain_range", import_nothing},
    {"_functional_sym_constrain_range_for_size", import_nothing},
    {"_local_scalar_dense", import_item},
    {"item", import_item},
    {"py:__and__", import_declared},
    {"py:_sym_sqrt", import_declared},
    {"py:sym_sqrt", import_declared},
    {"py:add", import_add},
    {"py:and_", import_declared},
    {"py:ceil", import_declared},
    {"py:eq", import_eq},
    {"py:floor", import_declared},
    {"py:floordiv", import_floordiv},
    {"py:ge", import_ge},
    {"py:gt", import_gt},
    {"py:le", import_le},
    {"py:lshift", import_declared},
    {"py:lt", import_lt},
    {"py:mod", import_mod},
    {"py:mul", import_mul},
    {"py:ne", import_ne},
    {"py:neg", import_neg},
    {"py:or_", import_declared},
    {"py:pos", import_declared},
    {"py:pow", import_declared},
    {"py:round", import_declared},
    {"py:rshift", import_declared},
    {"py:sub", import_sub},
    {"py:sym_float", import_declared},
    {"py:sym_int", import_declared},
    {"py:sym_ite", import_declared},
    {"py:sym_max", import_max},
    {"py:sym_min", import_min},
    {"py:sym_not", import_declared},
    {"py:truediv", import_declared},
    {"py:trunc", import_declared},
    {"sym_constrain_range", import_nothing},
    {"sym_constrain_range_for_size", import_nothing},
    {"sym_numel", import_sym_numel},
    {"sym_size", import_sym_size},
    {"sym_storage_offset", import_declared},
    {"sym_stride", import_declared},
};

}  // namespace

OperatorTable symbol_operators() { return kSymbolRows; }

}  // namespace berth::pt2
