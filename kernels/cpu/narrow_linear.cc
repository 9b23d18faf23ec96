#include "kernels/cpu/narrow_linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "base/huge_page_buffer.h"
#include "base/math.h"
#include "format/arguments.h"
#include "kernels/cpu/narrow_linear_bytes.h"
#include "kernels/cpu/narrow_linear_digits.h"
#include "kernels/cpu/narrow_linear_planes.h"
#include "kernels/cpu/narrow_linear_run.h"
#include "kernels/cpu/narrow_linear_words.h"
#include "kernels/cpu/tiles.h"
#include "kernels/portable/fused_narrow_linear.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

using Args = arguments::fused_narrow_linear_out;
namespace at = arg::fused_narrow_linear_out;

// Fewer multiplications than this in all are done before another thread has woken.
constexpr double kSerialWork = 1 << 19;
// Rows of the weight that are widened at a time: with 64 columns they stay in a second-level cache while all rows of
// the input come by.
constexpr int64_t kWideRows = 512;
constexpr size_t kWideBytes = kWideRows * kNarrowPanel * sizeof(float);

struct State {
  NarrowPacked packed;
  // Null where the file has them packed.
  HugePageBuffer weight;
  HugePageBuffer numbers;
};

bool all_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return true;
  const auto* x = tensor.data<float>();
  return std::all_of(x, x + tensor.numel(), [](float y) { return std::isfinite(y); });
}

// The types that a packed weight's tensors must have.
bool has_types(const Args& args) {
  const Tensor* zeros = args.zero_points;
  const DType scales = args.scales.dtype();
  return args.weight.dtype() == (args.bits == 8 ? DType::kI8 : DType::kU8) &&
         (scales == DType::kF32 || scales == DType::kF16) &&
         (zeros == nullptr || zeros->dtype() == DType::kI8 || zeros->dtype() == DType::kF32);
}

Error use_packed(PrepareContext& context, const Args& args, State& state) {
  NarrowPacked& p = state.packed;
  const Tensor* zeros = args.zero_points;
  const int rank = args.input.rank();
  if (!read_narrow_packing(args.packing, args.bits, args.block, &p.layout) || !has_types(args) || rank < 1 ||
      args.input.size(rank - 1) != p.layout.depth || args.weight.numel() != p.layout.weight_bytes() ||
      args.scales.numel() != p.layout.numbers() || (zeros != nullptr && zeros->numel() != p.layout.numbers())) {
    return context.fail(Error::kInvalidProgram, "the packing of a narrow weight is not one that this kernel knows");
  }
  if (!context.is_constant(at::weight) || !context.is_constant(at::scales) ||
      (zeros != nullptr && !context.is_constant(at::zero_points))) {
    return context.fail(Error::kInvalidProgram, "a packed weight must be a constant");
  }
  p.weight = args.weight.data<uint8_t>();
  if (args.scales.dtype() == DType::kF16) {
    p.numbers.half_scales = args.scales.data<Half>();
  } else {
    p.numbers.scales = args.scales.data<float>();
  }
  if (zeros == nullptr) return Error::kOk;
  if (zeros->dtype() == DType::kI8) {
    p.numbers.zeros = zeros->data<int8_t>();
  } else {
    p.numbers.real_zeros = zeros->data<float>();
  }
  return Error::kOk;
}

