#include "kernels/portable/matmul_arguments.h"

namespace berth::portable {
namespace {

constexpr const char* kRanks = "mm takes matrices, bmm batches of matrices";
constexpr const char* kInnerSizes = "the columns of the first matrix must be as many as the rows of the second";
constexpr const char* kDtypes = "a matrix product needs one dtype of numbers for all its tensors";

Error check_factors(KernelContext& context, const Tensor& self, const Tensor& mat2, const Tensor& out, int rank) {
  if (self.rank() != rank || mat2.rank() != rank || out.rank() != rank) {
    return context.fail(Error::kInvalidArgument, kRanks);
  }
  if (self.dtype() != mat2.dtype() || self.dtype() != out.dtype() ||
      !(takes_product(out.dtype()) || is_complex(out.dtype()))) {
    return context.fail(Error::kInvalidArgument, kDtypes);
  }
  if (self.size(rank - 1) != mat2.size(rank - 2)) return context.fail(Error::kInvalidArgument, kInnerSizes);
  if (rank == 3 && self.size(0) != mat2.size(0)) {
    return context.fail(Error::kInvalidArgument, "both batches must have as many matrices");
  }
  return Error::kOk;
}

// A number for either kind of dtype; what is not a 64-bit integer counts as 0 there.
Product::Factor factor_of(const EValue& scalar) {
  if (!scalar.is_double()) return {scalar.scalar_to<double>(), scalar.scalar_to<int64_t>()};
  const double x = scalar.to_double();
  return {x, x > -9e18 && x < 9e18 ? static_cast<int64_t>(x) : 0};
}

}  // namespace

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

Error prepare_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank) {
  BERTH_RETURN_IF_ERROR(check_factors(context, self, mat2, out, rank));
  Sizes sizes;
  if (rank == 3) push_size(&sizes, self.size(0));
  push_size(&sizes, self.size(rank - 2));
  push_size(&sizes, mat2.size(rank - 1));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, mat2));
  return check_memory(context, out);
}

Error read_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank, Product* p) {
  BERTH_RETURN_IF_ERROR(prepare_product(context, self, mat2, out, rank));
  if (!takes_product(out.dtype())) return context.fail(Error::kInvalidArgument, kDtypes);
  *p = product_of(self, mat2, out);
  return Error::kOk;
}

Error read_addmm(KernelContext& context, const arguments::addmm_out& args, Product* p) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(read_product(context, args.mat1, args.mat2, out, 2, p));
  if (self.dtype() != out.dtype()) return context.fail(Error::kInvalidArgument, kDtypes);
  BERTH_RETURN_IF_ERROR(check_memory(context, self));
  p->start_scale = factor_of(args.beta);
  p->a_scale = factor_of(args.alpha);
  int64_t* strides[2] = {&p->start_row, &p->start_column};
  for (int i = 0; i < self.rank(); ++i) {
    const int dim = i + 2 - self.rank();
    if (dim < 0 || (self.size(i) != 1 && self.size(i) != out.size(dim))) {
      return context.fail(Error::kInvalidArgument, "self must stretch to the sizes of the product");
    }
    if (self.size(i) != 1) *strides[dim] = self.stride(i);
  }
  const bool ignored = is_floating(out.dtype()) ? p->start_scale.real == 0 : p->start_scale.whole == 0;
  p->start = ignored ? nullptr : self.raw();
  return Error::kOk;
}

}  // namespace berth::portable
