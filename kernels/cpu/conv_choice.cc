// Which engine takes a call.

#include <algorithm>

#include "kernels/cpu/conv_engine.h"

#ifdef BERTH_HIGHWAY
#include "kernels/cpu/last_conv.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/tiles_narrow.h"
#include "kernels/cpu/winograd.h"
#endif
#ifdef BERTH_ONEDNN
#include "kernels/cpu/onednn.h"
#include "kernels/portable/gemm_slots.h"
#endif

namespace berth::cpu {
namespace {

// On each of the suite's twelve models, our own engines together take from 0.78 to 1.03 times oneDNN's time for its
// convolutions and products, on one thread or two, with AVX-512; from 0.76 to 1.13 with AVX2 (bench/cpu_bench.cc has
// such shapes). They are ready at once where oneDNN makes code first, for up to a millisecond each, and keeps memory of
// its own. oneDNN has processors with narrower registers, where there is enough to do.
constexpr double kLeastFlops = 4e6;
#ifdef BERTH_HIGHWAY
constexpr int64_t kWideLanes = 8;
bool have_wide_registers() { return tile_functions().lanes >= kWideLanes; }
// Channels of a result from which on matrices of 16 columns take less time than registers of pixels.
constexpr int64_t kFewColumns = 2;
#else
bool have_wide_registers() { return false; }
#endif

template <typename Spec>
bool prefer_tiles(const Spec& spec) {
  return spec.flops() < kLeastFlops || have_wide_registers();
}

// What models have. Files may ask for anything, and engines reckon with pixels of the input that are outside of it.
bool is_ordinary(const ConvSpec& spec) {
  constexpr int64_t kMost = 1 << 16;
  for (int i = 0; i < 2; ++i) {
    if (std::max({spec.stride[i], spec.padding[i], spec.dilation[i]}) > kMost) return false;
  }
  return true;
}

Prefer preferred = Prefer::kFaster;

#ifdef BERTH_ONEDNN

// oneDNN's activations lose NaN (relu turns it into 0), so Berth's own are applied to the stored result.
struct Following {
  portable::Activation activation;
  int64_t count = 0;  // of elements
};

// Elements of an activation that are worth another thread.
constexpr int64_t kGrainElements = 1 << 13;

class OneDnnEngine final : public Engine {
 public:
  OneDnnEngine(std::unique_ptr<OneDnnCall> call, const Following& following)
      : call_(std::move(call)), following_(following) {}
  const char* name() const override { return "onednn"; }
  const WeightLayout& weight() const override { return call_->primitive().weight(); }
  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    const size_t bytes = call_->primitive().scratch_bytes();
    void* scratch = bytes == 0 ? nullptr : context.allocate_temp(bytes);
    if (bytes != 0 && scratch == nullptr) return Error::kMemoryAllocationFailed;
    const Error error = call_->run(operands.input, weight, operands.bias, operands.out, scratch);
    if (error != Error::kOk) return context.fail(error, "oneDNN could not run it");
    if (following_.activation.kind == portable::ActivationKind::kNone) return Error::kOk;
    context.parallel_for(following_.count, kGrainElements, [&](int64_t begin, int64_t end) {
      portable::activate(following_.activation, operands.out + begin, end - begin);
    });
    return Error::kOk;
  }

 private:
  std::unique_ptr<OneDnnCall> call_;
  Following following_;
};

class OneDnnKind final : public EngineKind {
 public:
  OneDnnKind(std::shared_ptr<const OneDnnPrimitive> primitive, const Following& following)
      : primitive_(std::move(primitive)), following_(following) {}
  size_t temp_bytes() const override {
    const size_t bytes = primitive_->scratch_bytes();
    return bytes == 0 ? 0 : bytes + portable::kTempPadding;
  }
  std::unique_ptr<Engine> make() const override {
    auto call = OneDnnCall::make(primitive_);
    return call == nullptr ? nullptr : std::make_unique<OneDnnEngine>(std::move(call), following_);
  }