// Packs dense constants. Without a state, the portable kernel runs: it says what is wrong, and has IEEE's answer for
// scales that are not finite.
Error pack(PrepareContext& context, const Args& args, std::unique_ptr<State> state, void** out) {
  const Tensor* zeros = args.zero_points;
  if (!context.is_constant(at::weight) || !context.is_constant(at::scales) ||
      (zeros != nullptr && !context.is_constant(at::zero_points))) {
    return Error::kOk;
  }
  KernelContext own({}, nullptr);
  portable::NarrowLinear linear;
  if (portable::check_narrow_weight(own, args, &linear) != Error::kOk || !all_finite(args.scales) ||
      (zeros != nullptr && !all_finite(*zeros))) {
    return Error::kOk;
  }
  NarrowPacked& p = state->packed;
  p.layout = {linear.depth, linear.columns, linear.block, linear.blocks, args.bits};
  if (!p.layout.fits()) return Error::kOk;
  const int64_t numbers = p.layout.numbers();
  const bool allocated = state->weight.allocate(p.layout.weight_bytes()) &&
                         state->numbers.allocate((zeros == nullptr ? numbers : 2 * numbers) * sizeof(float));
  if (!allocated) return context.fail(Error::kMemoryAllocationFailed, "there is no memory to pack its weight");
  const portable::NarrowWeight dense(args.weight, args.scales, zeros, args.bits);
  uint8_t* weight = state->weight.data();
  pack_narrow_weight(p.layout, dense, weight);
  pack_narrow_scales(p.layout, dense, state->numbers.as<float>());
  p.weight = weight;
  p.numbers.scales = state->numbers.as<float>();
  if (zeros != nullptr) {
    pack_narrow_zeros(p.layout, dense, state->numbers.as<float>() + numbers);
    p.numbers.real_zeros = state->numbers.as<float>() + numbers;
  }
  *out = state.release();
  return Error::kOk;
}

// Some rows of a call.
struct Call {
  const NarrowPacked& packed;
  const portable::Activation& activation;
  const float* bias;  // or null, as residual
  int64_t rows;
  const float* input;
  const float* residual;
  float* out;

  int64_t columns() const { return packed.layout.columns; }
  Call part(int64_t begin, int64_t count) const {
    Call some = *this;
    some.rows = count;
    some.input += begin * packed.layout.depth;
    some.out += begin * columns();
    if (residual != nullptr) some.residual += begin * columns();
    return some;
  }
};

// Rows of a panel, whose products are in `sum`.
void finish(const Call& call, int64_t panel, float* sum) {
  const int64_t column = panel * kNarrowPanel;
  const int64_t count = std::min(kNarrowPanel, call.columns() - column);
  for (int64_t i = 0; i < call.rows; ++i) {
    const int64_t place = i * call.columns() + column;
    float* y = sum + i * kNarrowPanel;
    if (call.residual != nullptr) {
      for (int64_t j = 0; j < count; ++j) y[j] += call.residual[place + j];
    }
    if (call.bias != nullptr) {
      for (int64_t j = 0; j < count; ++j) y[j] += call.bias[column + j];
    }
    portable::activate(call.activation, y, count);
    std::memcpy(call.out + place, y, count * sizeof(float));
  }
}

// How many panels a thread takes at least.
int64_t grain_of(const Call& call) {
  const NarrowLayout& layout = call.packed.layout;
  const double work = static_cast<double>(layout.depth) * static_cast<double>(layout.columns * call.rows);
  return work < kSerialWork ? INT64_MAX : 1;
}

TileJob tile_job(const Call& call) {
  TileJob job;
  job.input_step = call.packed.layout.depth;
  job.in[1] = job.out[1] = call.rows;
  job.out_pixel = call.columns();
  return job;
}

// Strips of rows times a panel that is widened in `wide`, some rows of the weight at a time.
void multiply_wide(const Call& call, const TileFunctions& tiles, int64_t panel, int64_t begin, int64_t end,
                   float* wide) {
  const NarrowFunctions functions = narrow_functions();
  const NarrowLayout& layout = call.packed.layout;
  const int64_t width = layout.width(panel);
  const int64_t first = panel * kNarrowPanel;
  TileJob job = tile_job(call);
  job.panel_columns = std::min(functions.tile_columns, width);
  cut_into_strips(tiles, TileShape::kPlain, &job);
  for (int64_t k = 0; k < layout.depth; k += kWideRows) {
    const int64_t last = std::min(layout.depth, k + kWideRows);
    functions.widen(call.packed, panel, k, last, wide);
    Finish finish;
    finish.residual = k > 0 || call.residual != nullptr ? 1 : 0;
    const bool ends = last == layout.depth;
    finish.activation = static_cast<int64_t>(ends ? call.activation.kind : portable::ActivationKind::kNone);
    finish.alpha = static_cast<double>(call.activation.alpha);
    finish.beta = static_cast<double>(call.activation.beta);
    set_finish(finish, &job);
    job.depth = last - k;
    job.input = call.input + k;
    job.weight_panel = job.depth * job.panel_columns;
    for (int64_t part = 0; part < width / job.panel_columns; ++part) {
      const int64_t column = first + part * job.panel_columns;
      if (column >= layout.columns) break;
      job.columns = std::min(job.panel_columns, layout.columns - column);
      job.weight = wide + part * job.weight_panel;
      job.bias = k == 0 && call.bias != nullptr ? call.bias + column : nullptr;
      job.out_data = call.out + column;
      tiles.run(job, 0, begin, end);
    }
  }
}

