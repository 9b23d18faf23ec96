#include "compiler/ir/fused_checks.h"

#include <algorithm>
#include <cstdlib>

#include "format/activation_names.h"

namespace berth::ir {

const std::string& text_of(const ShapeArgs& args, size_t i) { return std::get<std::string>(args.argument(i)); }

Status expect_activation(const ShapeArgs& args, size_t i) {
  const std::string& name = text_of(args, i);
  const auto same = [&](const char* known) { return name == known; };
  if (std::any_of(std::begin(kActivationNames), std::end(kActivationNames), same)) return Done{};
  return args.fail("expected an activation such as 'none', 'relu' or 'gelu', found '" + name + "'");
}

Status expect_f32(const ShapeArgs& args, const TensorType& type) {
  if (type.dtype == DType::kF32) return Done{};
  return args.fail(Error::kInvalidType, "expected f32, found " + args.text(type));
}

Status expect_residual(const ShapeArgs& args, size_t i, const Shape& shape) {
  const TensorType* residual = args.optional_tensor(i);
  if (residual == nullptr) return Done{};
  BERTH_TRY(expect_f32(args, *residual));
  if (residual->shape == shape) return Done{};
  return args.fail("expected a residual of " + args.text(shape) + ", found " + args.text(*residual));
}

Expected<Shape> packed_shape(const ShapeArgs& args, const std::string& packing) {
  const auto broken = [&] {
    return args.fail("expected a packing that holds the weight's sizes, '… [64,3,7,7] …', found '" + packing + "'");
  };
  Shape shape;
  const size_t open = packing.find('[');
  if (open == std::string::npos) return broken();
  const char* at = packing.c_str() + open + 1;
  while (*at != ']') {
    char* end = nullptr;
    const long long size = std::strtoll(at, &end, 10);
    if (end == at || size < 1 || size > kMaxSize || shape.size() >= kMaxRank) return broken();
    shape.push_back(Dim(size));
    if (*end != ',' && *end != ']') return broken();
    at = *end == ',' ? end + 1 : end;
  }
  return shape;
}

}  // namespace berth::ir
