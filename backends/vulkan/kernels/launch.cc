#include "backends/vulkan/kernels/launch.h"

#include <cstring>

namespace berth::vulkan {

Launch::Launch(KernelContext& context, ShaderId shader)
    : context_(context), session_(*static_cast<Session*>(context.user())) {
  step_.shader = shader;
}

Launch::Launch(KernelContext& context, ShaderId shader, ShaderId texels) : Launch(context, shader) {
  if (session_.gpu->reads_texels()) step_.shader = texels;
}

Launch& Launch::constant(int64_t value) {
  fits_ = fits_ && value >= 0 && value <= UINT32_MAX;
  step_.constants.push_back(static_cast<uint32_t>(value));
  return *this;
}

Launch& Launch::check(int64_t value) {
  fits_ = fits_ && value >= INT32_MIN && value <= INT32_MAX;
  return *this;
}

Launch& Launch::number(int64_t value) {
  check(value);
  step_.numbers.push_back(static_cast<int32_t>(value));
  return *this;
}

Launch& Launch::real(double value) {
  const auto rounded = static_cast<float>(value);
  int32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof bits);
  step_.numbers.push_back(bits);
  return *this;
}

Launch& Launch::rounds(int64_t count) {
  constexpr int64_t kMost = 65000;
  ends_ = ends_ && (!session_.gpu->reads_texels() || count <= kMost);
  return *this;
}

Launch& Launch::walk(const portable::Walk& walk) {
  for (int d = 0; d < walk.rank; ++d) number(walk.sizes[d]);
  for (int k = 0; k < walk.operands; ++k) {
    for (int d = 0; d < walk.rank; ++d) number(walk.strides[k][d]);
  }
  return *this;
}

Launch& Launch::bind(const Tensor* tensor, bool writes, const Range* range) {
  Binding binding;
  if (tensor != nullptr && tensor->numel() > 0) {
    const size_t element = element_size(tensor->dtype());
    const Range part = range == nullptr ? Range{0, tensor->numel()} : *range;
    binding.bytes = (part.end - part.begin) * element;
    binding.writes = writes;
    fits_ = fits_ && binding.bytes + 256 <= session_.gpu->limits().range_bytes;
    const void* const first = static_cast<const uint8_t*>(tensor->raw()) + part.begin * static_cast<int64_t>(element);
    const bool inside = part.begin >= 0 && part.end <= tensor->numel();
    found_ = found_ && inside && session_.blocks->find(first, binding.bytes, session_.gpu, &binding.place);
  }
  step_.bindings.push_back(binding);
  return *this;
}

Error Launch::run(int64_t count, int64_t items_a_group) {
  if (count == 0) return Error::kOk;
  if (!found_) return context_.fail(Error::kInvalidArgument, "a tensor is not memory of this device");
  if (!fits_ || count > INT32_MAX) {
    return context_.fail(Error::kNotSupported, "a tensor is larger than kernels of this device can see at once");
  }
  if (!ends_) return context_.fail(Error::kNotSupported, "this device's driver does not loop over so many elements");
  step_.count = static_cast<uint32_t>(count);
  step_.items_a_group = static_cast<uint32_t>(items_a_group);
  session_.steps.push_back(std::move(step_));
  return Error::kOk;
}

}  // namespace berth::vulkan