void run_wide(KernelContext& context, const Call& call, void* memory) {
  const TileFunctions tiles = tile_functions();
  const int64_t threads = context.threads();
  auto* wide = static_cast<float*>(memory);
  if (call.residual != nullptr && call.residual != call.out) {
    std::memcpy(call.out, call.residual, call.rows * call.columns() * sizeof(float));
  }
  // Rows are in strips of the same height whatever the panel: those of the widest are fewest.
  const int64_t panels = call.packed.layout.panels();
  const int64_t pieces = panels >= threads ? 1 : ceil_div(threads, panels);
  context.parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      const int64_t items = panels * pieces;
      for (int64_t item = thread * items / threads; item < (thread + 1) * items / threads; ++item) {
        TileJob job = tile_job(call);
        const int64_t panel = item / pieces;
        job.panel_columns = std::min(narrow_functions().tile_columns, call.packed.layout.width(panel));
        cut_into_strips(tiles, TileShape::kPlain, &job);
        const int64_t piece = item % pieces;
        multiply_wide(call, tiles, panel, piece * job.strips() / pieces, (piece + 1) * job.strips() / pieces,
                      wide + thread * kWideRows * kNarrowPanel);
      }
    }
  });
}

// Up to kNarrowRows, widened in registers.
void run_few(KernelContext& context, const Call& call) {
  const NarrowFunctions functions = narrow_functions();
  context.parallel_for(call.packed.layout.panels(), grain_of(call), [&](int64_t begin, int64_t end) {
    alignas(64) float sum[kNarrowRows * kNarrowPanel];
    for (int64_t panel = begin; panel < end; ++panel) {
      functions.multiply(call.packed, panel, call.input, call.rows, sum);
      finish(call, panel, sum);
    }
  });
}

// f(row of the input, its number), false where the row cannot be made of whole numbers.
template <typename F>
bool split(KernelContext& context, const Call& call, F&& f) {
  const int64_t depth = call.packed.layout.depth;
  std::atomic<bool> fits{true};
  context.parallel_for(call.rows, portable::grain_of(depth), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!f(call.input + i * depth, i)) fits = false;
    }
  });
  return fits;
}

void multiply(const NarrowPacked& packed, int64_t panel, const NarrowDigits& digits, int64_t begin, int64_t end,
              float* sum) {
  multiply_digits(packed, panel, digits, begin, end, sum);
}
void multiply(const NarrowPacked& packed, int64_t panel, const NarrowBytes& bytes, int64_t begin, int64_t end,
              float* sum) {
  multiply_bytes(packed, panel, bytes, begin, end, sum);
}

// A panel and some rows are an item: all rows, unless there are few panels. Numbers is NarrowDigits or NarrowBytes.
// REQUIRES: no more rows than NarrowDigits::kMostRows.
template <typename Numbers>
void run_up_to_64_rows(KernelContext& context, const Call& call, const Numbers& numbers) {
  constexpr int64_t kItems = 4;  // of each thread
  constexpr int64_t kFewest = 4;
  const int64_t panels = call.packed.layout.panels();
  const int64_t wanted = ceil_div<int64_t>(kItems * context.threads(), panels);
  const int64_t pieces = std::min(wanted, ceil_div(call.rows, kFewest));
  context.parallel_for(panels * pieces, grain_of(call), [&](int64_t begin, int64_t end) {
    alignas(64) float sum[NarrowDigits::kMostRows * kNarrowPanel];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t panel = item / pieces;
      const int64_t piece = item % pieces;
      const int64_t first = piece * call.rows / pieces;
      const int64_t last = (piece + 1) * call.rows / pieces;
      multiply(call.packed, panel, numbers, first, last, sum);
      finish(call.part(first, last - first), panel, sum);
    }
  });
}

int slots_of(int threads) { return std::clamp(threads, 1, portable::kMaxSlots); }