 private:
  std::shared_ptr<const OneDnnPrimitive> primitive_;
  Following following_;
};

int64_t elements_of(const ConvSpec& spec) { return spec.batch * spec.out_channels * spec.out[0] * spec.out[1]; }
int64_t elements_of(const LinearSpec& spec) { return spec.rows * spec.columns; }

template <typename Spec>
std::unique_ptr<EngineKind> onednn_kind(Spec spec, int threads) {
  const Following following = {spec.finish.function(), elements_of(spec)};
  spec.finish.activation = static_cast<int64_t>(portable::ActivationKind::kNone);
  spec.finish.alpha = spec.finish.beta = 0;
  auto primitive = OneDnnPrimitive::get(spec, threads);
  return primitive == nullptr ? nullptr : std::make_unique<OneDnnKind>(std::move(primitive), following);
}

#else

template <typename Spec>
std::unique_ptr<EngineKind> onednn_kind(const Spec&, int) {
  return nullptr;
}

#endif

#ifndef BERTH_HIGHWAY
template <typename Spec>
std::unique_ptr<EngineKind> tile_kind(const Spec&, int) {
  return nullptr;
}
#endif

std::unique_ptr<EngineKind> fewer_multiplications(const ConvSpec& spec, int threads, Prefer prefer) {
#ifdef BERTH_HIGHWAY
  switch (prefer) {
    case Prefer::kFaster: return worthwhile_winograd_kind(spec, threads);
    case Prefer::kWinograd2: return winograd_kind(spec, threads, WinogradTile::k2);
    case Prefer::kWinograd4: return winograd_kind(spec, threads, WinogradTile::k4);
    default: break;
  }
#else
  static_cast<void>(spec);
  static_cast<void>(threads);
  static_cast<void>(prefer);
#endif
  return nullptr;
}

template <typename Spec>
std::unique_ptr<EngineKind> choose(const Spec& spec, int threads, Prefer prefer) {
  if (prefer == Prefer::kFaster) prefer = preferred;
  // oneDNN makes code for one size.
  if (spec.open != 0) return prefer == Prefer::kOneDnn ? nullptr : tile_kind(spec, threads);
  const bool tiles_first = prefer == Prefer::kTiles || (prefer == Prefer::kFaster && prefer_tiles(spec));
  auto kind = tiles_first ? tile_kind(spec, threads) : onednn_kind(spec, threads);
  if (kind != nullptr || prefer != Prefer::kFaster) return kind;
  return tiles_first ? onednn_kind(spec, threads) : tile_kind(spec, threads);
}

// Whether the weight is narrow; then `kind` is what takes it, or null.
template <typename Spec>
bool takes_narrow(const Spec& spec, int threads, Prefer prefer, std::unique_ptr<EngineKind>* kind) {
  const bool narrow = spec.weight_type == static_cast<int64_t>(DType::kBF16);
  if (!narrow && spec.narrow_input + spec.narrow_out != 0) return true;
  if (spec.weight_type == static_cast<int64_t>(DType::kF32)) return false;
#ifdef BERTH_HIGHWAY
  if (narrow) {
    *kind = bf16_tile_kind(spec, threads);
    return true;
  }
  *kind = f16_tile_kind(spec);
  if (*kind != nullptr) return true;
#else
  if (narrow) return true;
#endif
  // Of f16 nothing but the weight is narrow: engines of f32 take it when it is widened.
  Spec wide = spec;
  wide.weight_type = static_cast<int64_t>(DType::kF32);
  *kind = choose_engine(wide, threads, prefer);
  return true;
}

}  // namespace

void set_preferred_engine(Prefer prefer) { preferred = prefer; }

std::unique_ptr<EngineKind> choose_engine(const ConvSpec& spec, int threads, Prefer prefer) {
  if (spec.flops() == 0 || !is_ordinary(spec)) return nullptr;
  std::unique_ptr<EngineKind> kind;
  if (takes_narrow(spec, threads, prefer, &kind)) return kind;
  kind = fewer_multiplications(spec, threads, prefer == Prefer::kFaster ? preferred : prefer);
  return kind != nullptr ? std::move(kind) : choose(spec, threads, prefer);
}
bool prefers_fewer_products(const ConvSpec& spec, int threads) {
  // Of f16 nothing but the weight in the file is narrow.
  if (spec.weight_type != static_cast<int64_t>(DType::kBF16)) return false;
#ifdef BERTH_HIGHWAY
  ConvSpec wide = spec;
  wide.weight_type = static_cast<int64_t>(DType::kF32);
  // Products of matrices are sixteen times as many in a cycle, of which a few channels waste most.
  const bool matrices = matrix_functions().tiles.lanes > 0;
  if (last_conv_kind(wide, threads) != nullptr) return !matrices || spec.out_channels < kFewColumns;
  const auto kind = worthwhile_winograd_kind(wide, threads);
  if (kind == nullptr || matrices) return false;
  // Pairs halve the products; tiles of 2x2 save a little more, but what they read is 3.5 times as large, and transforms
  // take the rest. Tiles of 4x4 take two thirds of the time of pairs (docs/precision.md).
  return !has_bf16_products() || kind->make()->weight().derived == Derived::kWinograd4;
#else
  static_cast<void>(threads);
  return false;
#endif
}

std::unique_ptr<EngineKind> choose_engine(const LinearSpec& spec, int threads, Prefer prefer) {
  std::unique_ptr<EngineKind> kind;
  if (spec.flops() == 0 || takes_narrow(spec, threads, prefer, &kind)) return kind;
  return choose(spec, threads, prefer);
}

}  // namespace berth::cpu
