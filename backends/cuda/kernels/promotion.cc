#include "kernels/portable/promotion.h"

#include "backends/cuda/kernels/elementwise.h"

namespace berth::cuda {

Error run_as(KernelContext& context, const Tensor& self, Tensor& out, DType common, Op op, const Scalars& scalars) {
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = portable::compute_dtype(common);
  const Input input = {&self, compute, common, nullptr};
  return run_elementwise(context, op, compute, {&out, compute, common}, Span<const Input>(&input, 1), scalars);
}

Error run_unary(KernelContext& context, const Tensor& self, Tensor& out, Op op, const Scalars& scalars) {
  return run_as(context, self, out, self.dtype(), op, scalars);
}

Error run_unary_number(KernelContext& context, const Tensor& self, Tensor& out, Op op) {
  if (self.dtype() == DType::kBool) {
    return context.fail(Error::kInvalidArgument, "this operator does not take bool; use logical or bitwise operators");
  }
  return run_unary(context, self, out, op);
}

Error run_unary_floating(KernelContext& context, const Tensor& self, Tensor& out, Op op, const Scalars& scalars) {
  return run_as(context, self, out, portable::promote_to_floating(self.dtype()), op, scalars);
}

Error run_unary_predicate(KernelContext& context, const Tensor& self, Tensor& out, Op op) {
  if (!portable::is_real(self.dtype())) return portable::unsupported_dtype(context);
  const DType compute = portable::compute_dtype(self.dtype());
  const Input input = {&self, compute, self.dtype(), nullptr};
  const Output output = {&out, DType::kBool, DType::kBool};
  return run_elementwise(context, op, compute, output, Span<const Input>(&input, 1), Scalars());
}

Error run_binary(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, DType common, Op op,
                 const Scalars& scalars) {
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = portable::compute_dtype(common);
  const Input inputs[] = {{&a, compute, common, nullptr}, {&b, compute, common, nullptr}};
  return run_elementwise(context, op, compute, {&out, compute, common}, inputs, scalars);
}

Error run_binary_scalar(KernelContext& context, const Tensor& tensor, const EValue& scalar, Tensor& out, DType common,
                        Op op, bool scalar_first, const Scalars& scalars) {
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = portable::compute_dtype(common);
  // Arithmetic on 16-bit floats takes the scalar as it is, in the wider type that it computes in.
  const portable::ScalarElement element(scalar, is_floating(common) ? compute : common, compute);
  const Input of_tensor = {&tensor, compute, common, nullptr};
  const Input of_scalar = {nullptr, compute, common, element.bytes};
  const Input inputs[] = {scalar_first ? of_scalar : of_tensor, scalar_first ? of_tensor : of_scalar};
  return run_elementwise(context, op, compute, {&out, compute, common}, inputs, scalars);
}

Error run_compare(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Op op) {
  const DType common = promote_types(a.dtype(), b.dtype());
  const DType compute = portable::compute_dtype(common);
  const Input inputs[] = {{&a, compute, common, nullptr}, {&b, compute, common, nullptr}};
  return run_elementwise(context, op, compute, {&out, DType::kBool, DType::kBool}, inputs, Scalars());
}

Error run_compare_scalar(KernelContext& context, const Tensor& a, const EValue& scalar, Tensor& out, Op op) {
  const DType common = portable::promote_scalar(a.dtype(), scalar);
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = portable::compute_dtype(common);
  const portable::ScalarElement element(scalar, common, compute);
  const Input inputs[] = {{&a, compute, common, nullptr}, {nullptr, compute, common, element.bytes}};
  return run_elementwise(context, op, compute, {&out, DType::kBool, DType::kBool}, inputs, Scalars());
}

}  // namespace berth::cuda
