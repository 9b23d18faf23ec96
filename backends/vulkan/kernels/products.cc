// Products of matrices and convolutions: all of them are portable::Product, with what follows them.
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

// Whether each position reads one element of its own, which is always there.
bool has_no_taps(const Product& p) {
  for (const Product::Axis& axis : p.axis) {
    if (axis.taps != 1 || axis.origin < 0 || axis.origin + (axis.count - 1) * axis.step >= axis.size) return false;
  }
  return true;
}

// What an invocation computes.
struct Tile {
  ShaderId shader;
  int64_t rows;
  int64_t columns;

  int64_t count(const Product& p) const {
    return (p.rows + rows - 1) / rows * ((p.columns() + columns - 1) / columns) * p.batches();
  }
};

// Whether a matrix begins where four elements do.
bool begins_whole(const Product& p, const Tensor& tensor, const void* first) {
  const size_t four = 4 * element_size(tensor.dtype());
  return reinterpret_cast<uintptr_t>(tensor.raw()) % four == 0 && Finish::first(p, &tensor, first) % 4 == 0;
}

// Whether a kernel may read A along its depth and B along its columns four elements at a time.
bool takes_vectors(const Product& p, const Finish& finish) {
  if (!has_no_taps(p) || p.channel_a != 1 || p.channels % 4 != 0 || p.columns() % 4 != 0) return false;
  int64_t inside = 1;  // columns of the axes inside this one, which must lie one after the other
  for (int i = 2; i >= 0; --i) {
    const Product::Axis& axis = p.axis[i];
    if (axis.count == 1 && axis.origin == 0) continue;
    if (axis.origin != 0 || axis.step * axis.b != inside) return false;
    inside *= axis.count;
  }
  const int64_t places[] = {p.row_a, p.channel_b, p.batch[0].a, p.batch[0].b, p.batch[1].a, p.batch[1].b};
  for (int64_t place : places) {
    if (place % 4 != 0) return false;
  }
  return begins_whole(p, *finish.a, p.a) && begins_whole(p, *finish.b, p.b);
}

Tile tile_of(const Product& p, const Finish& finish) {
  const bool vectors = takes_vectors(p, finish);
  if (p.rows == 1) return {vectors ? ShaderId::product_1_vectors : ShaderId::product_1, 1, 4};
  return {vectors ? ShaderId::product_4_vectors : ShaderId::product_4, 4, 4};
}

bool rounds(const Tensor& weight, const Tensor& input) {
  return weight.dtype() == DType::kBF16 && input.dtype() == DType::kF32;
}

Error run(KernelContext& context, const Product& p, const Finish& finish) {
  const Tensor* const tensors[] = {finish.a, finish.b, finish.c, finish.start, finish.bias};
  BERTH_RETURN_IF_ERROR(require_floats(context, tensors));
  if (p.rows == 0 || p.columns() == 0 || p.batches() == 0) return Error::kOk;
  bool done = false;
  const Error error = run_tiles(context, *static_cast<const Session*>(context.user())->gpu, p, finish, &done);
  if (done) return error;
  const Tile tile = tile_of(p, finish);
  Launch ask(context, tile.shader);
  ask.constant(static_cast<int64_t>(finish.activation.kind));
  ask.constant(finish.bias == nullptr ? 0 : finish.bias_by_row ? 1 : 2);
  ask.constant(finish.start == nullptr ? 0 : finish.start_like_c ? 1 : 2);
  ask.constant(has_no_taps(p) ? 0 : 1);
  // What is multiplied with a weight of bf16 is rounded to that (kernels/portable/fused_narrow.h).
  ask.writes(*finish.c).reads(finish.a);
  if (rounds(*finish.b, *finish.a)) ask.as_bf16();
  ask.reads(finish.b);
  if (rounds(*finish.a, *finish.b)) ask.as_bf16();
  ask.reads(finish.bias).reads(finish.start);
  put_numbers(ask, p, finish);
  ask.rounds(p.taps() * (1 + p.channels));
  return ask.run(tile.count(p));
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
