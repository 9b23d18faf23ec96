// A fused product whose weight is bf16 or f16, while its input and result are f32.
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

inline bool is_narrow_weight(const Tensor& weight) {
  return weight.dtype() == DType::kBF16 || weight.dtype() == DType::kF16;
}

/// The temporary memory that WideArguments takes.
inline size_t wide_temp_bytes(const Tensor& input, const Tensor& weight) {
  if (!is_narrow_weight(weight)) return 0;
  const size_t rounded = weight.dtype() == DType::kBF16 ? input.numel() * sizeof(float) + kTempPadding : 0;
  return weight.numel() * sizeof(float) + kTempPadding + rounded;
}

/// Arguments with a wide weight, and an input that is rounded if it has to be, in place of those of a call. Args has the
/// input first and the weight second.
template <typename Args>
class WideArguments {
 public:
  explicit WideArguments(const Args& args) : given_(args), count_(args.values().size()) {
    for (size_t i = 0; i < count_; ++i) values_[i] = args.values()[i];
    replace(args.input, 0);
    replace(args.weight, 1);
  }
  WideArguments(const WideArguments&) = delete;
  WideArguments& operator=(const WideArguments&) = delete;

  /// Without it, or before it, the tensors have no elements that may be read.
  Error fill(KernelContext& context) {
    const Tensor& weight = given_.weight;
    BERTH_RETURN_IF_ERROR(widen(context, weight, 1, false));
    if (weight.dtype() == DType::kBF16) return widen(context, given_.input, 0, true);
    tensors_[0].set_data(given_.input.raw());
    return Error::kOk;
  }

  Args args() const { return Args({values_, count_}); }

 private:
  void replace(const Tensor& tensor, size_t k) {
    std::memcpy(sizes_[k], tensor.sizes().data(), tensor.rank() * sizeof(int32_t));
    tensors_[k] = Tensor(DType::kF32, tensor.rank(), sizes_[k], tensor.dim_order().data(), strides_[k], nullptr,
                         tensor.dynamism(), tensor.device());
    replaced_[k] = EValue(&tensors_[k]);
    values_[k] = &replaced_[k];
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
  int32_t sizes_[2][kMaxRank];
  int64_t strides_[2][kMaxRank];
  Tensor tensors_[2];
  EValue replaced_[2];
  EValue* values_[Signature::kMaxParameters];
  size_t count_;
};

}  // namespace berth::portable
