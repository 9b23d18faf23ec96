#include "kernels/portable/promotion.h"

namespace berth::portable {
namespace {

Error run_one(KernelContext& context, const Tensor& self, Tensor& out, DType common, const Loops& loops,
              const Scalars& scalars) {
  const DType compute = loops.compute(common);
  const Input input = {&self, compute, common, nullptr};
  return run_elementwise(context, {&out, compute, common}, Span<const Input>(&input, 1), loops.at(compute), scalars);
}

bool run_one_f32(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops, const Scalars& scalars) {
  const Tensor* tensor = &self;
  return run_dense_f32(context, out, Span<const Tensor* const>(&tensor, 1), loops.f32, scalars);
}

}  // namespace

DType promote_scalar(DType tensor, const EValue& scalar) {
  if (is_floating(tensor) || scalar.is_bool()) return tensor;
  if (scalar.is_double()) return DType::kF32;
  return tensor == DType::kBool ? DType::kI64 : tensor;
}

DType promote_to_floating(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }

ScalarElement::ScalarElement(const EValue& scalar, DType common, DType compute) {
  const double real = scalar.is_double() ? scalar.to_double() : 0;
  const int64_t whole = scalar.is_double() ? 0 : scalar.scalar_to<int64_t>();
  const DType from = scalar.is_double() ? DType::kF64 : DType::kI64;
  const void* source = scalar.is_double() ? static_cast<const void*>(&real) : &whole;
  alignas(8) unsigned char rounded[8];
  convert_elements(from, source, common, rounded, 1);
  convert_elements(common, rounded, compute, bytes, 1);
}

Error run_unary(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops, const Scalars& scalars) {
  if (run_one_f32(context, self, out, loops, scalars)) return Error::kOk;
  return run_one(context, self, out, self.dtype(), loops, scalars);
}

Error run_unary_number(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops,
                       const Scalars& scalars) {
  if (self.dtype() == DType::kBool) {
    return context.fail(Error::kInvalidArgument, "this operator does not take bool; use logical or bitwise operators");
  }
  return run_unary(context, self, out, loops, scalars);
}

Error run_unary_floating(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops,
                         const Scalars& scalars) {
  if (run_one_f32(context, self, out, loops, scalars)) return Error::kOk;
  const DType common = promote_to_floating(self.dtype());
  return run_one(context, self, out, common, loops, scalars);
}

Error run_unary_predicate(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops) {
  const DType compute = loops.compute(self.dtype());
  const Input input = {&self, compute, self.dtype(), nullptr};
  const Output output = {&out, DType::kBool, DType::kBool};
  return run_elementwise(context, output, Span<const Input>(&input, 1), loops.at(compute), Scalars());
}

Error run_binary(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, DType common,
                 const Loops& loops, const Scalars& scalars) {
  const Tensor* tensors[] = {&a, &b};
  if (run_dense_f32(context, out, tensors, loops.f32, scalars)) return Error::kOk;
  const DType compute = loops.compute(common);
  const Input inputs[] = {{&a, compute, common, nullptr}, {&b, compute, common, nullptr}};
  return run_elementwise(context, {&out, compute, common}, inputs, loops.at(compute), scalars);
}

Error run_binary_scalar(KernelContext& context, const Tensor& tensor, const EValue& scalar, Tensor& out, DType common,
                        const Loops& loops, bool scalar_first, const Scalars& scalars) {
  if (!is_real(common)) return unsupported_dtype(context);
  const DType compute = loops.compute(common);
  // Arithmetic on 16-bit floats takes the scalar as it is, in the wider type that it computes in.
  const ScalarElement element(scalar, is_floating(common) ? compute : common, compute);
  const Input of_tensor = {&tensor, compute, common, nullptr};
  const Input of_scalar = {nullptr, compute, common, element.bytes};
  const Input inputs[] = {scalar_first ? of_scalar : of_tensor, scalar_first ? of_tensor : of_scalar};
  return run_elementwise(context, {&out, compute, common}, inputs, loops.at(compute), scalars);
}

Error run_compare(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, const Loops& loops) {
  const DType common = promote_types(a.dtype(), b.dtype());
  const DType compute = loops.compute(common);
  const Input inputs[] = {{&a, compute, common, nullptr}, {&b, compute, common, nullptr}};
  return run_elementwise(context, {&out, DType::kBool, DType::kBool}, inputs, loops.at(compute), Scalars());
}

Error run_compare_scalar(KernelContext& context, const Tensor& a, const EValue& scalar, Tensor& out,
                         const Loops& loops) {
  const DType common = promote_scalar(a.dtype(), scalar);
  if (!is_real(common)) return unsupported_dtype(context);
  const DType compute = loops.compute(common);
  const ScalarElement element(scalar, common, compute);
  const Input inputs[] = {{&a, compute, common, nullptr}, {nullptr, compute, common, element.bytes}};
  return run_elementwise(context, {&out, DType::kBool, DType::kBool}, inputs, loops.at(compute), Scalars());
}

}  // namespace berth::portable
