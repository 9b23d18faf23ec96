// berth::quantized_conv and quantized_linear: products of 8-bit integers, as quantised models have them. Sums are whole
// numbers, and what follows them is computed as on the host (shaders/quantized.glsl).
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/tiles.h"
#include "kernels/portable/fused_quantized.h"

namespace berth::vulkan {
namespace {

using portable::Convolution;
using portable::Product;
using portable::QuantizedProduct;

// Where an element of the residual lies, by what Product says of C.
struct ResidualPlaces {
  int64_t row = 0;
  int64_t batch[2] = {0, 0};
  int64_t axis[3] = {0, 0, 0};
};

// A product with the tensors of the call. Rows are the columns of a linear's weight, as those of a convolution are its
// channels; columns are rows of the linear's input.
struct Call {
  Product product;
  Finish finish;  // the tensors a, b, c and the activation
  ResidualPlaces residual;
  const QuantizedProduct& quantized;
  const Tensor* scale;
  const Tensor* bias;
  const Tensor* input_scale;
  const Tensor* input_zero;
  const Tensor* weight_zero;
};

template <typename Args>
Call call_of(const Args& args, const Product& product, const QuantizedProduct& quantized) {
  Call call = {product,
               {},
               {},
               quantized,
               &args.scale,
               args.bias,
               args.input_scale,
               args.input_zero_point,
               args.weight_zero_point};
  call.finish.a = &args.weight;
  call.finish.b = &args.input;
  call.finish.c = &args.out;
  call.finish.activation = quantized.activation;
  return call;
}

int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

bool is_whole(std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value % 4 == 0; });
}

bool begins_whole(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw()) % 4 == 0; }

// Whether channels are read four at a time.
bool takes_words(const Call& call) {
  const Product& p = call.product;
  if (p.channel_a != 1 || p.channel_b != 1 || !is_whole({p.channels, p.rows > 1 ? p.row_a : 0})) return false;
  for (const Product::Axis& axis : p.axis) {
    if (axis.taps > 1 && axis.tap_a % 4 != 0) return false;
    const bool still = axis.count == 1 && axis.taps == 1 && axis.origin == 0;
    if (!still && axis.b % 4 != 0) return false;
  }
  for (const Product::Batch& batch : p.batch) {
    if (batch.count > 1 && !is_whole({batch.a, batch.b})) return false;
  }
  return begins_whole(*call.finish.a) && begins_whole(*call.finish.b);
}

// Whether four rows of the result are one word.
bool gives_words(const Call& call) {
  const Product& p = call.product;
  if (call.finish.c->dtype() == DType::kF32 || p.row_c != 1 || p.rows % 4 != 0) return false;
  for (const Product::Axis& axis : p.axis) {
    if (axis.count > 1 && axis.c % 4 != 0) return false;
  }
  for (const Product::Batch& batch : p.batch) {
    if (batch.count > 1 && batch.c % 4 != 0) return false;
  }
  return begins_whole(*call.finish.c);
}

void put_rounding(Launch& ask, const portable::ByteRounding& rounding) {
  ask.real(rounding.scale).real(rounding.inverse);
  ask.number(rounding.zero_point).number(rounding.low).number(rounding.high);
}

// What a call has beside its factors, as bits of the shaders' PARTS.
int64_t parts_of(const Call& call) {
  const QuantizedProduct& q = call.quantized;
  const bool whole_bias = call.bias != nullptr && call.bias->dtype() == DType::kI32;
  const bool all[] = {whole_bias,
                      call.bias != nullptr && !whole_bias,
                      call.input_scale != nullptr,
                      call.input_zero != nullptr,
                      call.weight_zero != nullptr,
                      q.has_middle,
                      q.middle.divides,
                      q.residual != nullptr,
                      q.rounding.divides,
                      gives_words(call)};
  int64_t parts = 0;
  for (size_t i = 0; i < std::size(all); ++i) parts |= int64_t{all[i]} << i;
  return parts;
}

int64_t step_of(const Tensor* numbers) { return numbers == nullptr || numbers->numel() == 1 ? 0 : 1; }

