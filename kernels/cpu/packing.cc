#include "kernels/cpu/packing.h"

#include <algorithm>

#include "kernels/cpu/conv_engine.h"
#include "kernels/portable/instruction_sets.h"
#ifdef BERTH_HIGHWAY
#include "kernels/cpu/simd_limit.h"
#include "kernels/cpu/tiles_narrow.h"
#endif
#ifdef BERTH_ONEDNN
#include "kernels/cpu/onednn.h"
#endif

namespace berth::cpu {
namespace {

// With so many threads the layout is asked for; another number may want another one, which costs a repacking at load.
constexpr int kThreads = 2;
// Of images, and of what else has so few: a pair would often be half empty.
constexpr int64_t kImageChannels = 4;

template <typename Call>
bool read_finish(const Call& call, Finish* finish) {
  KernelContext context({}, nullptr);
  const StringRef name = {call.activation.data(), call.activation.size()};
  portable::Activation activation;
  if (portable::read_activation(context, name, call.alpha, call.beta, &activation) != Error::kOk) return false;
  finish->bias = call.bias ? 1 : 0;
  finish->residual = call.residual ? 1 : 0;
  finish->activation = static_cast<int64_t>(activation.kind);
  finish->alpha = static_cast<double>(activation.alpha);
  finish->beta = static_cast<double>(activation.beta);
  return true;
}

void set_strides(bool last, int64_t batch, int64_t channels, const int64_t (&size)[2], int64_t (&stride)[4]) {
  const int64_t plane = size[0] * size[1];
  const int64_t counts[4] = {batch, channels, size[0], size[1]};
  const int64_t when_last[4] = {channels * plane, 1, channels * size[1], channels};
  const int64_t when_first[4] = {channels * plane, plane, size[1], 1};
  for (int i = 0; i < 4; ++i) stride[i] = counts[i] == 1 ? 0 : last ? when_last[i] : when_first[i];
}

bool read_spec(const ConvToPack& conv, ConvSpec* spec) {
  spec->weight_type = static_cast<int64_t>(conv.weight_type);
  spec->transposed = conv.transposed ? 1 : 0;
  spec->open = conv.open ? 1 : 0;
  spec->batch = conv.batch;
  spec->groups = conv.groups;
  spec->in_channels = conv.in_channels;
  spec->out_channels = conv.out_channels;
  if (conv.groups < 1 || conv.in_channels % conv.groups != 0 || conv.out_channels % conv.groups != 0) return false;
  for (int i = 0; i < 2; ++i) {
    spec->in[i] = conv.in[i];
    spec->kernel[i] = conv.kernel[i];
    spec->stride[i] = conv.stride[i];
    spec->padding[i] = conv.padding[i];
    spec->dilation[i] = conv.dilation[i];
    const int64_t reach = (conv.kernel[i] - 1) * conv.dilation[i] + 1;
    const int64_t room = conv.in[i] + 2 * conv.padding[i] - reach;
    if (conv.stride[i] < 1 || (room < 0 && !conv.transposed)) return false;
    spec->out[i] = room / conv.stride[i] + 1;
    if (!conv.transposed) continue;
    spec->out[i] = (conv.in[i] - 1) * conv.stride[i] + reach - 2 * conv.padding[i] + conv.output_padding[i];
    if (spec->out[i] < 1) return false;
  }
  set_strides(conv.channels_last, spec->batch, spec->in_channels, spec->in, spec->in_stride);
  set_strides(conv.channels_last, spec->batch, spec->out_channels, spec->out, spec->out_stride);
  return read_finish(conv, &spec->finish);
}

bool read_spec(const LinearToPack& linear, LinearSpec* spec) {
  spec->rows = linear.rows;
  spec->open = linear.open ? 1 : 0;
  spec->depth = linear.depth;
  spec->columns = linear.columns;
  spec->weight_type = static_cast<int64_t>(linear.weight_type);
  return read_finish(linear, &spec->finish);
}

// Whether the engines will be chosen, and will choose, as they would on a machine with this instruction set and no
// more.
bool stand_on(const std::string& isa) {
  if (isa == "native") return true;
#ifdef BERTH_ONEDNN
  if (!limit_onednn(isa.c_str())) return false;
#endif
#ifdef BERTH_HIGHWAY
  if (!limit_simd(isa.c_str())) return false;
#endif
  return true;
}

// Whether what stand_on() allows has products that take an image's first convolution in a tenth of the time of f32.
bool multiplies_matrices() {
#ifdef BERTH_HIGHWAY
  return matrix_functions().tiles.lanes > 0;
#else
  return false;
#endif
}

std::string source_of(const std::string& engine) {
#ifdef BERTH_ONEDNN
  if (engine == "onednn") return onednn_source();
#endif
  return "berth " + engine;
}

template <typename Spec>
bool pack_for(const Spec& spec, const DenseSizes& dense, const void* weight, const std::string& isa,
              PackedWeight* packed) {
  if (!stand_on(isa)) return false;
  const auto kind = choose_engine(spec, kThreads);
  const auto engine = kind == nullptr ? nullptr : kind->make();
  if (engine == nullptr || static_cast<int64_t>(engine->weight_type()) != spec.weight_type) return false;
  const WeightLayout& layout = engine->weight();
  const size_t size = element_size(engine->weight_type());
  packed->no_memory = !packed->allocate(layout.all_numel() * size);
  if (packed->no_memory) return false;
  pack(layout, weight, packed->bytes.data(), size);
  if (layout.derived_numel > 0) {
    auto* const floats = packed->bytes.as<float>();
    std::fill(floats + layout.packed_numel(), floats + layout.derived_offset(), 0.0f);
    engine->derive(floats, floats + layout.derived_offset());
  }
  packed->text = packing_text(source_of(engine->name()), dense, layout);
  return true;
}

}  // namespace

bool has_kernels_for(const std::string& isa) {
  return (isa != "avx2" || BERTH_WITH_AVX2 != 0) && (isa != "avx512" || BERTH_WITH_AVX512 != 0);
}

bool pack_conv(const ConvToPack& conv, const void* weight, const std::string& isa, PackedWeight* packed) {
  ConvSpec spec;
  if (isa == "generic" || !read_spec(conv, &spec)) return false;
  DenseSizes dense;
  dense.rank = 4;
  const int64_t forward[4] = {spec.out_channels, spec.in_channels / spec.groups, spec.kernel[0], spec.kernel[1]};
  const int64_t turned[4] = {spec.in_channels, spec.out_channels / spec.groups, spec.kernel[0], spec.kernel[1]};
  const int64_t(&sizes)[4] = conv.transposed ? turned : forward;
  for (int i = 0; i < 4; ++i) dense.size[i] = static_cast<int32_t>(sizes[i]);
  return pack_for(spec, dense, weight, isa, packed);
}

bool pack_linear(const LinearToPack& linear, const void* weight, const std::string& isa, PackedWeight* packed) {
  LinearSpec spec;
  if (isa == "generic" || !read_spec(linear, &spec)) return false;
  DenseSizes dense;
  dense.rank = 2;
  dense.size[0] = static_cast<int32_t>(linear.depth);
  dense.size[1] = static_cast<int32_t>(linear.columns);
  return pack_for(spec, dense, weight, isa, packed);
}

Narrowing narrowing_of(const ConvToPack& conv, const std::string& isa) {
  ConvSpec spec;
  if (!read_spec(conv, &spec) || spec.flops() == 0) return Narrowing::kNoEngine;
  if (spec.groups > 1 && spec.groups == spec.in_channels) return Narrowing::kDepthwise;
  const bool image = spec.in_channels / spec.groups <= kImageChannels;
  if (image && isa == "generic") return Narrowing::kFewChannels;
  if (isa != "generic" && !stand_on(isa)) return Narrowing::kNoEngine;
  if (image && !multiplies_matrices()) return Narrowing::kFewChannels;
  const auto kind = choose_engine(spec, kThreads);
  if (kind == nullptr) return Narrowing::kNoEngine;
  return prefers_fewer_products(spec, kThreads) ? Narrowing::kFewerProducts : Narrowing::kNarrow;
}

Narrowing narrowing_of(const LinearToPack& linear, const std::string& isa) {
  if (isa != "generic" && !stand_on(isa)) return Narrowing::kNoEngine;
  LinearSpec spec;
  if (!read_spec(linear, &spec)) return Narrowing::kNoEngine;
  return choose_engine(spec, kThreads) == nullptr ? Narrowing::kNoEngine : Narrowing::kNarrow;
}

namespace {

template <typename Spec>
bool takes_narrow(Spec& spec, const std::string& isa) {
  if (spec.weight_type != static_cast<int64_t>(DType::kBF16) || (isa != "generic" && !stand_on(isa))) return false;
  spec.narrow_input = 1;
  spec.narrow_out = 1;
  return choose_engine(spec, kThreads) != nullptr;
}

}  // namespace

bool takes_narrow_tensors(const ConvToPack& conv, const std::string& isa) {
  ConvSpec spec;
  return read_spec(conv, &spec) && takes_narrow(spec, isa);
}

bool takes_narrow_tensors(const LinearToPack& linear, const std::string& isa) {
  LinearSpec spec;
  return read_spec(linear, &spec) && takes_narrow(spec, isa);
}

}  // namespace berth::cpu
