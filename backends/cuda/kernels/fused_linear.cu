// berth::linear: activation(input @ weight + bias + residual), on tensor cores (tensor_product.h), else by cuBLASLt
// with a pass over the result where that is needed, or by this room's plain product.
#include "backends/cuda/kernels/finish.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/tensor_product.h"
#include "base/result.h"
#include "kernels/portable/fused_linear.h"

namespace berth::cuda {
namespace {

using portable::Product;

// On tensor cores, finished as it is computed.
bool try_tensor_cores(KernelContext& context, const arguments::fused_linear_out& args, const Finish& finish,
                      Error* error) {
  const Tensor& weight = args.weight;
  const int64_t depth = weight.size(0);
  const int64_t columns = weight.size(1);
  const auto fits = [](int64_t n) { return n <= INT32_MAX / 4; };
  if (weight.stride(1) != 1 || !fits(args.input.numel()) || !fits(args.out.numel())) return false;
  TensorProduct p;
  p.a = args.input.data<float>();
  p.rows = static_cast<int32_t>(args.out.numel() / columns);
  p.depth = static_cast<int32_t>(depth);
  p.row_a = depth;
  p.b = weight.data<float>();
  p.columns = static_cast<int32_t>(columns);
  p.depth_b = weight.stride(0);
  p.row_out = columns;
  p.finish = finish;
  return launch_tensor_product(context, p, error);
}

}  // namespace

Error fused_linear_out(KernelContext& context, const arguments::fused_linear_out& args) {
  Finish finish;
  BERTH_RETURN_IF_ERROR(portable::prepare_linear(context, args, &finish.activation));
  if (args.out.numel() == 0) return Error::kOk;
  finish.out = args.out.data<float>();
  finish.channels = args.weight.size(1);
  finish.bias = args.bias == nullptr ? nullptr : args.bias->data<float>();
  if (args.residual != nullptr) finish.residual = args.residual->data<float>();
  Error error = Error::kOk;
  if (try_tensor_cores(context, args, finish, &error)) return error;
  finish.residual = nullptr;  // the product's start
  Product p = portable::linear_product(args);
  if (p.start == nullptr && finish.bias != nullptr) {
    // A product can start from the bias or from the residual, not from both.
    p.start = finish.bias;
    p.start_row = 0;
    p.start_column = 1;
    finish.bias = nullptr;
  }
  BERTH_RETURN_IF_ERROR(multiply(context, p));
  return run_finish(context, finish, args.out.numel());
}

}  // namespace berth::cuda
