#include "backends/vulkan/kernels/launch.h"

#include <algorithm>
#include <cstring>

namespace berth::vulkan {
namespace {

// As in shaders/narrow.glsl and typed.glsl.
enum ElementType : uint32_t { kF32, kF16, kBF16, kF32AsBF16, kBool, kU8, kI8, kI32, kI64 };

// Kernels of floats see other types as words.
ElementType type_of(DType dtype, bool any_type) {
  switch (dtype) {
    case DType::kF16: return kF16;
    case DType::kBF16: return kBF16;
    case DType::kBool: return any_type ? kBool : kF32;
    case DType::kU8: return any_type ? kU8 : kF32;
    case DType::kI8: return any_type ? kI8 : kF32;
    case DType::kI32: return any_type ? kI32 : kF32;
    case DType::kI64: return any_type ? kI64 : kF32;
    default: return kF32;
  }
}

// The kernel that does the same for tensors some of which have 16 bits. False where there is none.
bool narrow_form(ShaderId* shader) {
  switch (*shader) {
#define FORM(identifier) \
  case ShaderId::identifier: *shader = ShaderId::identifier##_narrow; return true
    FORM(elementwise_functions);
    FORM(elementwise_4);
    FORM(elementwise_8);
    FORM(elementwise_32);
    FORM(product_1);
    FORM(product_4);
    FORM(product_1_vectors);
    FORM(product_4_vectors);
    FORM(block_32);
    FORM(block_64);
    FORM(deep);
    FORM(pool);
    FORM(reduce);
    FORM(softmax);
    FORM(norm);
    FORM(row_reduce);
    FORM(row_softmax);
    FORM(row_norm);
    FORM(upsample);
    FORM(view);
#undef FORM
    case ShaderId::elementwise_simple: *shader = ShaderId::elementwise_4_narrow; return true;
    default: return false;
  }
}

}  // namespace

Launch::Launch(KernelContext& context, ShaderId shader)
    : context_(context), session_(*static_cast<Session*>(context.user())), shader_(shader) {
  step_.shader = shader;
}

Launch::Launch(KernelContext& context, ShaderId shader, ShaderId texels) : Launch(context, shader) {
  if (session_.gpu->reads_texels()) step_.shader = texels;
}

Launch Launch::of_any_type(KernelContext& context, ShaderId words, ShaderId all) {
  Launch made(context, words);
  made.shader_ = all;
  made.any_type_ = true;
  return made;
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

Launch& Launch::word(uint32_t bits) {
  step_.numbers.push_back(static_cast<int32_t>(bits));
  return *this;
}

Launch& Launch::rounds(int64_t count) {
  constexpr int64_t kMost = 65000;
  ends_ = ends_ && (!session_.gpu->ends_loops() || count <= kMost);
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
    const bool whole = !any_type_ && type_of(tensor->dtype(), false) == kF32;
    binding.element_bytes = whole ? 4 : static_cast<uint32_t>(element);
    fits_ = fits_ && binding.bytes + 256 <= session_.gpu->limits().range_bytes;
    const void* const first = static_cast<const uint8_t*>(tensor->raw()) + part.begin * static_cast<int64_t>(element);
    const bool inside = part.begin >= 0 && part.end <= tensor->numel();
    found_ = found_ && inside && session_.blocks->find(first, binding.bytes, session_.gpu, &binding.place);
  }
  step_.bindings.push_back(binding);
  step_.types.push_back(tensor == nullptr ? kF32 : type_of(tensor->dtype(), any_type_));
  return *this;
}

Launch& Launch::faults() {
  Binding binding;
  binding.place = session_.stream->faults();
  binding.bytes = VulkanStream::kFaultBytes;
  binding.writes = true;
  binding.in_any_order = true;  // who is first says what it has found
  step_.reports = true;
  step_.bindings.push_back(binding);
  step_.types.push_back(kF32);
  return *this;
}

Launch& Launch::as_bf16() {
  step_.types.back() = kF32AsBF16;
  return *this;
}

// Whether the kernel as it is gets f32 from views of texels, for all that has 16 bits.
bool Launch::views_give_all() const {
  const char* const kinds = shader(step_.shader).kinds;
  for (size_t k = 0; k < step_.types.size(); ++k) {
    const bool view = kinds[k] == 's' || kinds[k] == 't';
    if (step_.types[k] != kF32 && (step_.types[k] != kF16 || !view)) return false;
  }
  return true;
}

bool Launch::is_narrow() const {
  return std::any_of(step_.types.begin(), step_.types.end(), [](uint32_t type) { return type != kF32; });
}

bool Launch::has_less_than_words() const {
  return std::any_of(step_.bindings.begin(), step_.bindings.end(), [](const Binding& binding) {
    return binding.place.block != nullptr && binding.element_bytes < 4;
  });
}

// The kernel for the types that the tensors have.
Error Launch::choose_form() {
  const Gpu& gpu = *session_.gpu;
  if (any_type_) {
    if (!has_less_than_words()) return Error::kOk;
    step_.shader = shader_;
    if (gpu.stores_16_bits() && gpu.stores_8_bits()) return Error::kOk;
    return context_.fail(Error::kNotSupported, "this device does not store elements of 8 and 16 bits in buffers");
  }
  if (!is_narrow()) {
    step_.types.clear();
    return Error::kOk;
  }
  if (views_give_all()) return Error::kOk;
  if (!gpu.stores_16_bits()) {
    return context_.fail(Error::kNotSupported, "this device does not store elements of 16 bits in buffers");
  }
  step_.shader = shader_;
  if (narrow_form(&step_.shader)) return Error::kOk;
  return context_.fail(Error::kNotSupported, "vulkan devices have no such kernel for elements of 16 bits");
}

Error Launch::run(int64_t count, int64_t items_a_group) {
  if (count == 0) return Error::kOk;
  if (!found_) return context_.fail(Error::kInvalidArgument, "a tensor is not memory of this device");
  const size_t numbers = 1 + step_.bindings.size() + step_.numbers.size();
  if (numbers > Gpu::kMostNumbers) {
    return context_.fail(Error::kNotSupported,
                         "tensors of so many dimensions are more than a kernel of this device reads");
  }
  if (!fits_ || count > INT32_MAX) {
    return context_.fail(Error::kNotSupported, "a tensor is larger than kernels of this device can see at once");
  }
  if (!ends_) return context_.fail(Error::kNotSupported, "this device's driver does not loop over so many elements");
  BERTH_RETURN_IF_ERROR(choose_form());
  step_.count = static_cast<uint32_t>(count);
  step_.items_a_group = static_cast<uint32_t>(items_a_group);
  session_.steps.push_back(std::move(step_));
  return Error::kOk;
}

}  // namespace berth::vulkan