void ask_for(Launch& ask, const Call& call) {
  const QuantizedProduct& q = call.quantized;
  ask.constant(static_cast<int64_t>(call.finish.activation.kind)).constant(parts_of(call));
  ask.writes(*call.finish.c).reads(call.finish.a).reads(call.finish.b).reads(call.scale).reads(call.bias);
  ask.reads(q.residual).reads(call.input_scale).reads(call.input_zero).reads(call.weight_zero);
  put_numbers(ask, call.product, call.finish);
  for (const Tensor* numbers : {call.scale, call.input_scale, call.input_zero, call.weight_zero}) {
    ask.number(step_of(numbers));
  }
  ask.real(q.residual_scale).number(q.residual_zero).number(call.residual.row);
  for (const int64_t stride : call.residual.batch) ask.number(stride);
  for (const int64_t stride : call.residual.axis) ask.number(stride);
  put_rounding(ask, q.middle);
  put_rounding(ask, q.rounding);
}

Launch ask_of(KernelContext& context, ShaderId shader, const Call& call) {
  Launch ask = Launch::of_any_type(context, shader, shader);
  ask_for(ask, call);
  return ask;
}

// Whether the result is written in whole words, as texels are.
bool gives_texels(const Call& call) { return call.finish.c->dtype() == DType::kF32 || gives_words(call); }

// A convolution of each channel by itself as one of rows, each of which reads its own channel; nothing where the kernel
// does not take it.
std::optional<Call> depthwise_of(const Call& call) {
  constexpr int64_t kMostTaps = 256;  // as in quantized_depthwise.comp
  const Product::Batch& channels = call.product.batch[1];
  const Product& p = call.product;
  const bool depthwise = p.rows == 1 && p.channels == 1 && channels.count > 1 && channels.a == 1 && channels.b == 1 &&
                         channels.c == 1 && channels.start == 1;
  if (!depthwise || p.batch[0].a != 0 || p.taps() > kMostTaps) return std::nullopt;
  Call turned = call;
  turned.product.rows = channels.count;
  turned.product.row_a = turned.product.row_c = 1;
  turned.product.batch[1] = {};
  turned.residual.row = call.residual.batch[1];
  turned.residual.batch[1] = 0;
  // As channels of one product they would lie side by side.
  Call read = turned;
  read.product.channels = channels.count;
  read.product.channel_a = read.product.channel_b = 1;
  read.product.rows = 1;
  return takes_words(read) && gives_texels(turned) ? std::optional<Call>(turned) : std::nullopt;
}

// Where the device is a processor; `*done` says whether.
Error run_texels(KernelContext& context, const Call& call, bool* done) {
  constexpr int64_t kRows = 8;      // of a group, as in quantized_tile.comp
  constexpr int64_t kColumns = 32;  // likewise
  *done = true;
  if (const auto depthwise = depthwise_of(call)) {
    const Product& p = depthwise->product;
    return ask_of(context, ShaderId::quantized_depthwise, *depthwise)
        .run(p.rows / 4 * up(p.columns(), 4) * p.batches());
  }
  Call tiles = call;
  Product& p = tiles.product;
  const bool vectors = takes_words(call);
  int64_t limit = 0;
  if (!vectors) join_taps(&p, &limit);
  const int64_t rounds = p.taps() * (1 + up(p.channels, vectors ? 4 : 1));
  *done = gives_texels(call) && rounds <= kMostRounds;
  if (!*done) return Error::kOk;
  Launch ask = ask_of(context, vectors ? ShaderId::quantized_tile_vectors : ShaderId::quantized_tile, tiles);
  ask.number(limit).number(call.finish.a->numel() < call.finish.b->numel() ? 1 : 0);
  return ask.run(up(p.rows, kRows) * up(p.columns(), kColumns) * p.batches(), 1);
}

// The form without the dot product of devices, and with it.
struct Forms {
  ShaderId plain;
  ShaderId with_dot;
  ShaderId of(const Gpu& gpu) const { return gpu.has_dot_products() ? with_dot : plain; }
};
constexpr Forms kBlock = {ShaderId::quantized_block, ShaderId::quantized_block_dot};
constexpr Forms kDeepWords = {ShaderId::quantized_deep_words, ShaderId::quantized_deep_words_dot};
constexpr Forms kWords = {ShaderId::quantized_words, ShaderId::quantized_words_dot};

