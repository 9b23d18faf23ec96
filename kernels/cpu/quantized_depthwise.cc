#include "kernels/cpu/quantized_depthwise.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/quantized_columns.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

// Pixels whose sums are finished together.
constexpr int64_t kPixels = 8;
static_assert(kPixels <= kMaxTileHeight);
// Lines that are computed together, block after block of channels, and the bytes that they may have.
constexpr int64_t kLines = 16;
constexpr int64_t kLinesBytes = 32 * 1024;

// What the taps of consecutive pixels of the result see.
class WindowTaps {
 public:
  /// `zeros` is what padding sees. A row of the window has row_taps pointers; those behind its taps go on to the right.
  WindowTaps(const Convolution& c, const uint8_t* zeros, int64_t row_taps, int64_t first)
      : c_(c), zeros_(zeros), row_taps_(row_taps) {
    image_ = first;
    for (int i = 2; i >= 0; --i) {
      at_[i] = image_ % c.axis[i].out;
      image_ /= c.axis[i].out;
    }
  }

  /// Pixels from this one on in its row.
  int64_t left_in_row() const { return c_.axis[2].out - at_[2]; }

  /// The pointers of this pixel, and on to the next.
  void next(const uint8_t** taps) {
    const Convolution::Axis& line = c_.axis[2];
    const uint8_t* image = c_.input->data<uint8_t>() + image_ * c_.input->stride(0);
    const int64_t x0 = at_[2] * line.stride - line.padding;
    const bool inside = x0 >= 0 && x0 + (row_taps_ - 1) * line.dilation < line.in;
    const int64_t step = line.dilation * line.in_stride;
    for (int64_t kz = 0; kz < c_.axis[0].kernel; ++kz) {
      const int64_t z = at_[0] * c_.axis[0].stride - c_.axis[0].padding + kz * c_.axis[0].dilation;
      for (int64_t ky = 0; ky < c_.axis[1].kernel; ++ky, taps += row_taps_) {
        const int64_t y = at_[1] * c_.axis[1].stride - c_.axis[1].padding + ky * c_.axis[1].dilation;
        if (z < 0 || z >= c_.axis[0].in || y < 0 || y >= c_.axis[1].in) {
          std::fill(taps, taps + row_taps_, zeros_);
          continue;
        }
        const uint8_t* row = image + z * c_.axis[0].in_stride + y * c_.axis[1].in_stride;
        if (inside) {
          const uint8_t* from = row + x0 * line.in_stride;
          for (int64_t k = 0; k < row_taps_; ++k, from += step) taps[k] = from;
        } else {
          for (int64_t k = 0; k < row_taps_; ++k) {
            const int64_t x = x0 + k * line.dilation;
            taps[k] = x >= 0 && x < line.in ? row + x * line.in_stride : zeros_;
          }
        }
      }
    }
    for (int i = 2; i >= 0 && ++at_[i] == c_.axis[i].out; --i) {
      at_[i] = 0;
      if (i == 0) ++image_;
    }
  }

 private:
  const Convolution& c_;
  const uint8_t* zeros_;
  int64_t row_taps_;
  int64_t at_[3];
  int64_t image_;
};

class DepthwiseRun {
 public:
  DepthwiseRun(const QuantizedJob& job, const QuantizedFinish& finish, const uint8_t* zeros)
      : convolution_(*job.convolution),
        layout_(*job.layout),
        packed_(reinterpret_cast<const int8_t*>(job.packed)),
        functions_(*job.functions),
        finish_(finish),
        places_(job),
        zeros_(zeros),
        channel_step_(job.input->stride(1)),
        flip_(flip_of(*job.product)),
        is_plain_(channel_step_ == 1 && is_uniform(finish) && job.product->residual == nullptr),
        out_size_(static_cast<int64_t>(element_size(job.product->out->dtype()))) {}