void multiply(const NarrowPacked& packed, int64_t panel, const NarrowWords& words, int64_t begin, int64_t end,
              const NarrowWords::Scratch& scratch) {
  multiply_words(packed, panel, words, begin, end, scratch);
}
void multiply(const NarrowPacked& packed, int64_t panel, const NarrowPlanes& planes, int64_t begin, int64_t end,
              const NarrowPlanes::Scratch& scratch) {
  multiply_planes(packed, panel, planes, begin, end, scratch);
}
void multiply(const NarrowPacked& packed, int64_t panel, const NarrowBytes& bytes, int64_t begin, int64_t end,
              const NarrowBytes::Scratch& scratch) {
  multiply_bytes(packed, panel, bytes, begin, end, scratch.sum);
}

// A panel is an item: with all rows, unless there are few panels. Numbers is NarrowWords, NarrowPlanes or NarrowBytes.
template <typename Numbers>
void run_panels(KernelContext& context, const Call& call, const Numbers& numbers, uint8_t* scratch) {
  const NarrowLayout& layout = call.packed.layout;
  const int slots = slots_of(context.threads());
  const int64_t pieces = std::min(ceil_div<int64_t>(slots, layout.panels()), call.rows);
  const int64_t bytes = Numbers::scratch_bytes(Numbers::most_rows(layout));
  portable::for_each_item(
      context, slots, layout.panels() * pieces,
      [&](typename Numbers::Scratch& own, int64_t item) {
        const int64_t first = item % pieces * call.rows / pieces;
        const int64_t last = (item % pieces + 1) * call.rows / pieces;
        multiply(call.packed, item / pieces, numbers, first, last, own);
        finish(call.part(first, last - first), item / pieces, own.sum);
      },
      [&](int64_t slot) { return typename Numbers::Scratch(scratch + slot * bytes); });
}

template <typename Numbers>
size_t numbers_memory(const NarrowLayout& layout, int64_t rows, int threads) {
  const int64_t most = Numbers::most_rows(layout);
  return Numbers::bytes(layout, std::min(rows, most)) + slots_of(threads) * Numbers::scratch_bytes(most);
}

// Bytes of temporary memory for `rows` rows at most.
size_t memory_of(const NarrowLayout& layout, int64_t rows, int threads) {
  size_t most = NarrowDigits::bytes(layout, std::min(rows, NarrowDigits::most_rows(layout)));
  if (NarrowBytes::take(layout)) {
    most = std::max(most, rows <= NarrowDigits::kMostRows ? NarrowBytes::bytes(layout, rows)
                                                          : numbers_memory<NarrowBytes>(layout, rows, threads));
  }
  if (rows <= kNarrowRows) return most;
  most = std::max(most, threads * kWideBytes);
  if (NarrowWords::take(layout, rows)) most = std::max(most, numbers_memory<NarrowWords>(layout, rows, threads));
  if (NarrowPlanes::take(layout, rows)) most = std::max(most, numbers_memory<NarrowPlanes>(layout, rows, threads));
  return most;
}

void run_rows(KernelContext& context, const Call& call, void* memory) {
  call.rows > kNarrowRows ? run_wide(context, call, memory) : run_few(context, call);
}

void run_as_digits(KernelContext& context, const Call& call, void* memory) {
  const NarrowLayout& layout = call.packed.layout;
  const NarrowDigits digits(layout, call.rows, memory);
  const bool fits =
      split(context, call, [&](const float* row, int64_t i) { return split_into_digits(layout, row, i, digits); });
  fits ? run_up_to_64_rows(context, call, digits) : run_rows(context, call, memory);
}

bool split_row(const NarrowLayout& layout, const float* row, int64_t i, const NarrowWords& words) {
  return split_into_words(layout, row, i, words);
}
bool split_row(const NarrowLayout& layout, const float* row, int64_t i, const NarrowPlanes& planes) {
  return split_into_planes(layout, row, i, planes);
}

template <typename Numbers>
void run_as(KernelContext& context, const Call& call, void* memory) {
  const NarrowLayout& layout = call.packed.layout;
  const Numbers numbers(layout, call.rows, memory);
  const bool fits =
      split(context, call, [&](const float* row, int64_t i) { return split_row(layout, row, i, numbers); });
  if (!fits) return run_rows(context, call, memory);
  run_panels(context, call, numbers, static_cast<uint8_t*>(memory) + Numbers::bytes(layout, call.rows));
}

