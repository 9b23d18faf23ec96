// mm, bmm and addmm: a matrix product each, in any dtype but bool, with any strides; mm and bmm of complex numbers
// too.
#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/matmul_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

template <typename Args>
Error run_batches(KernelContext& context, const Args& args, int rank) {
  const Tensor& self = args.self;
  const Tensor& mat2 = args.mat2;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_product(context, self, mat2, out, rank));
  if (is_complex(out.dtype())) {
    complex_product(context, self, mat2, out);
    return Error::kOk;
  }
  return run_product(context, product_of(self, mat2, out));
}

// Sizes that may change give no bound but the general one.
size_t scratch_bytes(const Tensor& self, const Tensor& mat2, const Tensor& out, int rank, int threads) {
  if (self.rank() != rank || mat2.rank() != rank || out.rank() != rank || !takes_product(out.dtype())) return 0;
  if (self.dynamism() != ShapeDynamism::kStatic || mat2.dynamism() != ShapeDynamism::kStatic ||
      out.dynamism() != ShapeDynamism::kStatic) {
    return max_product_scratch_bytes(threads) + kTempPadding;
  }
  return product_scratch_bytes(product_of(self, mat2, out), threads) + kTempPadding;
}

}  // namespace

Error mm_out(KernelContext& context, const arguments::mm_out& args) { return run_batches(context, args, 2); }

size_t mm_temp_bytes(const arguments::mm_out& args, int threads) {
  return scratch_bytes(args.self, args.mat2, args.out, 2, threads);
}

Error bmm_out(KernelContext& context, const arguments::bmm_out& args) { return run_batches(context, args, 3); }

size_t bmm_temp_bytes(const arguments::bmm_out& args, int threads) {
  return scratch_bytes(args.self, args.mat2, args.out, 3, threads);
}

Error addmm_out(KernelContext& context, const arguments::addmm_out& args) {
  Product p;
  BERTH_RETURN_IF_ERROR(read_addmm(context, args, &p));
  return run_product(context, p);
}

size_t addmm_temp_bytes(const arguments::addmm_out& args, int threads) {
  return scratch_bytes(args.mat1, args.mat2, args.out, 2, threads);
}

}  // namespace berth::portable