  // Whether the functions for lines of three taps do all of it.
  bool has_lines() const {
    const Convolution::Axis &depth = convolution_.axis[0], &down = convolution_.axis[1], &across = convolution_.axis[2];
    return functions_.depthwise_lines != nullptr && is_plain_ && places_.plain_row(0) != nullptr && depth.in == 1 &&
           depth.out == 1 && depth.kernel == 1 && down.kernel <= 3 && across.kernel == 3 && across.dilation == 1 &&
           across.stride <= 2;
  }

  // Blocks of channels of the lines of all images, counted line by line.
  void run_blocks(int64_t begin, int64_t end) const {
    const int64_t blocks = layout_.panels();
    while (begin < end) {
      // As many lines at a time as a first-level cache has.
      const int64_t line = begin / blocks, block = begin % blocks;
      if (block != 0 || end - begin < blocks) {
        const int64_t some = std::min(blocks - block, end - begin);
        for (int64_t i = 0; i < some; ++i) run_lines(line, 1, block + i);
        begin += some;
        continue;
      }
      const int64_t lines = std::clamp<int64_t>(kLinesBytes / (convolution_.axis[2].in * layout_.columns), 1,
                                                std::min((end - begin) / blocks, kLines));
      for (int64_t i = 0; i < blocks; ++i) run_lines(line, lines, i);
      begin += lines * blocks;
    }
  }

  void run_pixels(int64_t begin, int64_t end) const {
    WindowTaps window_taps(convolution_, zeros_, layout_.row_taps(), begin);
    const uint8_t* taps[kPixels][kMaxDepthwiseTaps];
    int64_t count = 0;
    for (int64_t first = begin; first < end; first += count) {
      count = std::min({kPixels, end - first, window_taps.left_in_row()});
      for (int64_t i = 0; i < count; ++i) {
        window_taps.next(taps[i]);
        std::fill(taps[i] + layout_.depth, taps[i] + kQuad * layout_.quads(), zeros_);
      }
      for (int64_t block = 0; block < layout_.panels(); ++block) run_block(first, count, block, taps);
    }
  }

 private:
  void run_lines(int64_t first, int64_t count, int64_t block) const {
    const Convolution::Axis &down = convolution_.axis[1], &across = convolution_.axis[2];
    QuantizedLine lines[kLines];
    QuantizedLines all;
    all.lines = lines;
    all.count = count;
    all.in = across.in;
    all.out = across.out;
    all.stride = across.stride;
    all.padding = across.padding;
    all.out_step = places_.row_bytes();
    all.zeros = zeros_;
    all.offset = block * kDepthwiseChannels;
    all.channels = std::min(kDepthwiseChannels, layout_.columns - all.offset);
    all.weight = packed_ + block * layout_.panel_bytes();
    all.quads = layout_.quads();
    all.flip = flip_;
    for (int64_t i = 0; i < count; ++i) {
      QuantizedLine& line = lines[i];
      const int64_t image = (first + i) / down.out, y = (first + i) % down.out;
      const uint8_t* const from = convolution_.input->data<uint8_t>() + image * convolution_.input->stride(0);
      for (int64_t k = 0; k < 3; ++k) {
        const int64_t at = y * down.stride - down.padding + k * down.dilation;
        const bool inside = k < down.kernel && at >= 0 && at < down.in;
        line.row[k] = inside ? from + at * down.in_stride + all.offset : zeros_;
        line.step[k] = inside ? across.in_stride : 0;
      }
      line.out = places_.plain_row((first + i) * across.out) + all.offset * out_size_;
    }
    functions_.depthwise_lines(finish_, all);
  }

  void run_block(int64_t first, int64_t count, int64_t block,
                 const uint8_t* (&taps)[kPixels][kMaxDepthwiseTaps]) const {
    if (run_at_once(first, count, block, taps)) return;
    alignas(64) int32_t sums[kPixels * kDepthwiseChannels];
    QuantizedWindow window;
    window.offset = block * kDepthwiseChannels;
    window.channels = std::min(kDepthwiseChannels, layout_.columns - window.offset);
    window.weight = packed_ + block * layout_.panel_bytes();
    window.quads = layout_.quads();
    window.flip = flip_;
    for (int64_t i = 0; i < count; ++i) {
      window.taps = taps[i];
      if (channel_step_ == 1) {
        functions_.depthwise(window, sums + i * kDepthwiseChannels);
      } else {
        run_apart(window, sums + i * kDepthwiseChannels);
      }
    }
    QuantizedRows part;
    part.sums = sums;
    part.sums_row = kDepthwiseChannels;
    part.column = window.offset;
    part.count = window.channels;
    places_.finish(functions_, finish_, &part, first, count, window.offset);
  }

