#include "kernels/cpu/depthwise.h"

#include <algorithm>

#include "base/math.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all are not worth another thread: handing half of them over takes about 0.8
// microseconds. Those that are shared leave their results where the next operator's threads look for them.
constexpr double kSerialWork = 1 << 16;
constexpr int64_t kItems = 4;  // of work, for each thread
constexpr int64_t kLine = 16;  // floats

bool is_depthwise(const ConvSpec& spec) {
  return spec.transposed == 0 && spec.groups > 1 && spec.in_channels == spec.groups &&
         spec.out_channels == spec.groups && spec.channels_last();
}

void set_sizes(const ConvSpec& spec, DepthwiseJob* job) {
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
  }
}

DepthwiseJob job_of(const ConvSpec& spec) {
  DepthwiseJob job;
  set_sizes(spec, &job);
  job.channels = spec.groups;
  for (int i = 0; i < 2; ++i) {
    job.kernel[i] = spec.kernel[i];
    job.stride[i] = spec.stride[i];
    job.padding[i] = spec.padding[i];
    job.dilation[i] = spec.dilation[i];
  }
  job.activation = spec.finish.function();
  job.residual = spec.finish.residual != 0;
  return job;
}

WeightLayout layout_of(const DepthwiseJob& job) {
  WeightLayout l;
  l.dims = 3;
  const int64_t size[] = {job.channels, job.kernel[0], job.kernel[1]};
  const int64_t from[] = {job.kernel[0] * job.kernel[1], job.kernel[1], 1};
  const int64_t stride[] = {1, job.kernel[1] * job.channels, job.channels};
  for (int d = 0; d < 3; ++d) {
    l.size[d] = size[d];
    l.from[d] = from[d];
    l.stride[d] = stride[d];
  }
  return l;
}

class DepthwiseEngine final : public PackedEngine {
 public:
  explicit DepthwiseEngine(const DepthwiseJob& job)
      : PackedEngine(layout_of(job)), job_(job), functions_(depthwise_functions()) {}
  const char* name() const override { return "depthwise"; }

  bool resize(const ConvSpec& spec) override {
    if (!spec.channels_last()) return false;
    set_sizes(spec, &job_);
    return true;
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    job_.input = operands.input;
    job_.weight = weight;
    job_.bias = operands.bias;
    job_.out_data = operands.out;
    const int64_t strips = job_.batch * job_.strips();
    const int64_t parts = channel_parts(strips, context.threads());
    const int64_t items = strips * parts;
    const double work = static_cast<double>(job_.batch * job_.out[0] * job_.out[1] * job_.channels) *
                        static_cast<double>(job_.kernel[0] * job_.kernel[1]);
    const int64_t part = ceil_div(ceil_div(job_.channels, parts), functions_.lanes) * functions_.lanes;
    context.parallel_for(items, work < kSerialWork ? items : 1, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t first = begin / strips * part;
        const int64_t stop = std::min(end, (begin / strips + 1) * strips);
        if (first < job_.channels) {
          functions_.run(job_, begin % strips, begin % strips + stop - begin, first,
                         std::min(part, job_.channels - first));
        }
        begin = stop;
      }
    });
    return Error::kOk;
  }

 private:
  // How many threads share a strip's channels. Only where each has whole lines of the cache for itself.
  int64_t channel_parts(int64_t strips, int threads) const {
    if (threads == 1 || job_.channels % kLine != 0) return 1;
    return std::clamp<int64_t>(kItems * threads / strips, 1, job_.channels / kLine);
  }

  DepthwiseJob job_;
  DepthwiseFunctions functions_;
};

class DepthwiseKind final : public EngineKind {
 public:
  explicit DepthwiseKind(const DepthwiseJob& job) : job_(job) {}
  size_t temp_bytes() const override { return 0; }
  std::unique_ptr<Engine> make() const override { return std::make_unique<DepthwiseEngine>(job_); }

 private:
  DepthwiseJob job_;
};

}  // namespace

std::unique_ptr<EngineKind> depthwise_kind(const ConvSpec& spec, int) {
  return is_depthwise(spec) ? std::make_unique<DepthwiseKind>(job_of(spec)) : nullptr;
}

}  // namespace berth::cpu
