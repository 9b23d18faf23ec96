// Elements that are known become a tensor where one is asked for.
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

ValueId NodeContext::materialize(const Known& known, std::string_view name) {
  std::vector<Dim> shape(known.shape.begin(), known.shape.end());
  if (known.is_constant()) {
    ir::TensorType type;
    type.dtype = known.dtype;
    type.shape = std::move(shape);
    if (!may_be_constant(type)) return {};
    return state_.build.constant(std::move(type), ir::Blob::owned(bytes_of(known)), name);
  }
  ValueList parts;
  for (const Number& number : known.elements) {
    const std::vector<Argument> args{DimList{Dim(1)}, number.whole, Dim(static_cast<int64_t>(known.dtype))};
    parts.push_back(append(OpId::full_out, args, std::string(name) + ".size"));
  }
  const ValueId line = parts.size() == 1 ? parts[0] : append(OpId::cat_out, {parts, Dim(0)}, name);
  const ValueId result = view(line, std::move(shape));
  if (ok()) state_.method.rename(result, name);
  return result;
}

}  // namespace berth::onnx