// As products of floats have it (buffer_products.cc): long sums of few elements in parts, and those near to the end of
// an invocation's loops; squares where one is half full at least.
Error run_buffers(KernelContext& context, const Gpu& gpu, const Call& call) {
  const Product& p = call.product;
  const bool words = takes_words(call);
  const int64_t unit = words ? 4 : 1;
  const int64_t rounds = p.taps() * (1 + p.channels / unit);
  const int64_t elements = p.rows * p.columns() * p.batches();
  const bool few = gpu.is_card() && p.depth() >= 512 && elements <= (gpu.is_large_card() ? 16384 : 4096);
  // Those of a block come round 13 times for 8 words, and so less than twice as often.
  if (few || (gpu.ends_loops() && 2 * rounds > kMostRounds)) {
    constexpr int64_t kGroup = 128;  // as in quantized_deep.comp
    Launch ask = ask_of(context, words ? kDeepWords.of(gpu) : ShaderId::quantized_deep, call);
    ask.rounds(up(p.depth() / unit, kGroup));
    return ask.run(p.rows * up(p.columns(), 4) * p.batches(), 1);
  }
  if (words && gpu.is_card() && p.rows >= 16 && p.columns() >= 16 && p.depth() >= 32) {
    constexpr int64_t kSide = 32;   // as in quantized_block.comp
    constexpr int64_t kDepth = 32;  // channels of a slice, which takes 13 rounds
    Launch ask = ask_of(context, kBlock.of(gpu), call);
    ask.rounds(13 * up(p.depth(), kDepth));
    return ask.run(up(p.rows, kSide) * up(p.columns(), kSide) * p.batches(), 1);
  }
  return ask_of(context, words ? kWords.of(gpu) : ShaderId::quantized, call)
      .run(up(p.rows, 4) * up(p.columns(), 4) * p.batches());
}

Error run(KernelContext& context, const Call& call) {
  const Product& p = call.product;
  if (p.rows == 0 || p.columns() == 0 || p.batches() == 0) return Error::kOk;
  const Gpu& gpu = *static_cast<const Session*>(context.user())->gpu;
  if (gpu.reads_texels()) {
    bool done = false;
    const Error error = run_texels(context, call, &done);
    if (done) return error;
  }
  return run_buffers(context, gpu, call);
}

Product linear_product(const Tensor& input, const Tensor& weight, const Tensor& out) {
  const int rank = weight.rank();
  const int64_t depth = weight.size(rank - 2), columns = weight.size(rank - 1);
  const int64_t matrices = rank == 3 ? weight.size(0) : 1;
  const int64_t rows = columns == 0 || matrices == 0 ? 0 : out.numel() / columns / matrices;
  Product p;
  p.dtype = DType::kU8;
  p.a = weight.raw();
  p.b = input.raw();
  p.c = out.raw();
  p.rows = columns;
  p.row_a = weight.stride(rank - 1);
  p.row_c = 1;
  p.channels = depth;
  p.channel_a = weight.stride(rank - 2);
  p.channel_b = 1;
  p.batch[0] = {matrices, rank == 3 ? weight.stride(0) : 0, rows * depth, rows * columns, 0};
  p.axis[2].count = p.axis[2].size = rows;
  p.axis[2].b = depth;
  p.axis[2].c = columns;
  return p;
}

Error check_packing(KernelContext& context, StringRef packing) {
  if (packing.size == 0) return Error::kOk;
  return context.fail(Error::kNotSupported, "vulkan devices take no packed weights");
}

}  // namespace

Error quantized_conv_out(KernelContext& context, const arguments::quantized_conv_out& args) {
  QuantizedProduct quantized;
  Convolution c;
  quantized.on_device = true;
  BERTH_RETURN_IF_ERROR(check_packing(context, args.packing));
  BERTH_RETURN_IF_ERROR(portable::read_quantized_conv(context, args, args.weight, &quantized, &c));
  if (args.out.numel() == 0) return Error::kOk;
  portable::read_convolution_strides(&c);
  Call call = call_of(args, portable::forward_product(c), quantized);
  if (const Tensor* residual = quantized.residual) {
    call.residual.row = residual->stride(1);
    call.residual.batch[0] = residual->stride(0);
    call.residual.batch[1] = residual->stride(1) * c.out_channels;
    for (int i = 0; i < c.spatial; ++i) call.residual.axis[3 - c.spatial + i] = residual->stride(2 + i);
  }
  return run(context, call);
}

Error quantized_linear_out(KernelContext& context, const arguments::quantized_linear_out& args) {
  QuantizedProduct quantized;
  quantized.on_device = true;
  BERTH_RETURN_IF_ERROR(check_packing(context, args.packing));
  BERTH_RETURN_IF_ERROR(portable::read_quantized_linear(context, args, args.weight, &quantized));
  if (args.out.numel() == 0) return Error::kOk;
  Call call = call_of(args, linear_product(args.input, args.weight, args.out), quantized);
  const Product& p = call.product;
  call.residual.row = p.row_c;
  call.residual.batch[0] = p.batch[0].c;
  call.residual.axis[2] = p.axis[2].c;
  return run(context, call);
}

}  // namespace berth::vulkan
