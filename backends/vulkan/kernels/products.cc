// Products of matrices and convolutions: all of them are portable::Product, with what follows them.
#include "backends/vulkan/kernels/buffer_products.h"
#include "backends/vulkan/kernels/chain.h"
#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/tiles.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/fused_conv.h"
#include "kernels/portable/fused_linear.h"
#include "kernels/portable/matmul_arguments.h"

namespace berth::vulkan {
namespace {

using portable::Activation;
using portable::Convolution;
using portable::Product;

// Tiles of texels where the device wants them and they do; else what storage buffers take.
Error run(KernelContext& context, const Product& p, const Finish& finish) {
  const Tensor* const tensors[] = {finish.a, finish.b, finish.c, finish.start, finish.bias};
  BERTH_RETURN_IF_ERROR(require_floats(context, tensors));
  if (p.rows == 0 || p.columns() == 0 || p.batches() == 0) return Error::kOk;
  const Gpu& gpu = *static_cast<const Session*>(context.user())->gpu;
  bool done = false;
  const Error error = run_tiles(context, gpu, p, finish, &done);
  return done ? error : run_buffers(context, gpu, p, finish);
}

Error run_convolution(KernelContext& context, const Convolution& c, const Finish& finish) {
  if (!c.transposed) return run(context, portable::forward_product(c), finish);
  const auto phases = [&](int axis) {
    return c.axis[axis].stride < c.axis[axis].out ? c.axis[axis].stride : c.axis[axis].out;
  };
  for (int64_t z = 0; z < phases(0); ++z) {
    for (int64_t y = 0; y < phases(1); ++y) {
      for (int64_t x = 0; x < phases(2); ++x) {
        BERTH_RETURN_IF_ERROR(run(context, portable::transposed_product(c, {z, y, x}), finish));
      }
    }
  }
  return Error::kOk;
}

// The activation as a step of a chain.
int activation_step(Chain& chain, const Activation& activation, int x) {
  using Kind = portable::ActivationKind;
  using Op = elementwise::Op;
  switch (activation.kind) {
    case Kind::kNone: return x;
    case Kind::kRelu: return chain.step(Op::kRelu, x);
    case Kind::kClamp: {
      const int low = chain.constant(activation.alpha);
      return chain.step(Op::kClamp, x, low, chain.constant(activation.beta));
    }
    case Kind::kLeakyRelu: return chain.step(Op::kLeakyRelu, x, chain.constant(activation.alpha));
    case Kind::kSigmoid: return chain.step(Op::kSigmoid, x);
    case Kind::kTanh: return chain.step(Op::kTanh, x);
    case Kind::kSilu: return chain.step(Op::kSilu, x);
    case Kind::kHardSigmoid: return chain.step(Op::kHardSigmoid, x);
    case Kind::kHardSwish: return chain.step(Op::kHardSwish, x);
    case Kind::kGelu: return chain.step(Op::kGelu, x);
    case Kind::kGeluTanh: return chain.step(Op::kGeluTanh, x);
    case Kind::kElu: return chain.step(Op::kElu, x, chain.constant(activation.alpha));
  }
  return x;
}

Finish finish_of(const Convolution& c) {
  Finish finish;
  finish.a = c.weight;
  finish.b = c.input;
  finish.c = c.out;
  return finish;
}

Error product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank) {
  Product p;
  BERTH_RETURN_IF_ERROR(portable::read_product(context, self, mat2, out, rank, &p));
  Finish finish;
  finish.a = &self;
  finish.b = &mat2;
  finish.c = &out;
  return run(context, p, finish);
}

}  // namespace

Error mm_out(KernelContext& context, const arguments::mm_out& args) {
  return product(context, args.self, args.mat2, args.out, 2);
}

Error bmm_out(KernelContext& context, const arguments::bmm_out& args) {
  return product(context, args.self, args.mat2, args.out, 3);
}

Error addmm_out(KernelContext& context, const arguments::addmm_out& args) {
  Product p;
  BERTH_RETURN_IF_ERROR(portable::read_addmm(context, args, &p));
  Finish finish;
  finish.a = &args.mat1;
  finish.b = &args.mat2;
  finish.c = &args.out;
  if (p.start != nullptr) finish.start = &args.self;
  return run(context, p, finish);
}

Error convolution_out(KernelContext& context, const arguments::convolution_out& args) {
  Convolution c;
  BERTH_RETURN_IF_ERROR(portable::read_convolution(context, args, args.bias, args.out, &c));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, portable::convolution_sizes(c).span()));
  if (args.out.numel() == 0) return Error::kOk;
  portable::read_convolution_strides(&c);
  Finish finish = finish_of(c);
  finish.bias = args.bias;
  finish.bias_by_row = true;
  return run_convolution(context, c, finish);
}

Error fused_conv_out(KernelContext& context, const arguments::fused_conv_out& args) {
  Convolution c;
  Activation activation;
  BERTH_RETURN_IF_ERROR(portable::read_fused_conv(context, args, &c, &activation));
  if (args.out.numel() == 0) return Error::kOk;
  portable::read_convolution_strides(&c);
  Finish finish = finish_of(c);
  finish.bias = args.bias;
  finish.bias_by_row = true;
  const bool alike = args.residual == nullptr || portable::same_layout(*args.residual, args.out);
  if (alike) {
    finish.activation = activation;
    finish.start = args.residual;
    finish.start_like_c = true;
    return run_convolution(context, c, finish);
  }
  // What is added lies in another order: a pass of its own, which brings the activation too.
  BERTH_RETURN_IF_ERROR(run_convolution(context, c, finish));
  Chain chain(context);
  const int sum = chain.input(args.out);
  activation_step(chain, activation, chain.step(elementwise::Op::kAdd, sum, chain.input(*args.residual)));
  return chain.run_sized(args.out);
}

Error fused_linear_out(KernelContext& context, const arguments::fused_linear_out& args) {
  Finish finish;
  BERTH_RETURN_IF_ERROR(portable::prepare_linear(context, args, &finish.activation));
  if (args.out.numel() == 0) return Error::kOk;
  finish.a = &args.input;
  finish.b = &args.weight;
  finish.c = &args.out;
  finish.start = args.residual;
  finish.start_like_c = true;
  finish.bias = args.bias;
  return run(context, portable::linear_product(args), finish);
}

}  // namespace berth::vulkan
