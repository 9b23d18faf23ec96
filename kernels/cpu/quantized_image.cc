#include "kernels/cpu/quantized_image.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/quantized_gather.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

// A tile of fewer rows than this waits for weights; then several lines of windows are brought together. To bring those
// of a group takes longer than its products.
constexpr int64_t kLeastPixels = 12;
constexpr int64_t kLeastGroupPixels = 4;
// A matrix has four tiles of few rows instead.
constexpr int64_t kLeastMatrixPixels = 4;
// Of the lines that are read at a time: most of a first-level cache.
constexpr int64_t kBytes = 32 * 1024;
// Where the weight takes much of a second-level cache, it should rather be read once.
constexpr int64_t kManyBytes = 128 * 1024;
constexpr int64_t kLargeWeight = 1024 * 1024;

bool has_tap_runs(const QuantizedJob& job) { return job.layout->groups != 1 || job.convolution->axis[2].dilation != 1; }

}  // namespace

bool QuantizedImage::fits(const QuantizedJob& job, bool matrix) {
  if (job.convolution == nullptr || job.layout->depthwise) return false;
  const Convolution::Axis &depth = job.convolution->axis[0], &down = job.convolution->axis[1],
                          &across = job.convolution->axis[2];
  const bool taps = has_tap_runs(job);
  const int64_t runs_of_row = taps ? across.kernel : 1;
  const int64_t run = taps ? job.layout->channels() : job.layout->window_row();
  const int64_t least = job.layout->groups > 1 ? kLeastGroupPixels : matrix ? kLeastMatrixPixels : kLeastPixels;
  return depth.in == 1 && depth.out == 1 && depth.kernel == 1 && depth.padding == 0 && down.kernel <= kMostRuns &&
         runs_of_row <= kMostRuns && down.kernel * runs_of_row <= kMostRuns && run % kQuad == 0 &&
         across.out >= least && is_channels_last(*job.input);
}

QuantizedImage::QuantizedImage(const QuantizedJob& job, bool matrix)
    : down_(job.convolution->axis[1]),
      across_(job.convolution->axis[2]),
      tap_runs_(has_tap_runs(job)),
      channels_(job.layout->channels()),
      pixel_bytes_(job.layout->groups * channels_),
      run_bytes_(tap_runs_ ? channels_ : job.layout->window_row()),
      columns_((across_.out - 1) * across_.stride + (across_.kernel - 1) * across_.dilation + 1),
      line_bytes_(align_up<int64_t>(columns_ * pixel_bytes_ + more_bytes(), 64)),
      most_bytes_(matrix && job.layout->weight_bytes() >= kLargeWeight ? kManyBytes : kBytes) {
  const int64_t more = std::max<int64_t>(0, most_bytes_ / line_bytes_ - seen(1)) / down_.stride;
  const int64_t blocks = ceil_div(down_.out, std::min(down_.out, more + 1));
  lines_ = ceil_div(down_.out, blocks);
  // Two tiles of rows are multiplied together.
  if (matrix && blocks > 1 && lines_ > 1) lines_ -= lines_ % 2;
}

int64_t QuantizedImage::pointer_bytes() const {
  const int64_t most = std::min(seen(down_.out), most_bytes_ / 64 + seen(1));
  return align_up<int64_t>(most * static_cast<int64_t>(sizeof(uint8_t*)), 64);
}

size_t QuantizedImage::bytes() const {
  const int64_t copied = std::min(seen(down_.out) * line_bytes_, std::max(most_bytes_, seen(1) * line_bytes_));
  return pointer_bytes() + line_bytes_ + (copies() ? copied : 0);
}

void QuantizedImage::copy_line(const uint8_t* from, uint8_t zero, uint8_t* to) const {
  const int64_t left = std::min(across_.padding, columns_);
  const int64_t there = std::min(across_.in, columns_ - left);
  std::memset(to, zero, left * pixel_bytes_);
  std::memcpy(to + left * pixel_bytes_, from, there * pixel_bytes_);
  std::memset(to + (left + there) * pixel_bytes_, zero, (columns_ - left - there) * pixel_bytes_);
}

const uint8_t* const* QuantizedImage::bring(const QuantizedJob& job, int64_t first, int64_t count, uint8_t zero,
                                            uint8_t* memory) const {
  const int64_t line = across_.in * pixel_bytes_;
  const uint8_t* const image = job.input->data<uint8_t>() + first / down_.out * down_.in * line;
  auto** const lines = reinterpret_cast<const uint8_t**>(memory);
  uint8_t* to = memory + pointer_bytes();
  const uint8_t* zeros = nullptr;
  for (int64_t i = 0; i < seen(count); ++i) {
    const int64_t y = first % down_.out * down_.stride - down_.padding + i;
    if (y < 0 || y >= down_.in) {
      if (zeros == nullptr) {
        std::memset(to, zero, columns_ * pixel_bytes_);
        zeros = to;
        to += line_bytes_;
      }
      lines[i] = zeros;
      continue;
    }
    lines[i] = image + y * line;
    if (!copies()) continue;
    copy_line(lines[i], zero, to);
    lines[i] = to;
    to += line_bytes_;
  }
  return lines;
}

}  // namespace berth::cpu
