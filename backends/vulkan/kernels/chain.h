// Chain: element-wise steps on f32 that tensors are read as, which have one size or stretch to it.
//
//   Chain chain(context);
//   const int x = chain.input(self);
//   chain.step(Op::kMulAdd, x, chain.constant(alpha), chain.input(other));
//   return chain.run(out);
#pragma once

#include <vector>

#include "backends/vulkan/kernels/launch.h"
#include "format/elementwise_code.h"

namespace berth::vulkan {

class Chain {
 public:
  explicit Chain(KernelContext& context) : context_(context) {}

  // An operand of later steps. REQUIRES: no more of each than elementwise_code.h allows.
  int input(const Tensor& tensor);
  int constant(double value);
  int step(elementwise::Op op, int a, int b = -1, int c = -1);

  /// Gives `out` the sizes that the inputs stretch to, and writes the last step's result. InvalidArgument when they do
  /// not go together.
  Error run(Tensor& out);
  /// The same where `out` has its sizes, which all inputs stretch to.
  Error run_sized(const Tensor& out);

 private:
  struct Number {
    elementwise::Op op;
    int a, b, c;
  };
  int64_t resolve(int operand) const;

  KernelContext& context_;
  std::vector<const Tensor*> inputs_;
  std::vector<double> constants_;
  std::vector<Number> steps_;
};

/// NotSupported unless all are f32, f16 or bf16. The target takes nothing else.
Error require_floats(KernelContext& context, Span<const Tensor* const> tensors);

}  // namespace berth::vulkan
