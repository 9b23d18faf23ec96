#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/huge_page_buffer.h"
#include "base/mapped_file.h"
#include "base/math.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/zeros.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// Of the transformed input and the products of one block: what stays in a second-level cache beside some weights.
constexpr int64_t kBlockFloats = 80 * 1024;
// With fewer tiles than this side by side, a thread waits for the weights.
constexpr int64_t kFewTiles = 12;

// Where it is chosen (bench/cpu_bench.cc). With few channels the transforms take longer than the products save; with
// few pixels the transformed weight takes longer to read, and too much memory. At 14x14 pixels, tiles of 4x4 are as
// fast as those of 2x2, for an eighth of their pixels lies outside, with more than twice the memory; at 27x27 they are
// a fifth faster, which is not worth it.
constexpr int64_t kFewChannels = 16;
constexpr int64_t kPixelsFor2 = 14 * 14;
constexpr int64_t kPixelsFor4 = 28 * 28;
constexpr int64_t kMostWeightsFor4 = 256 * 256;
// With more, so many tiles as are worth their weights take more scratch memory than a second-level cache has.
constexpr int64_t kMostDepth = 1024;
constexpr int64_t kMostDepthFor4 = 512;

// Of a weight, for one thread to transform: with fewer it is done before another has begun.
constexpr int64_t kRegistersOfAShare = 128;

// Of [column][depth][tap][tap] into [panel][tap][tap][depth][column of the panel]: as tiles have it.
WeightLayout panel_layout(const WinogradJob& job) {
  constexpr int64_t kKernel = WinogradJob::kKernel;
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  const int64_t row = job.panel_columns, taps = kKernel * kKernel;
  l.blocks = 1;
  l.block[0] = row;
  add(job.columns, job.depth * taps, row * job.depth * taps);
  add(job.depth, taps, row);
  add(kKernel, kKernel, row * job.depth * kKernel);
  add(kKernel, 1, row * job.depth);
  return l;
}

int64_t weight_floats(const WinogradJob& job) { return job.panels * job.depth * job.panel_columns; }

// With the transformed weight behind it.
WeightLayout layout_of(const WinogradJob& job, const WinogradFunctions& functions) {
  WeightLayout layout = panel_layout(job);
  layout.derived = functions.tile == 2 ? Derived::kWinograd2 : Derived::kWinograd4;
  layout.derived_numel = functions.positions * weight_floats(job);
  return layout;
}

// How the work is shared out: blocks of tiles, and groups of panels where the blocks are few.
struct Shares {
  int64_t blocks, groups;
};

Shares shares_of(const WinogradJob& job, int threads) {
  const int64_t blocks = ceil_div(job.all_tiles(), job.block);
  const int64_t wanted = ceil_div(int64_t{threads}, blocks);
  return {blocks, std::min(wanted, job.panels)};
}

void set_sizes(const ConvSpec& spec, const WinogradFunctions& functions, WinogradJob* job) {
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
    job->tiles[i] = ceil_div(spec.out[i], functions.tile);
  }
}

int64_t pixels_of(const ConvSpec& spec) { return spec.batch * spec.out[0] * spec.out[1]; }

int64_t most_tiles(const WinogradFunctions& functions, const WinogradJob& job) {
  const int64_t tile_floats = functions.positions * (job.depth_row + job.panel_columns);
  return std::max<int64_t>(kFewTiles, kBlockFloats / tile_floats);
}

// Blocks of about the same size, as many for each thread.
void cut_tiles(const WinogradFunctions& functions, int threads, WinogradJob* job) {
  const int64_t tiles = job->all_tiles();
  const int64_t most = most_tiles(functions, *job);
  int64_t blocks = ceil_div(tiles, most);
  if (tiles >= kFewTiles * threads) blocks = align_up(blocks, int64_t{threads});
  job->block = ceil_div(tiles, blocks);
}

class WinogradEngine final : public PackedEngine {
 public:
  WinogradEngine(const WinogradJob& job, const WinogradFunctions& functions, int slots, std::unique_ptr<Engine> direct)
      : PackedEngine(layout_of(job, functions)),
        job_(job),
        functions_(functions),
        slots_(slots),
        zeros_(job.depth_row),
        direct_(std::move(direct)) {
    job_.zeros = zeros_.data();
  }
  const char* name() const override { return "winograd"; }

  bool resize(const ConvSpec& spec) override {
    if (!spec.channels_last()) return false;
    directly_ = direct_ != nullptr && pixels_of(spec) < kPixelsFor2;
    if (directly_) return direct_->resize(spec);
    set_sizes(spec, functions_, &job_);
    cut_tiles(functions_, slots_, &job_);
    return true;
  }

  void derive(const float* weight, float* derived) override { transform(weight, derived, nullptr); }

  Error take_weight(const float* weight, const float* derived, ThreadPool* pool) override {
    if (derived == nullptr) {
      if (!transformed_.allocate(this->weight().derived_numel * sizeof(float))) return Error::kMemoryAllocationFailed;
      transform(weight, transformed_.as<float>(), pool);
    }
    job_.transformed = derived != nullptr ? derived : transformed_.as<float>();
    // It is read again for results that are not finite, only.
    MappedFile::release_memory(
        {reinterpret_cast<const uint8_t*>(weight), this->weight().packed_numel() * sizeof(float)});
    return Error::kOk;
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    if (directly_) return direct_->run(context, operands, weight);
    const size_t floats = functions_.scratch_floats(job_);
    auto* scratch = static_cast<float*>(context.allocate_temp(slots_ * floats * sizeof(float)));
    if (scratch == nullptr) return Error::kMemoryAllocationFailed;
    job_.input = operands.input;
    job_.weight = weight;
    job_.bias = operands.bias;
    job_.out_data = operands.out;
    const Shares shares = shares_of(job_, slots_);
    const int64_t tiles = job_.all_tiles();
    const auto run_item = [&](float* own, int64_t item) {
      const int64_t block = item / shares.groups, group = item % shares.groups;
      functions_.run(job_, block * tiles / shares.blocks, (block + 1) * tiles / shares.blocks,
                     group * job_.panels / shares.groups, (group + 1) * job_.panels / shares.groups, own);
    };
    portable::for_each_item(context, slots_, shares.blocks * shares.groups, run_item,
                            [&](int64_t slot) { return scratch + slot * floats; });
    return Error::kOk;
  }

