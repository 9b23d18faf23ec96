#include "kernels/cpu/last_conv.h"

#include <algorithm>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// What a thread copies stays in its second cache, with room for what it reads.
constexpr int64_t kMostScratch = 1 << 16;
// Fewer multiplications than this in all are not worth another thread.
constexpr double kSerialWork = 1 << 18;
// A thread takes several bands, so that a slow one does not hold the others up; each copies what lies above it again.
constexpr int64_t kBandsOfAThread = 4;
constexpr int64_t kLeastWindows = 4;  // rows of a band, in windows

bool is_last_conv(const ConvSpec& spec) { return spec.transposed == 0 && spec.groups == 1 && spec.channels_last(); }

void set_sizes(const ConvSpec& spec, LastConvJob* job) {
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
  }
}

void set_strip(const LastConvFunctions& functions, int64_t registers, LastConvJob* job) {
  job->registers = registers;
  job->width = registers * functions.lanes;
  job->strips = ceil_div(job->out[1], job->width);
}

// Files may ask for anything: what lies in scratch memory must be countable before it is compared.
bool has_small_window(const LastConvJob& job) {
  int64_t room = kMostScratch;
  for (const int64_t factor : {job.depth, job.window_rows(), job.stride[0], job.stride[1], job.kernel[1]}) {
    if (factor > room) return false;
    room /= factor;
  }
  return (job.kernel[1] - 1) * job.dilation[1] <= kMostScratch;
}

// Of a row of the result, in what a product of two registers takes: each weight is read once for all registers of a
// strip, each register once for all weights, and copying an element takes as long as two products.
double cost_of(const LastConvJob& job) {
  const auto strips = static_cast<double>(job.strips);
  const auto products = static_cast<double>(job.depth * job.taps() * (job.columns + 1) * job.registers);
  const auto copied = static_cast<double>(job.depth * job.stride[0] * job.stride[1] * job.plane());
  return strips * (products + 2 * copied);
}

// The same where a register has the channels of one pixel; tiles of them wait a little.
double cost_of_channels(const LastConvJob& job) {
  return 1.15 * static_cast<double>(job.depth * job.taps() * job.out[1]);
}

// False where no strip fits.
bool cut_strips(const LastConvFunctions& functions, LastConvJob* job) {
  LastConvJob best = *job;
  best.registers = 0;
  for (const int* registers = functions.registers(job->columns); *registers != 0; ++registers) {
    set_strip(functions, *registers, job);
    if (job->scratch_floats() > kMostScratch) continue;
    if (best.registers == 0 || cost_of(*job) < cost_of(best)) best = *job;
  }
  *job = best;
  return job->registers != 0;
}

// With the most registers that fit, what calls of any size need.
int64_t most_scratch(const LastConvFunctions& functions, LastConvJob job) {
  int64_t most = 0;
  for (const int* registers = functions.registers(job.columns); *registers != 0; ++registers) {
    set_strip(functions, *registers, &job);
    if (job.scratch_floats() <= kMostScratch) most = std::max(most, job.scratch_floats());
  }
  return most;
}

bool job_of(const ConvSpec& spec, const LastConvFunctions& functions, LastConvJob* job) {
  if (!is_last_conv(spec) || functions.lanes == 0 || spec.out_channels > functions.max_columns) return false;
  set_sizes(spec, job);
  job->depth = spec.in_channels;
  job->columns = spec.out_channels;
  for (int i = 0; i < 2; ++i) {
    job->kernel[i] = spec.kernel[i];
    job->stride[i] = spec.stride[i];
    job->padding[i] = spec.padding[i];
    job->dilation[i] = spec.dilation[i];
  }
  job->activation = spec.finish.function();
  job->residual = spec.finish.residual != 0;
  return has_small_window(*job) && cut_strips(functions, job) && cost_of(*job) < cost_of_channels(*job);
}

// Of [column][depth][tap][tap].
WeightLayout layout_of(const LastConvJob& job) {
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  const int64_t row = job.kernel[1] * job.columns;
  add(job.columns, job.depth * job.taps(), 1);
  add(job.depth, job.taps(), row);
  add(job.kernel[0], job.kernel[1], job.depth * row);
  add(job.kernel[1], 1, job.columns);
  return l;
}

int64_t rows_of_a_band(const LastConvJob& job, int slots) {
  const int64_t strips = job.batch * job.strips;
  const int64_t bands = ceil_div(kBandsOfAThread * slots, strips);
  const int64_t least = slots == 1 ? job.out[0] : kLeastWindows * job.window_rows();
  return std::min(job.out[0], std::max(least, ceil_div(job.out[0], bands)));
}

class LastConvEngine final : public PackedEngine {
 public:
  LastConvEngine(const LastConvJob& job, const LastConvFunctions& functions, int threads)
      : PackedEngine(layout_of(job)), job_(job), functions_(functions), threads_(threads) {}
  // The word that program files have for it.
  const char* name() const override { return "head"; }

  bool resize(const ConvSpec& spec) override {
    if (!is_last_conv(spec)) return false;
    set_sizes(spec, &job_);
    return cut_strips(functions_, &job_);
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    LastConvJob job = job_;
    job.input = operands.input;
    job.weight = weight;
    job.bias = operands.bias;
    job.out_data = operands.out;
    const double work = static_cast<double>(job.batch * job.out[0] * job.out[1] * job.columns) *
                        static_cast<double>(job.depth * job.taps());
    const int64_t band = rows_of_a_band(job, work < kSerialWork ? 1 : threads_);
    const int64_t bands = ceil_div(job.out[0], band);
    const int64_t items = job.batch * job.strips * bands;
    const int slots = portable::slots_for(threads_, items, work, kSerialWork);
    const int64_t floats = job.scratch_floats();
    auto* scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
    if (scratch == nullptr) return Error::kMemoryAllocationFailed;
    const auto run_item = [&](float* own, int64_t item) {
      const int64_t first = item % bands * band, strip = item / bands;
      functions_.run(job, {strip / job.strips, strip % job.strips, first, std::min(job.out[0], first + band)}, own);
    };
    portable::for_each_item(context, slots, items, run_item, [&](int64_t slot) { return scratch + slot * floats; });
    return Error::kOk;
  }

 private:
  LastConvJob job_;
  LastConvFunctions functions_;
  int threads_;
};

class LastConvKind final : public EngineKind {
 public:
  LastConvKind(const LastConvJob& job, const LastConvFunctions& functions, int threads)
      : job_(job), functions_(functions), threads_(std::clamp(threads, 1, portable::kMaxSlots)) {}
  size_t temp_bytes() const override {
    return threads_ * most_scratch(functions_, job_) * sizeof(float) + portable::kTempPadding;
  }
  std::unique_ptr<Engine> make() const override { return std::make_unique<LastConvEngine>(job_, functions_, threads_); }

 private:
  LastConvJob job_;
  LastConvFunctions functions_;
  int threads_;
};

}  // namespace

std::unique_ptr<EngineKind> last_conv_kind(const ConvSpec& spec, int threads) {
  const LastConvFunctions functions = last_conv_functions();
  LastConvJob job;
  if (!job_of(spec, functions, &job)) return nullptr;
  return std::make_unique<LastConvKind>(job, functions, threads);
}

}  // namespace berth::cpu
