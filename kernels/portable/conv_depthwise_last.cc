#include "kernels/portable/conv_depthwise_last.h"

#include <algorithm>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {
namespace {

constexpr int64_t kChannels = 128;  // of an item
constexpr int64_t kRows = 8;        // of an item
constexpr int64_t kMaxTaps = 128;
constexpr int64_t kSlotFloats = kChannels * kMaxTaps;
constexpr double kSerialWork = 1 << 16;

int64_t taps_of(const Convolution& c) { return c.axis[1].kernel * c.axis[2].kernel; }
int64_t channel_parts(const Convolution& c) { return ceil_div(c.groups, kChannels); }
int64_t row_parts(const Convolution& c) { return ceil_div(c.axis[1].out, kRows); }
int64_t count_items(const Convolution& c) { return c.batch * channel_parts(c) * row_parts(c); }

int count_slots(const Convolution& c, int threads) {
  const double work = static_cast<double>(c.out->numel()) * static_cast<double>(taps_of(c));
  return slots_for(threads, count_items(c), work, kSerialWork);
}

// The taps of a window that lie inside the input: [first, end).
struct Inside {
  int64_t first, end, start;  // start: the input element of tap 0

  Inside(const Convolution::Axis& axis, int64_t position) {
    start = position * axis.stride - axis.padding;
    first = start >= 0 ? 0 : std::min(axis.kernel, ceil_div(-start, axis.dilation));
    end = start >= axis.in ? 0 : std::min(axis.kernel, ceil_div(axis.in - start, axis.dilation));
  }
};

BERTH_MULTIVERSION void multiply_add(const float* x, const float* weights, int64_t n, float* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * weights[i];
}

// One item: some channels of some rows of one image.
class Item {
 public:
  Item(const Convolution& c, float* weights, int64_t index) : c_(c), weights_(weights) {
    first_row_ = index % row_parts(c) * kRows;
    index /= row_parts(c);
    channel_ = index % channel_parts(c) * kChannels;
    batch_ = index / channel_parts(c);
    channels_ = std::min(kChannels, c.groups - channel_);
  }

  void run() {
    load_weights();
    const int64_t end = std::min(first_row_ + kRows, c_.axis[1].out);
    for (int64_t y = first_row_; y < end; ++y) {
      for (int64_t x = 0; x < c_.axis[2].out; ++x) run_place(y, x);
    }
  }

 private:
  // Tap by tap, as they are read.
  void load_weights() {
    const int64_t width = c_.axis[2].kernel;
    for (int64_t i = 0; i < channels_; ++i) {
      const float* kernel = c_.weight->data<float>() + (channel_ + i) * c_.weight->stride(0);
      for (int64_t t = 0; t < taps_of(c_); ++t) {
        weights_[t * kChannels + i] =
            kernel[t / width * c_.axis[1].kernel_stride + t % width * c_.axis[2].kernel_stride];
      }
    }
  }

  void run_place(int64_t y, int64_t x) {
    const Inside rows(c_.axis[1], y);
    const Inside columns(c_.axis[2], x);
    float* sum = c_.out->data<float>() + batch_ * c_.out->stride(0) + y * c_.axis[1].out_stride +
                 x * c_.axis[2].out_stride + channel_;
    if (c_.bias == nullptr) {
      std::fill(sum, sum + channels_, 0.0f);
    } else {
      std::copy_n(c_.bias->data<float>() + channel_, channels_, sum);
    }
    const float* image = c_.input->data<float>() + batch_ * c_.input->stride(0) + channel_;
    for (int64_t i = rows.first; i < rows.end; ++i) {
      const float* row = image + (rows.start + i * c_.axis[1].dilation) * c_.axis[1].in_stride;
      for (int64_t j = columns.first; j < columns.end; ++j) {
        multiply_add(row + (columns.start + j * c_.axis[2].dilation) * c_.axis[2].in_stride,
                     weights_ + (i * c_.axis[2].kernel + j) * kChannels, channels_, sum);
      }
    }
  }

  const Convolution& c_;
  float* weights_;
  int64_t batch_, channel_, channels_, first_row_;
};

}  // namespace

bool is_depthwise_last(const Convolution& c) {
  if (c.out->dtype() != DType::kF32 || c.transposed || c.spatial == 3) return false;
  if (c.in_channels != 1 || c.out_channels != 1) return false;
  return c.input->stride(1) == 1 && c.out->stride(1) == 1 && c.axis[1].kernel <= kMaxTaps &&
         c.axis[2].kernel <= kMaxTaps && taps_of(c) <= kMaxTaps;
}

size_t depthwise_last_scratch_bytes(const Convolution& c, int threads) {
  return (count_slots(c, threads) * kSlotFloats) * sizeof(float);
}

void run_depthwise_last(KernelContext& context, const Convolution& c, void* scratch) {
  float* floats = static_cast<float*>(scratch);
  for_each_item(
      context, count_slots(c, context.threads()), count_items(c),
      [&](float* weights, int64_t index) { Item(c, weights, index).run(); },
      [&](int64_t slot) { return floats + slot * kSlotFloats; });
}

size_t max_depthwise_last_scratch_bytes(int threads) {
  return (std::clamp(threads, 1, kMaxSlots) * kSlotFloats) * sizeof(float);
}

}  // namespace berth::portable