 private:
  // Of one tap, or one position.

  void transform(const float* weight, float* transformed, ThreadPool* pool) {
    job_.weight = weight;
    KernelContext context({}, pool);
    context.parallel_for(weight_floats(job_) / functions_.lanes, kRegistersOfAShare, [&](int64_t begin, int64_t end) {
      functions_.transform_weight(job_, begin, end, transformed);
    });
  }

  WinogradJob job_;
  WinogradFunctions functions_;
  int slots_;
  Zeros zeros_;
  HugePageBuffer transformed_;
  std::unique_ptr<Engine> direct_;  // for sizes of few pixels, from the same panels; null where there are none
  bool directly_ = false;
};

class WinogradKind final : public EngineKind {
 public:
  WinogradKind(const WinogradJob& job, const WinogradFunctions& functions, int slots, const ConvSpec& spec)
      : job_(job), functions_(functions), slots_(slots), spec_(spec) {}
  void leave_few_pixels() { leaves_few_pixels_ = spec_.open != 0; }
  size_t temp_bytes() const override {
    WinogradJob largest = job_;
    if (spec_.open != 0) largest.block = std::max(largest.block, most_tiles(functions_, job_));
    return (slots_ * functions_.scratch_floats(largest)) * sizeof(float) + portable::kTempPadding;
  }
  std::unique_ptr<Engine> make() const override {
    auto direct = leaves_few_pixels_ ? panel_engine(spec_, job_.panel_columns) : nullptr;
    return std::make_unique<WinogradEngine>(job_, functions_, slots_, std::move(direct));
  }

 private:
  WinogradJob job_;
  WinogradFunctions functions_;
  int slots_;
  ConvSpec spec_;  // of open sizes a block may be larger than of the largest
  bool leaves_few_pixels_ = false;
};

bool takes(const ConvSpec& spec) {
  if (spec.transposed != 0 || spec.groups != 1 || !spec.channels_last()) return false;
  for (int i = 0; i < 2; ++i) {
    if (spec.kernel[i] != WinogradJob::kKernel || spec.stride[i] != 1 || spec.dilation[i] != 1) return false;
  }
  return true;
}

void set_activation(const portable::Activation& activation, WinogradJob* job) {
  using Kind = portable::ActivationKind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool clamp = activation.kind == Kind::kClamp;
  job->activation = activation;
  job->bounded = clamp || activation.kind == Kind::kNone || activation.kind == Kind::kRelu;
  job->low = clamp ? activation.alpha : activation.kind == Kind::kRelu ? 0 : -kInfinity;
  job->high = clamp ? activation.beta : kInfinity;
}

// Panels of about the same width, whole registers each.
void cut_columns(const WinogradFunctions& functions, WinogradJob* job) {
  job->panels = ceil_div(job->columns, functions.max_columns);
  job->panel_columns = align_up(ceil_div(job->columns, job->panels), functions.lanes);
  job->panels = ceil_div(job->columns, job->panel_columns);
}

std::unique_ptr<WinogradKind> make_kind(const ConvSpec& spec, int threads, WinogradTile tile) {
  const WinogradFunctions functions = winograd_functions(tile);
  threads = std::clamp(threads, 1, portable::kMaxSlots);
  WinogradJob job;
  set_sizes(spec, functions, &job);
  job.depth = spec.in_channels;
  job.columns = spec.out_channels;
  for (int i = 0; i < 2; ++i) job.padding[i] = spec.padding[i];
  job.depth_row = align_up(job.depth, functions.lanes);
  set_activation(spec.finish.function(), &job);
  job.residual = spec.finish.residual != 0;
  cut_columns(functions, &job);
  cut_tiles(functions, threads, &job);
  const Shares shares = shares_of(job, threads);
  const int slots = static_cast<int>(std::min<int64_t>(threads, shares.blocks * shares.groups));
  return std::make_unique<WinogradKind>(job, functions, slots, spec);
}

}  // namespace

std::unique_ptr<EngineKind> winograd_kind(const ConvSpec& spec, int threads, WinogradTile tile) {
  return takes(spec) ? make_kind(spec, threads, tile) : nullptr;
}

std::unique_ptr<EngineKind> worthwhile_winograd_kind(const ConvSpec& spec, int threads) {
  if (!takes(spec) || std::min(spec.in_channels, spec.out_channels) < kFewChannels) return nullptr;
  const int64_t pixels = pixels_of(spec);
  if (pixels < kPixelsFor2 || spec.in_channels > kMostDepth) return nullptr;
  const bool small = spec.in_channels <= kMostDepthFor4 && spec.in_channels * spec.out_channels <= kMostWeightsFor4;
  auto kind = make_kind(spec, threads, pixels >= kPixelsFor4 && small ? WinogradTile::k4 : WinogradTile::k2);
  kind->leave_few_pixels();
  return kind;
}

}  // namespace berth::cpu
