#include "backends/vulkan/kernels/typed.h"

#include <algorithm>
#include <cstring>

#include "backends/vulkan/kernels/places.h"
#include "format/elementwise_code.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/promotion.h"

namespace berth::vulkan {
namespace {

constexpr size_t kOperands = 3;

bool is_float(DType dtype) { return dtype == DType::kF32 || has_16_bits(dtype); }

// The last numbers of the kernel, which has kOperands operands whether they are there or not.
template <size_t kTensors>
void put_walk(Launch& ask, int rank, const PlacesOf<kTensors>& places, size_t tensors) {
  ask.number(rank);
  for (int d = 0; d < rank; ++d) ask.number(places.sizes[d]);
  for (size_t k = 0; k <= kOperands; ++k) {
    for (int d = 0; d < rank; ++d) ask.number(k < tensors ? places.strides[k][d] : 0);
  }
}

using BoxPlaces = PlacesOf<2>;

struct Box {
  BoxPlaces places;
  Range read;
  Range written;
  int64_t count = 1;
};

// In the order of the target's memory.
Box box_of(Span<const int32_t> sizes, int64_t from_offset, Span<const int64_t> from_strides, int64_t to_offset,
           Span<const int64_t> to_strides) {
  std::vector<size_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to_strides[a] > to_strides[b]; });
  Box box;
  box.read = {from_offset, from_offset + 1};
  box.written = {to_offset, to_offset + 1};
  for (const size_t d : order) {
    const int64_t strides[] = {to_strides[d], from_strides[d]};
    box.count *= sizes[d];
    box.places.add(sizes[d], 2, strides);
    box.read.extend(sizes[d], from_strides[d]);
    box.written.extend(sizes[d], to_strides[d]);
  }
  return box;
}

// Makes the box one of words where bytes that lie side by side can be copied four at a time.
bool join_bytes(const Tensor& from, const Tensor& to, Box* box) {
  BoxPlaces& places = box->places;
  const int inner = places.rank - 1;
  if (from.dtype() != to.dtype() || element_size(from.dtype()) != 1 || inner < 0) return false;
  const auto begins = [](const Tensor& tensor, const Range& range) {
    return (reinterpret_cast<uintptr_t>(tensor.raw()) + static_cast<uintptr_t>(range.begin)) % 4 == 0;
  };
  if (!begins(from, box->read) || !begins(to, box->written) || places.sizes[inner] % 4 != 0) return false;
  for (auto& strides : places.strides) {
    if (strides[inner] != 1) return false;
    for (int d = 0; d < inner; ++d) {
      if (strides[d] % 4 != 0) return false;
    }
  }
  for (auto& strides : places.strides) {
    for (int d = 0; d < inner; ++d) strides[d] /= 4;
  }
  places.sizes[inner] /= 4;
  box->count /= 4;
  return true;
}

}  // namespace

bool all_floats(Span<const Tensor* const> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* tensor) { return tensor == nullptr || is_float(tensor->dtype()); });
}

Typed& Typed::whole(int64_t number) {
  const auto bits = static_cast<uint64_t>(number);
  return operand({nullptr, {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)}});
}

Typed& Typed::real(double number) {
  const auto rounded = static_cast<float>(number);
  Operand made = {nullptr, {0, 0}};
  std::memcpy(&made.words[0], &rounded, sizeof rounded);
  has_real_ = true;
  return operand(made);
}

Typed& Typed::scalar(const EValue& number, DType dtype) {
  const DType common = portable::promote_scalar(dtype, number);
  if (!is_float(common)) {
    int64_t value = 0;
    std::memcpy(&value, portable::ScalarElement(number, common, DType::kI64).bytes, sizeof value);
    return whole(value);
  }
  float value = 0;
  std::memcpy(&value, portable::ScalarElement(number, common, DType::kF32).bytes, sizeof value);
  return real(static_cast<double>(value));
}

Typed& Typed::element(const EValue& number, DType dtype) {
  Operand made = {nullptr, {0, 0}};
  if (number.is_double()) {
    const double value = number.scalar_to<double>();
    portable::convert_elements(DType::kF64, &value, dtype, made.words, 1);
  } else {
    const auto value = number.scalar_to<int64_t>();
    portable::convert_elements(DType::kI64, &value, dtype, made.words, 1);
  }
  return operand(made);
}

Typed& Typed::element(const portable::Element& bytes) {
  Operand made = {nullptr, {0, 0}};
  std::memcpy(made.words, bytes.bytes, sizeof made.words);
  return operand(made);
}

Typed& Typed::limits(int64_t low, int64_t high) {
  limits_[0] = low;
  limits_[1] = high;
  return *this;
}

