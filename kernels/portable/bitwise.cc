// Bitwise operators on integers and bool, and shifts of integers.
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

void and_loop(const Chunk& chunk) {
  binary_chunk<int64_t, int64_t>(chunk, [](int64_t x, int64_t y) { return x & y; });
}
void or_loop(const Chunk& chunk) {
  binary_chunk<int64_t, int64_t>(chunk, [](int64_t x, int64_t y) { return x | y; });
}
void xor_loop(const Chunk& chunk) {
  binary_chunk<int64_t, int64_t>(chunk, [](int64_t x, int64_t y) { return x ^ y; });
}

// whole[0] is the number of bits of the type. Too far a shift leaves nothing of it.
void left_shift_loop(const Chunk& chunk) {
  const int64_t bits = chunk.scalars->whole[0];
  binary_chunk<int64_t, int64_t>(chunk, [bits](int64_t x, int64_t y) {
    if (y < 0 || y >= bits) return int64_t{0};
    return static_cast<int64_t>(static_cast<uint64_t>(x) << y);
  });
}
// Elements are sign-extended, so that too far a shift leaves the sign alone.
void right_shift_loop(const Chunk& chunk) {
  const int64_t bits = chunk.scalars->whole[0];
  binary_chunk<int64_t, int64_t>(chunk, [bits](int64_t x, int64_t y) {
    if (y >= 0 && y < bits) return x >> y;
    return x < 0 ? int64_t{-1} : int64_t{0};
  });
}

Error run_bits(KernelContext& context, Span<EValue* const> args, Loop loop, bool shifts) {
  const Tensor& self = args[0]->tensor();
  const EValue& other = *args[1];
  Tensor& out = args[2]->tensor();
  DType common = DType::kI64;
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_bits(context, self, other, shifts, &common, &scalars));
  const Loops loops = {nullptr, nullptr, loop};
  if (other.is_tensor()) return run_binary(context, self, other.tensor(), out, common, loops, scalars);
  return run_binary_scalar(context, self, other, out, common, loops, false, scalars);
}

}  // namespace

Error bitwise_and_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, and_loop, false);
}
Error bitwise_and_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, and_loop, false);
}
Error bitwise_or_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, or_loop, false);
}
Error bitwise_or_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, or_loop, false);
}
Error bitwise_xor_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, xor_loop, false);
}
Error bitwise_xor_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, xor_loop, false);
}
Error bitwise_left_shift_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, left_shift_loop, true);
}
Error bitwise_left_shift_Tensor_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, left_shift_loop, true);
}
Error bitwise_right_shift_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, right_shift_loop, true);
}
Error bitwise_right_shift_Tensor_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_bits(context, args, right_shift_loop, true);
}

}  // namespace berth::portable
