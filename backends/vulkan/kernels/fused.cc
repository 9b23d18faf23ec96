// Attention, long short-term memories and shuffles, which compiler/fuse makes of other operators.
#include "backends/vulkan/kernels/chain.h"
#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/tiles.h"
#include "kernels/portable/fused_attention.h"
#include "kernels/portable/fused_lstm.h"
#include "kernels/portable/fused_shuffle.h"

namespace berth::vulkan {
namespace {

struct Lstm {
  const Tensor& gates;
  const Tensor& hidden;
  const Tensor& cell;
  const Tensor& weight;
  Tensor& out;
  Tensor& out_cell;
  int64_t steps;
  int64_t width;  // units of a block of the weight
  bool reverse;
};

Error run_lstm(KernelContext& context, const Lstm& lstm) {
  if (lstm.hidden.numel() == 0) return Error::kOk;
  if (lstm.steps == 0) {
    // The cell stays as it is.
    Chain chain(context);
    chain.input(lstm.cell);
    return chain.run_sized(lstm.out_cell);
  }
  Launch ask(context, ShaderId::lstm);
  ask.writes(lstm.out).writes(lstm.out_cell).reads(lstm.gates).reads(lstm.hidden).reads(lstm.cell).reads(lstm.weight);
  ask.number(lstm.steps).number(lstm.hidden.size(0)).number(lstm.hidden.size(1)).number(lstm.width);
  ask.number(lstm.reverse ? 1 : 0);
  constexpr int64_t kUnits = 64;  // of a workgroup
  ask.rounds(lstm.steps * (1 + (lstm.hidden.size(1) + kUnits - 1) / kUnits * (1 + lstm.hidden.size(1))));
  return ask.run(lstm.hidden.size(0), 1);
}

// Whether a kernel may read all of it four elements at a time, in loops that the driver does not end (tiles.cc).
bool takes_texels(const portable::Attention& a, const Tensor& out) {
  if (a.head_size % 4 != 0 || a.key->size(1) * a.head_size / 32 > 60000 || !has_texels(out)) return false;
  const Tensor* const matrices[] = {a.query, a.key, a.value};
  for (int k = 0; k < 3; ++k) {
    const Tensor& one = *matrices[k];
    if (!has_texels(one) || one.stride(0) % 4 != 0 || one.stride(1) % 4 != 0 || a.column[k] % 4 != 0) {
      return false;
    }
  }
  return out.stride(0) % 4 == 0 && out.stride(1) % 4 == 0;
}

}  // namespace

Error fused_attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  portable::Attention a(args);
  BERTH_RETURN_IF_ERROR(portable::prepare_attention(context, &a));
  const Tensor* const tensors[] = {a.mask};
  BERTH_RETURN_IF_ERROR(require_floats(context, tensors));
  const Tensor& out = args.out;
  const int64_t queries = a.query->size(1);
  const Gpu& gpu = *static_cast<const Session*>(context.user())->gpu;
  const bool tiles = gpu.reads_texels() && takes_texels(a, out);
  Launch ask(context, tiles ? ShaderId::attention_tiles : ShaderId::attention,
             tiles ? ShaderId::attention_tiles : ShaderId::attention_texels);
  ask.constant(a.mask != nullptr ? 1 : 0).constant(a.causal ? 1 : 0);
  ask.writes(out).reads(a.query).reads(a.key).reads(a.value).reads(a.mask);
  ask.number(queries).number(a.key->size(1)).number(a.heads).number(a.head_size);
  const Tensor* const matrices[] = {a.query, a.key, a.value};
  for (int k = 0; k < 3; ++k) ask.number(matrices[k]->stride(0)).number(matrices[k]->stride(1)).number(a.column[k]);
  ask.number(out.stride(0)).number(out.stride(1)).number(0);
  for (int64_t stride : a.mask_stride) ask.number(stride);
  ask.real(a.scale);
  if (!tiles) ask.rounds(a.key->size(1) * (1 + a.head_size));
  if (tiles) {
    // As in attention_tiles.comp.
    constexpr int64_t kQueries = 8;
    constexpr int64_t kWidth = 32;
    const int64_t blocks = (a.head_size + kWidth - 1) / kWidth;
    return ask.run(out.size(0) * a.heads * ((queries + kQueries - 1) / kQueries) * blocks, 1);
  }
  constexpr int64_t kColumns = 16;  // as in attention.comp
  return ask.run(out.size(0) * a.heads * queries * ((a.head_size + kColumns - 1) / kColumns));
}

Error fused_lstm_out(KernelContext& context, const arguments::fused_lstm_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm(context, args));
  return run_lstm(context, {args.gates, args.hidden, args.cell, args.weight, args.out, args.out_cell,
                            args.gates.size(0), args.weight.size(3), args.reverse});
}

Error fused_lstm_cell_out(KernelContext& context, const arguments::fused_lstm_cell_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_lstm_cell(context, args));
  return run_lstm(context, {args.gates, args.hidden, args.cell, args.weight, args.out_hidden, args.out_cell, 1,
                            args.hidden.size(1), false});
}

Error fused_shuffle_out(KernelContext& context, const arguments::fused_shuffle_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_shuffle(context, args));
  int64_t channels = 0;
  for (const Tensor& part : args.parts) channels += part.size(1);
  int64_t before = 0;
  for (Tensor& to : args.out) {
    int64_t first = 0;
    for (const Tensor& part : args.parts) {
      Launch ask(context, ShaderId::shuffle, ShaderId::shuffle_texels);
      ask.writes(to).reads(part);
      for (int d = 0; d < 4; ++d) ask.number(to.size(d));
      for (int d = 0; d < 4; ++d) ask.number(to.stride(d));
      for (int d = 0; d < 4; ++d) ask.number(part.stride(d));
      ask.number(before).number(args.groups).number(channels / args.groups).number(first).number(part.size(1));
      BERTH_RETURN_IF_ERROR(ask.run(to.numel()));
      first += part.size(1);
    }
    before += to.size(1);
  }
  return Error::kOk;
}

}  // namespace berth::vulkan
