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

/// Functions of floats that element-wise code does not have: shaders/functions.glsl has them by these numbers. They are
/// computed by a kernel of their own, with sums, products, quotients and limits alone beside them.
enum class Function : uint8_t {
  kAcos = 64,
  kAcosh = 65,
  kAsin = 66,
  kAsinh = 67,
  kAtan = 68,
  kAtanh = 69,
  kCeil = 70,
  kCos = 71,
  kCosh = 72,
  kExpm1 = 73,
  kFloor = 74,
  kLog10 = 75,
  kLog1p = 76,
  kLog2 = 77,
  kSign = 78,
  kSin = 79,
  kSinh = 80,
  kTan = 81,
  kTrunc = 82,
  kLogit = 83,
  kAtan2 = 84,        // of a / b
  kFmod = 85,         // what is left of a multiple of b, with the sign of a
  kRemainder = 86,    // with that of b
  kFloorDivide = 87,  // the largest whole number up to a / b
};

class Chain {
 public:
  explicit Chain(KernelContext& context) : context_(context) {}

  // An operand of later steps. REQUIRES: no more of each than elementwise_code.h allows.
  int input(const Tensor& tensor);
  /// Where the elements of the first input begin. REQUIRES: all that is read of it lies within it.
  void begin_at(int64_t element) { first_ = element; }
  int constant(double value);
  int step(elementwise::Op op, int a, int b = -1, int c = -1);
  /// REQUIRES: of at most four steps in all.
  int step(Function function, int a, int b = -1) { return step(static_cast<elementwise::Op>(function), a, b); }

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
  int64_t first_ = 0;
  std::vector<const Tensor*> inputs_;
  std::vector<double> constants_;
  std::vector<Number> steps_;
};

/// NotSupported unless all are f32, f16 or bf16. The target takes nothing else.
Error require_floats(KernelContext& context, Span<const Tensor* const> tensors);

}  // namespace berth::vulkan
