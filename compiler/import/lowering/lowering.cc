#include "compiler/import/lowering/lowering.h"

#include <algorithm>

#include "compiler/ir/print.h"

namespace berth::lowering {

void Lowering::fail(Error code, std::string message) {
  fail(Failure{code, name_.place, name_.type + ": " + std::move(message)});
}

void Lowering::fail(Failure failure) {
  if (!failure_.has_value()) failure_ = std::move(failure);
}

DType Lowering::dtype(ValueId v) const { return v.valid() ? method().tensor(v).dtype : DType::kF32; }

std::vector<Dim> Lowering::shape(ValueId v) const { return v.valid() ? method().tensor(v).shape : std::vector<Dim>(); }

int Lowering::rank(ValueId v) const { return v.valid() ? method().tensor(v).rank() : 0; }

Dim Lowering::dim(ValueId v, int axis) const {
  return axis >= 0 && axis < rank(v) ? method().tensor(v).shape[axis] : Dim(1);
}

Dim Lowering::product(const std::vector<Dim>& shape, int first, int last) {
  Dim result(1);
  for (int i = first; i < last && i < static_cast<int>(shape.size()); ++i) {
    result = symbols().mul(result, shape[i]);
  }
  return result;
}

std::string Lowering::type_text(ValueId v) const {
  return v.valid() ? ir::print(method().value(v).type, module().symbols) : "nothing";
}

int64_t Lowering::fixed(Dim dim, const char* what) {
  if (dim.is_constant()) return dim.value;
  unsupported(std::string(what) + " must be a number here, found " + symbols().text(dim) +
              "; give the input a fixed shape with --input-shape");
  return 1;
}

int Lowering::axis(int64_t axis, int rank) {
  if (!ok()) return 0;
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  invalid("axis " + std::to_string(axis) + " does not exist in a tensor of " + std::to_string(rank) + " dimensions");
  return 0;
}

std::vector<int> Lowering::axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  for (int64_t a : axes) {
    const int position = axis(a, rank);
    if (std::find(result.begin(), result.end(), position) != result.end()) {
      invalid("axis " + std::to_string(a) + " is named twice");
    }
    if (!ok()) return {};
    result.push_back(position);
  }
  return result;
}

const ir::Node* Lowering::producer(ValueId v) const {
  if (!v.valid()) return nullptr;
  const ir::Value& value = method().value(v);
  return value.kind == ir::ValueKind::kNode ? &method().node(value.node) : nullptr;
}

}  // namespace berth::lowering
