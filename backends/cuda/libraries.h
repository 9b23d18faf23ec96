// Libraries: cuBLASLt and cuDNN, for operators that they compute faster than this backend's own kernels.
#pragma once

namespace berth::portable {
struct Product;
struct Convolution;
}  // namespace berth::portable

namespace berth::cuda {

/// Belongs to one stream. Handles and workspace are allocated on construction. Each call queues its work in that
/// stream; false means that the result is not there, so that the backend's own kernel must run instead.
class Libraries {
 public:
  virtual ~Libraries() = default;

  /// A product of matrices, or of a batch of them (kernels/portable/gemm.h), by cuBLASLt.
  virtual bool product(const portable::Product& product) = 0;

  /// A convolution with bias, forward or transposed (kernels/portable/conv_arguments.h), by cuDNN; with `accumulate`,
  /// added to what stands in `out`, which is as it was when the result is false and there is no bias. Strides must be
  /// filled in.
  virtual bool convolution(const portable::Convolution& convolution, bool accumulate) = 0;

  /// Forgets which problems a library failed at: what failed while work was recorded may not fail again.
  virtual void forget_failures() = 0;
};

}  // namespace berth::cuda