  bool run_at_once(int64_t first, int64_t count, int64_t block,
                   const uint8_t* (&taps)[kPixels][kMaxDepthwiseTaps]) const {
    uint8_t* const out = places_.plain_row(first);
    if (functions_.depthwise_pixels == nullptr || out == nullptr || !is_plain_) return false;
    QuantizedWindows windows;
    windows.taps = taps[0];
    windows.taps_step = kMaxDepthwiseTaps;
    windows.pixels = count;
    windows.offset = block * kDepthwiseChannels;
    windows.channels = std::min(kDepthwiseChannels, layout_.columns - windows.offset);
    windows.weight = packed_ + block * layout_.panel_bytes();
    windows.quads = layout_.quads();
    windows.flip = flip_;
    windows.out = out + windows.offset * out_size_;
    windows.out_row = places_.row_bytes();
    functions_.depthwise_pixels(finish_, windows);
    return true;
  }

  // Channels that do not lie side by side are brought there first.
  void run_apart(QuantizedWindow window, int32_t* sums) const {
    uint8_t bytes[kMaxDepthwiseTaps * kDepthwiseChannels];
    const uint8_t* near[kMaxDepthwiseTaps];
    for (int64_t tap = 0; tap < kQuad * window.quads; ++tap) {
      uint8_t* to = bytes + tap * kDepthwiseChannels;
      const uint8_t* from = window.taps[tap];
      for (int64_t i = 0; i < window.channels; ++i) {
        to[i] = from == zeros_ ? zeros_[0] : from[(window.offset + i) * channel_step_];
      }
      near[tap] = to;
    }
    window.taps = near;
    window.offset = 0;
    functions_.depthwise(window, sums);
  }

  const Convolution& convolution_;
  const QuantizedLayout& layout_;
  const int8_t* packed_;
  const QuantizedFunctions& functions_;
  const QuantizedFinish& finish_;
  QuantizedPlaces places_;
  const uint8_t* zeros_;
  int64_t channel_step_;
  uint32_t flip_;
  bool is_plain_;
  int64_t out_size_;  // of an element
};

}  // namespace

size_t depthwise_temp_bytes(const QuantizedJob& job) { return job.layout->columns; }

Error run_depthwise(KernelContext& context, const QuantizedJob& job, const QuantizedFinish& finish) {
  void* zeros = context.allocate_temp(depthwise_temp_bytes(job));
  if (zeros == nullptr) return Error::kMemoryAllocationFailed;
  std::memset(zeros, job.product->input_zero[0], job.layout->columns);
  const Convolution& c = *job.convolution;
  const DepthwiseRun run(job, finish, static_cast<const uint8_t*>(zeros));
  if (run.has_lines()) {
    // Where all channels but a few are there, a line takes a third of the time that its products take in floats.
    const int64_t work = c.axis[2].out * std::min(kDepthwiseChannels, job.layout->columns) * job.layout->taps / 3;
    context.parallel_for(c.batch * c.axis[1].out * job.layout->panels(), portable::grain_of(work),
                         [&](int64_t begin, int64_t end) { run.run_blocks(begin, end); });
    return Error::kOk;
  }
  const int64_t pixels = c.batch * c.axis[0].out * c.axis[1].out * c.axis[2].out;
  // Interleaving bytes takes as long as multiplying floats.
  context.parallel_for(pixels, portable::grain_of(2 * job.layout->columns * job.layout->taps),
                       [&](int64_t begin, int64_t end) { run.run_pixels(begin, end); });
  return Error::kOk;
}

}  // namespace berth::cpu