bool Typed::in_real_numbers() const {
  return has_real_ || std::any_of(operands_.begin(), operands_.end(), [](const Operand& operand) {
           return operand.tensor != nullptr && is_float(operand.tensor->dtype());
         });
}

// As in typed.comp.
int64_t Typed::kind() const {
  switch (op_) {
    case TypedOp::kCopy: return 0;
    case TypedOp::kWhere: return 3;
    case TypedOp::kQuantize: return 4;
    case TypedOp::kDequantize: return 5;
    case TypedOp::kCount: return has_real_ ? 7 : 6;
    default: return in_real_numbers() ? 2 : 1;
  }
}

Error Typed::run(Tensor& out) {
  portable::Sizes sizes;
  for (const Operand& operand : operands_) {
    if (operand.tensor != nullptr && !portable::broadcast_sizes(operand.tensor->sizes(), &sizes)) {
      return context_.fail(Error::kInvalidArgument, "the sizes of the tensors do not go together");
    }
  }
  BERTH_RETURN_IF_ERROR(portable::resize_out(context_, out, sizes.span()));
  return run_sized(out);
}

Error Typed::run_sized(const Tensor& out) {
  using Places = PlacesOf<kOperands + 1>;
  const Tensor* tensors[kOperands] = {nullptr, nullptr, nullptr};
  int64_t present = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    tensors[k] = operands_[k].tensor;
    if (tensors[k] != nullptr) present |= int64_t{1} << k;
  }
  const Places places = Places::of(out, tensors);
  // What is not there has no stride, and does not count for whether all lie alike.
  bool flat = places.rank <= 1;
  for (size_t k = 0; k <= kOperands; ++k) {
    const bool counts = k == 0 || tensors[k - 1] != nullptr;
    flat = flat && (places.rank == 0 || !counts || places.strides[k][0] == 1);
  }
  Launch ask = Launch::of_any_type(context_, ShaderId::typed_words, ShaderId::typed);
  ask.constant(kind()).writes(out);
  for (const Tensor* tensor : tensors) ask.reads(tensor);
  ask.number(0).number(0).number(static_cast<int64_t>(op_)).number(present);
  for (size_t k = 0; k < kOperands; ++k) {
    for (size_t word = 0; word < 2; ++word) ask.word(k < operands_.size() ? operands_[k].words[word] : 0);
  }
  ask.number(limits_[0]).number(limits_[1]);
  put_walk(ask, flat ? 0 : places.rank, places, kOperands + 1);
  return ask.run(out.numel());
}

Error fill(KernelContext& context, const portable::Element& value, const portable::Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, sizes.span()));
  // A choice whose condition is a number.
  Typed typed(context, TypedOp::kWhere);
  return typed.whole(1).element(value).element(value).run_sized(out);
}

Error copy_box(KernelContext& context, Span<const int32_t> sizes, const Tensor& from, int64_t from_offset,
               Span<const int64_t> from_strides, const Tensor& to, int64_t to_offset, Span<const int64_t> to_strides) {
  if (std::count_if(sizes.begin(), sizes.end(), [](int32_t size) { return size != 1; }) > kMaxRank) {
    return context.fail(Error::kNotSupported, "vulkan devices copy boxes of at most 16 dimensions");
  }
  Box box = box_of(sizes, from_offset, from_strides, to_offset, to_strides);
  if (box.count == 0) return Error::kOk;
  const Tensor* const both[] = {&from, &to};
  const int64_t unit = join_bytes(from, to, &box) ? 4 : 1;
  const int rank = box.places.is_flat(2) ? 0 : box.places.rank;
  if (unit == 4 || all_floats(both)) {
    // A chain of no steps.
    Launch ask(context, ShaderId::elementwise_simple, ShaderId::elementwise_simple_texels);
    ask.constant(1).constant(0).constant(0).constant(rank);
    ask.writes(to, box.written).reads(from, box.read);
    for (size_t k = 1; k < elementwise::kMaxInputs; ++k) ask.none();
    ask.number((from_offset - box.read.begin) / unit).number((to_offset - box.written.begin) / unit);
    return box.places.run(ask, 2, box.count);
  }
  Launch ask = Launch::of_any_type(context, ShaderId::typed_words, ShaderId::typed);
  ask.constant(0).writes(to, box.written).reads(from, box.read).none().none();
  ask.number(from_offset - box.read.begin).number(to_offset - box.written.begin);
  ask.number(static_cast<int64_t>(TypedOp::kCopy)).number(1);
  for (int k = 0; k < 8; ++k) ask.number(0);  // numbers of operands, and limits
  put_walk(ask, rank, box.places, 2);
  return ask.run(box.count);
}

}  // namespace berth::vulkan
