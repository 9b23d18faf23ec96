// mm, bmm and addmm: a matrix product each, in any dtype but bool, with any strides; mm and bmm of complex numbers
// too.
#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr const char* kRanks = "mm takes matrices, bmm batches of matrices";
constexpr const char* kInnerSizes = "the columns of the first matrix must be as many as the rows of the second";
constexpr const char* kDtypes = "a matrix product needs one dtype of numbers for all its tensors";

bool takes(DType dtype) { return is_floating(dtype) || is_integer(dtype); }

// The product of two matrices or two batches of matrices with the same rank as `out`, which has its sizes.
Product product_of(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  const int row = out.rank() - 2;
  const int column = out.rank() - 1;
  Product p = matrix_product(out.size(row), out.size(column), self.size(column), self.raw(), self.stride(row),
                             self.stride(column), mat2.raw(), mat2.stride(row), mat2.stride(column), out.raw(),
                             out.stride(row), out.stride(column));
  p.dtype = out.dtype();
  if (row == 1) p.batch[0] = {out.size(0), self.stride(0), mat2.stride(0), out.stride(0), 0};
  return p;
}

Error check_factors(KernelContext& context, const Tensor& self, const Tensor& mat2, const Tensor& out, int rank) {
  if (self.rank() != rank || mat2.rank() != rank || out.rank() != rank) {
    return context.fail(Error::kInvalidArgument, kRanks);
  }
  if (self.dtype() != mat2.dtype() || self.dtype() != out.dtype() || !(takes(out.dtype()) || is_complex(out.dtype()))) {
    return context.fail(Error::kInvalidArgument, kDtypes);
  }
  if (self.size(rank - 1) != mat2.size(rank - 2)) return context.fail(Error::kInvalidArgument, kInnerSizes);
  if (rank == 3 && self.size(0) != mat2.size(0)) {
    return context.fail(Error::kInvalidArgument, "both batches must have as many matrices");
  }
  return Error::kOk;
}

// Checks the factors and gives `out` its sizes.
Error prepare(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank) {
  BERTH_RETURN_IF_ERROR(check_factors(context, self, mat2, out, rank));
  Sizes sizes;
  if (rank == 3) push_size(&sizes, self.size(0));
  push_size(&sizes, self.size(rank - 2));
  push_size(&sizes, mat2.size(rank - 1));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, mat2));
  return check_memory(context, out);
}

Error run_batches(KernelContext& context, Span<EValue* const> args, int rank) {
  const Tensor& self = args[0]->tensor();
  const Tensor& mat2 = args[1]->tensor();
  Tensor& out = args[2]->tensor();
  BERTH_RETURN_IF_ERROR(prepare(context, self, mat2, out, rank));
  if (is_complex(out.dtype())) {
    complex_product(context, self, mat2, out);
    return Error::kOk;
  }
  return run_product(context, product_of(self, mat2, out));
}

// A number for either kind of dtype; what is no 64-bit integer counts as 0 there.
Product::Factor factor_of(const EValue& scalar) {
  if (!scalar.is_double()) return {scalar.scalar_to<double>(), scalar.scalar_to<int64_t>()};
  const double x = scalar.real();
  return {x, x > -9e18 && x < 9e18 ? static_cast<int64_t>(x) : 0};
}

// Sizes that may change give no bound but the general one.
size_t scratch_bytes(const Tensor& self, const Tensor& mat2, const Tensor& out, int rank, int threads) {
  if (self.rank() != rank || mat2.rank() != rank || out.rank() != rank || !takes(out.dtype())) return 0;
  if (self.dynamism() != ShapeDynamism::kStatic || mat2.dynamism() != ShapeDynamism::kStatic ||
      out.dynamism() != ShapeDynamism::kStatic) {
    return max_product_scratch_bytes(threads) + kTempPadding;
  }
  return product_scratch_bytes(product_of(self, mat2, out), threads) + kTempPadding;
}

}  // namespace

Error mm_out(KernelContext& context, Span<EValue* const> args) { return run_batches(context, args, 2); }

size_t mm_temp_bytes(Span<EValue* const> args, int threads) {
  return scratch_bytes(args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), 2, threads);
}

Error bmm_out(KernelContext& context, Span<EValue* const> args) { return run_batches(context, args, 3); }

size_t bmm_temp_bytes(Span<EValue* const> args, int threads) {
  return scratch_bytes(args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), 3, threads);
}

// out = beta * self + alpha * mat1 @ mat2; self is stretched to the sizes of out, and may be out. With beta 0 it is
// not looked at, whatever it holds.
Error addmm_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const Tensor& mat1 = args[1]->tensor();
  const Tensor& mat2 = args[2]->tensor();
  Tensor& out = args[5]->tensor();
  BERTH_RETURN_IF_ERROR(prepare(context, mat1, mat2, out, 2));
  if (!takes(out.dtype())) return context.fail(Error::kInvalidArgument, kDtypes);
  if (self.dtype() != out.dtype()) return context.fail(Error::kInvalidArgument, kDtypes);
  BERTH_RETURN_IF_ERROR(check_memory(context, self));
  Product p = product_of(mat1, mat2, out);
  p.start_scale = factor_of(*args[3]);
  p.a_scale = factor_of(*args[4]);
  int64_t* strides[2] = {&p.start_row, &p.start_column};
  for (int i = 0; i < self.rank(); ++i) {
    const int dim = i + 2 - self.rank();
    if (dim < 0 || (self.size(i) != 1 && self.size(i) != out.size(dim))) {
      return context.fail(Error::kInvalidArgument, "self must stretch to the sizes of the product");
    }
    if (self.size(i) != 1) *strides[dim] = self.stride(i);
  }
  const bool ignored = is_floating(out.dtype()) ? p.start_scale.real == 0 : p.start_scale.whole == 0;
  p.start = ignored ? nullptr : self.raw();
  return run_product(context, p);
}

size_t addmm_temp_bytes(Span<EValue* const> args, int threads) {
  return scratch_bytes(args[1]->tensor(), args[2]->tensor(), args[5]->tensor(), 2, threads);
}

}  // namespace berth::portable
