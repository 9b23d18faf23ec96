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

void right_shift_u64_loop(const Chunk& chunk) {
  binary_chunk<uint64_t, uint64_t>(chunk, [](uint64_t x, uint64_t y) { return y < 64 ? x >> y : 0; });
}

// All but the right shift do the same to the bits of i64 and u64.
constexpr Loops loops_of(Loop loop) {
  return {nullptr, nullptr, loop, loop == right_shift_loop ? right_shift_u64_loop : loop};
}

template <typename Args>
Error run_bits(KernelContext& context, const Args& args, Loop loop, bool shifts) {
  const DType common = promoted(args.self, args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_bits(context, common, shifts, &scalars));
  return run_binary(context, args.self, args.other, args.out, common, loops_of(loop), scalars);
}
template <typename Args>
Error run_scalar_bits(KernelContext& context, const Args& args, Loop loop, bool shifts) {
  const DType common = promote_scalar(args.self.dtype(), args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_bits(context, common, shifts, &scalars));
  return run_binary_scalar(context, args.self, args.other, args.out, common, loops_of(loop), false, scalars);
}

}  // namespace

Error bitwise_and_Tensor_out(KernelContext& context, const arguments::bitwise_and_Tensor_out& args) {
  return run_bits(context, args, and_loop, false);
}
Error bitwise_and_Scalar_out(KernelContext& context, const arguments::bitwise_and_Scalar_out& args) {
  return run_scalar_bits(context, args, and_loop, false);
}
Error bitwise_or_Tensor_out(KernelContext& context, const arguments::bitwise_or_Tensor_out& args) {
  return run_bits(context, args, or_loop, false);
}
Error bitwise_or_Scalar_out(KernelContext& context, const arguments::bitwise_or_Scalar_out& args) {
  return run_scalar_bits(context, args, or_loop, false);
}
Error bitwise_xor_Tensor_out(KernelContext& context, const arguments::bitwise_xor_Tensor_out& args) {
  return run_bits(context, args, xor_loop, false);
}
Error bitwise_xor_Scalar_out(KernelContext& context, const arguments::bitwise_xor_Scalar_out& args) {
  return run_scalar_bits(context, args, xor_loop, false);
}
Error bitwise_left_shift_Tensor_out(KernelContext& context, const arguments::bitwise_left_shift_Tensor_out& args) {
  return run_bits(context, args, left_shift_loop, true);
}
Error bitwise_left_shift_Tensor_Scalar_out(KernelContext& context,
                                           const arguments::bitwise_left_shift_Tensor_Scalar_out& args) {
  return run_scalar_bits(context, args, left_shift_loop, true);
}
Error bitwise_right_shift_Tensor_out(KernelContext& context, const arguments::bitwise_right_shift_Tensor_out& args) {
  return run_bits(context, args, right_shift_loop, true);
}
Error bitwise_right_shift_Tensor_Scalar_out(KernelContext& context,
                                            const arguments::bitwise_right_shift_Tensor_Scalar_out& args) {
  return run_scalar_bits(context, args, right_shift_loop, true);
}

}  // namespace berth::portable
