// Libraries: what NVIDIA's libraries do better than the kernels of this room, where they are there and take the case.
#pragma once

namespace berth::portable {
struct Product;
struct Convolution;
}  // namespace berth::portable

namespace berth::cuda {

/// Of one stream. Everything it needs while it runs (handles, memory to work in) it took when it was made. Each call
/// queues its work in that stream; false means that nothing was queued, and the room's own kernel does it instead.
class Libraries {
 public:
  virtual ~Libraries() = default;

  /// A product of matrices, or of a batch of them (kernels/portable/gemm.h), by cuBLASLt.
  virtual bool product(const portable::Product& product) = 0;

  /// A forward convolution (kernels/portable/conv_arguments.h), its bias included, by cuDNN. Strides are filled in.
  virtual bool convolution(const portable::Convolution& convolution) = 0;
};

}  // namespace berth::cuda
