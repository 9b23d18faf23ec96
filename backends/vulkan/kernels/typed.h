// Typed: one element-wise operator on tensors and numbers of any type that the device has (shaders/typed.comp).
//
//   return Typed(context, TypedOp::kLess).tensor(args.self).tensor(args.other).run(args.out);
#pragma once

#include <vector>

#include "backends/vulkan/kernels/launch.h"
#include "kernels/portable/create_scalar.h"

namespace berth::vulkan {

/// With the values that typed.comp knows; up to kBitNot they share a pipeline for each type.
enum class TypedOp : int64_t {
  kCopy = 0,      // a, in the type of the result
  kAddMul = 1,    // a + b * c
  kMul = 2,       // a * b
  kMin = 3,       // the smaller of a and b
  kMax = 4,       // the larger
  kNeg = 5,       // -a
  kAbs = 6,       // |a|
  kClamp = 7,     // a limited to [b, c]
  kEqual = 8,     // these compare a with b
  kNotEqual = 9,  //
  kLess = 10,
  kLessEqual = 11,
  kGreater = 12,
  kGreaterEqual = 13,
  kAnd = 14,  // these say whether a, and b, are not 0
  kOr = 15,
  kXor = 16,
  kNot = 17,
  kBitAnd = 18,
  kBitOr = 19,
  kBitXor = 20,
  kBitNot = 21,
  kIsNan = 25,  // these say what a is
  kIsInf = 26,
  kShiftLeft = 27,   // a shifted by b bits
  kShiftRight = 28,  // the same, with the sign of a
  kCount = 29,       // a + b * the place of the element, as real numbers where b is one
  kWhere = 22,       // a ? b : c, of one type with the result
  kQuantize = 23,    // round(a / b) + c, within limits; a number b is the inverse of the scale
  kDequantize = 24,  // (a - c) * b
};

class Typed {
 public:
  Typed(KernelContext& context, TypedOp op) : context_(context), op_(op) {}

  /// The next operand, a, b, c in this order. REQUIRES: the tensor outlives this, as do those behind it.
  Typed& tensor(const Tensor& tensor) { return operand({&tensor, {0, 0}}); }
  Typed& whole(int64_t number);
  Typed& real(double number);
  /// As what elements of `dtype` are compared with it in.
  Typed& scalar(const EValue& number, DType dtype);
  /// The bits of `number` as an element of `dtype`, for kWhere.
  Typed& element(const EValue& number, DType dtype);
  /// The same of the bytes of an element.
  Typed& element(const portable::Element& bytes);
  /// Of the result of quantisation. REQUIRES: of 32 bits.
  Typed& limits(int64_t low, int64_t high);

  /// Gives `out` the sizes that the tensors stretch to. InvalidArgument when they do not go together.
  Error run(Tensor& out);
  /// The same where `out` has its sizes.
  Error run_sized(const Tensor& out);

 private:
  struct Operand {
    const Tensor* tensor;
    uint32_t words[2];
  };
  Typed& operand(const Operand& operand) {
    operands_.push_back(operand);
    return *this;
  }
  // Where one operand is a real number, as a comparison of whole ones with one may have it.
  bool in_real_numbers() const;
  int64_t kind() const;

  KernelContext& context_;
  TypedOp op_;
  std::vector<Operand> operands_;
  bool has_real_ = false;
  int64_t limits_[2] = {0, 0};
};

/// Whether all are of f32, f16 or bf16, which kernels of their own compute with.
bool all_floats(Span<const Tensor* const> tensors);

/// Fills `out` with `value`, of its dtype, and gives it `sizes`.
Error fill(KernelContext& context, const portable::Element& value, const portable::Sizes& sizes, Tensor& out);

/// Copies the box of `from` that begins at element `from_offset` with these strides to that of `to`, which may be of
/// another type.
Error copy_box(KernelContext& context, Span<const int32_t> sizes, const Tensor& from, int64_t from_offset,
               Span<const int64_t> from_strides, const Tensor& to, int64_t to_offset, Span<const int64_t> to_strides);

}  // namespace berth::vulkan
