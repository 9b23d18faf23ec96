// A fused product whose weight is bf16 or f16, while its input and result are f32. Where the weight is bf16, the input
// may be that too, and so may the result: it is rounded at the end. A residual is f32.
//
// It is the product of f32 with that weight widened. Where the weight is bf16, the input is rounded to bf16 before, to
// the nearest and ties to even: so do processors that multiply bf16 (fast kernels may take denormal numbers as zeros
// then). Sums, bias, residual and activation are of f32.
#pragma once

#include <cstring>

#include "base/half.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/gemm_slots.h"
#include "runtime/arguments.h"
#include "runtime/kernel.h"
#include "runtime/signature.h"

namespace berth::portable {

inline bool is_narrow_weight(const Tensor& weight) { return has_16_bits(weight.dtype()); }

/// Whether the types of input and result are right for the narrow weight of a call.
template <typename Args>
bool fits_narrow_weight(const Args& args) {
  const bool pairs = args.weight.dtype() == DType::kBF16;
  const auto fits = [&](DType type) { return type == DType::kF32 || (pairs && type == DType::kBF16); };
  return fits(args.input.dtype()) && fits(args.out.dtype());
}

/// The temporary memory that WideArguments takes.
inline size_t wide_temp_bytes(const Tensor& input, const Tensor& weight, const Tensor& out) {
  if (!is_narrow_weight(weight)) return 0;
  const size_t rounded = weight.dtype() == DType::kBF16 ? input.numel() * sizeof(float) + kTempPadding : 0;
  const size_t result = out.dtype() == DType::kBF16 ? out.numel() * sizeof(float) + kTempPadding : 0;
  return weight.numel() * sizeof(float) + kTempPadding + rounded + result;
}

/// Arguments with a wide weight, an input that is rounded if it has to be, and a result of f32, in place of those of a
/// call. Args has the input first and the weight second, and the result last.
template <typename Args>
class WideArguments {
 public:
  explicit WideArguments(const Args& args) : given_(args), count_(args.values().size()) {
    for (size_t i = 0; i < count_; ++i) values_[i] = args.values()[i];
    replace(args.input, 0);
    replace(args.weight, 1);
    if (args.out.dtype() == DType::kBF16) replace(args.out, 2, count_ - 1);
  }
  WideArguments(const WideArguments&) = delete;
  WideArguments& operator=(const WideArguments&) = delete;

  /// Without it, or before it, the tensors have no elements that may be read. A result of bf16 has the sizes by then
  /// that it will have.
  Error fill(KernelContext& context) {
    const Tensor& weight = given_.weight;
    BERTH_RETURN_IF_ERROR(widen(context, weight, 1, false));
    if (has_narrow_result()) {
      tensors_[2].set_data(context.allocate_temp(given_.out.numel() * sizeof(float)));
      if (tensors_[2].raw() == nullptr) return Error::kMemoryAllocationFailed;
    }
    if (weight.dtype() == DType::kBF16) return widen(context, given_.input, 0, true);
    tensors_[0].set_data(given_.input.raw());
    return Error::kOk;
  }

  bool has_narrow_result() const { return given_.out.dtype() == DType::kBF16; }
  /// Rounds the result. REQUIRES: it is narrow; it was computed.
  void store_result(KernelContext& context) const {
    auto* const to = static_cast<uint8_t*>(given_.out.raw());
    const float* from = tensors_[2].template data<float>();
    context.parallel_for(given_.out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      convert_elements(DType::kF32, from + begin, DType::kBF16, to + begin * sizeof(uint16_t), end - begin);
    });
  }

  Args args() const { return Args({values_, count_}); }

 private:
  void replace(const Tensor& tensor, size_t k) { replace(tensor, k, k); }
  void replace(const Tensor& tensor, size_t k, size_t place) {
    std::memcpy(sizes_[k], tensor.sizes().data(), tensor.rank() * sizeof(int32_t));
    tensors_[k] = Tensor(DType::kF32, tensor.rank(), sizes_[k], tensor.dim_order().data(), strides_[k], nullptr,
                         tensor.dynamism(), tensor.device());
    tensors_[k].set_capacity(tensor.capacity());
    replaced_[k] = EValue(&tensors_[k]);
    values_[place] = &replaced_[k];
  }

  Error widen(KernelContext& context, const Tensor& tensor, size_t k, bool round) {
    const int64_t count = tensor.numel();
    auto* const wide = static_cast<float*>(context.allocate_temp(count * sizeof(float)));
    if (wide == nullptr) return Error::kMemoryAllocationFailed;
    tensors_[k].set_data(wide);
    const auto* from = tensor.data<uint8_t>();
    const size_t size = element_size(tensor.dtype());
    context.parallel_for(count, 1 << 14, [&](int64_t begin, int64_t end) {
      convert_elements(tensor.dtype(), from + begin * size, DType::kF32, wide + begin, end - begin);
      if (!round) return;
      for (int64_t i = begin; i < end; ++i) wide[i] = static_cast<float>(BFloat16(wide[i]));
    });
    return Error::kOk;
  }

  Args given_;
  int32_t sizes_[3][kMaxRank];
  int64_t strides_[3][kMaxRank];
  Tensor tensors_[3];
  EValue replaced_[3];
  EValue* values_[Signature::kMaxParameters];
  size_t count_;
};

}  // namespace berth::portable