void run_as_bytes(KernelContext& context, const Call& call, void* memory) {
  const NarrowLayout& layout = call.packed.layout;
  const NarrowBytes bytes(layout, call.rows, memory);
  split(context, call, [&](const float* row, int64_t i) {
    split_into_bytes(layout, row, i, bytes);
    return true;
  });
  if (call.rows <= NarrowDigits::kMostRows) return run_up_to_64_rows(context, call, bytes);
  run_panels(context, call, bytes, static_cast<uint8_t*>(memory) + NarrowBytes::bytes(layout, call.rows));
}

// What computes some rows, and as many as it takes at a time.
struct Way {
  void (*run)(KernelContext& context, const Call& call, void* memory);
  int64_t rows;
};

Way way_of(const NarrowLayout& layout, int64_t rows) {
  if (has_narrow_bytes(layout)) return {run_as_bytes, NarrowBytes::most_rows(layout)};
  if (has_narrow_planes(layout, rows)) return {run_as<NarrowPlanes>, NarrowPlanes::most_rows(layout)};
  if (has_narrow_words(layout, rows)) return {run_as<NarrowWords>, NarrowWords::most_rows(layout)};
  if (has_narrow_digits(layout.bits, rows)) return {run_as_digits, NarrowDigits::most_rows(layout)};
  return {run_rows, rows};
}

Error run(KernelContext& context, const Call& call) {
  const NarrowLayout& layout = call.packed.layout;
  void* memory = context.allocate_temp(memory_of(layout, call.rows, context.threads()));
  if (memory == nullptr) return Error::kMemoryAllocationFailed;
  const Way way = way_of(layout, call.rows);
  for (int64_t row = 0; row < call.rows; row += way.rows) {
    way.run(context, call.part(row, std::min(way.rows, call.rows - row)), memory);
  }
  return Error::kOk;
}

// Of what the arguments say, packed or not.
NarrowLayout layout_of(const Args& args) {
  NarrowLayout layout;
  const int rank = args.input.rank();
  if ((args.bits != 4 && args.bits != 8) || args.block < 1 || rank < 1) return layout;
  if (read_narrow_packing(args.packing, args.bits, args.block, &layout)) return layout;
  layout = {};
  layout.bits = args.bits;
  layout.depth = args.input.size(rank - 1);
  layout.block = args.block;
  layout.blocks = layout.depth == 0 ? 0 : (layout.depth - 1) / args.block + 1;
  return layout;
}

}  // namespace

Error narrow_linear_prepare(PrepareContext& context, const Args& args, void** state) {
  auto made = std::make_unique<State>();
  if (args.packing.size == 0) return pack(context, args, std::move(made), state);
  BERTH_RETURN_IF_ERROR(use_packed(context, args, *made));
  *state = made.release();
  return Error::kOk;
}

void narrow_linear_release(void* state) { delete static_cast<State*>(state); }

size_t narrow_linear_temp_bytes(const Args& args, int threads) {
  const NarrowLayout layout = layout_of(args);
  if (layout.depth == 0 || args.input.numel() % layout.depth != 0) return 0;
  return memory_of(layout, args.input.numel() / layout.depth, threads) + portable::kTempPadding;
}

Error narrow_linear_out(KernelContext& context, const Args& args) {
  const auto* state = static_cast<const State*>(context.state());
  if (state == nullptr) return portable::fused_narrow_linear_out(context, args);
  const NarrowPacked& packed = state->packed;
  portable::NarrowLinear linear;
  linear.depth = packed.layout.depth;
  linear.columns = packed.layout.columns;
  BERTH_RETURN_IF_ERROR(portable::prepare_narrow_rows(context, args, &linear));
  if (args.out.numel() == 0) return Error::kOk;
  return run(context, {packed, linear.activation, args.bias == nullptr ? nullptr : args.bias->data<float>(),
                       linear.rows, args.input.data<float>(),
                       args.residual == nullptr ? nullptr : args.residual->data<float>(), args.out.data<float>()});
}

}  // namespace berth::cpu
