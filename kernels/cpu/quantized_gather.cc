#include "kernels/cpu/quantized_gather.h"

#include <cstring>

namespace berth::cpu {
namespace {

// Short runs are copied by moves of a fixed size that overlap: a call of memcpy takes longer than what it does here.
inline void copy_run(uint8_t* to, const uint8_t* from, int64_t bytes) {
  const auto ends = [&](auto word) {
    std::memcpy(&word, from, sizeof(word));
    decltype(word) last;
    std::memcpy(&last, from + bytes - sizeof(word), sizeof(word));
    std::memcpy(to, &word, sizeof(word));
    std::memcpy(to + bytes - sizeof(word), &last, sizeof(word));
  };
  struct Block {
    uint64_t words[2];
  };
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    for (int64_t at = 0; at + 16 < bytes; at += 16) std::memcpy(to + at, from + at, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    ends(uint64_t{});
  } else if (bytes >= 4) {
    ends(uint32_t{});
  } else {
    for (int64_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

// What the taps along the innermost axis see.
class Taps {
 public:
  Taps(const portable::Convolution& c, int64_t depth, uint8_t zero)
      : axis_(c.axis[2]),
        depth_(depth),
        channel_step_(c.input->stride(1)),
        zero_(zero),
        end_(c.input->data<uint8_t>() + c.input->numel()) {
    // Side by side, they are one run.
    joined_ = channel_step_ == 1 && axis_.dilation == 1 && axis_.in_stride == depth;
  }

  void copy(const uint8_t* row, int64_t first, uint8_t* to) const {
    const bool inside = first >= 0 && first + (axis_.kernel - 1) * axis_.dilation < axis_.in;
    const uint8_t* from = row + first * axis_.in_stride;
    if (!inside || channel_step_ != 1) {
      copy_seen(row, first, to);
    } else if (joined_) {
      move(to, from, axis_.kernel * depth_);
    } else {
      const int64_t step = axis_.dilation * axis_.in_stride;
      for (int64_t k = 0; k < axis_.kernel; ++k, to += depth_, from += step) move(to, from, depth_);
    }
  }
  void pad(uint8_t* to) const { std::memset(to, zero_, axis_.kernel * depth_); }
  int64_t bytes() const { return axis_.kernel * depth_; }

 private:
  // What is written behind the run is written again by what comes behind it.
  void move(uint8_t* to, const uint8_t* from, int64_t bytes) const {
    static_assert(kGatherSlack >= 32);
    const int64_t there = end_ - from;
    if (bytes <= 16 && there >= 16) {
      std::memcpy(to, from, 16);
    } else if (bytes <= 32 && there >= 32) {
      std::memcpy(to, from, 16);
      std::memcpy(to + 16, from + 16, 16);
    } else {
      copy_run(to, from, bytes);
    }
  }

  // Some taps see padding, or channels are apart.
  void copy_seen(const uint8_t* row, int64_t first, uint8_t* to) const {
    for (int64_t k = 0; k < axis_.kernel; ++k, to += depth_) {
      const int64_t x = first + k * axis_.dilation;
      const uint8_t* from = row + x * axis_.in_stride;
      if (x < 0 || x >= axis_.in) {
        std::memset(to, zero_, depth_);
      } else if (channel_step_ == 1) {
        copy_run(to, from, depth_);
      } else {
        for (int64_t i = 0; i < depth_; ++i) to[i] = from[i * channel_step_];
      }
    }
  }

  const portable::Convolution::Axis& axis_;
  int64_t depth_, channel_step_;
  uint8_t zero_;
  const uint8_t* end_;
  bool joined_;
};

// The runs of bytes that make up a window which lies inside of the image, from its first one on.
class WholeWindow {
 public:
  WholeWindow(const portable::Convolution& c, int64_t depth, int64_t line_bytes) : c_(c) {
    if (c.input->stride(1) != 1) return;
    const portable::Convolution::Axis& line = c.axis[2];
    const bool joined = line.dilation == 1 && line.in_stride == depth;
    if (!joined && line_bytes != line.kernel * depth) return;
    const int64_t across = joined ? 1 : line.kernel;
    run_ = joined ? line.kernel * depth : depth;
    step_ = joined ? line_bytes : depth;
    if (c.axis[0].kernel > kMostRuns || c.axis[1].kernel > kMostRuns || across > kMostRuns ||
        c.axis[0].kernel * c.axis[1].kernel * across > kMostRuns) {
      return;
    }
    for (int64_t z = 0; z < c.axis[0].kernel; ++z) {
      for (int64_t y = 0; y < c.axis[1].kernel; ++y) {
        for (int64_t x = 0; x < across; ++x) {
          offsets_[runs_++] = z * c.axis[0].dilation * c.axis[0].in_stride +
                              y * c.axis[1].dilation * c.axis[1].in_stride + x * line.dilation * line.in_stride;
        }
      }
    }
    end_ = c.input->data<uint8_t>() + c.input->numel();
  }

  /// The window's first position on an axis, and whether all of it is inside.
  int64_t begin(int axis, int64_t at) const { return at * c_.axis[axis].stride - c_.axis[axis].padding; }
  bool inside(int axis, int64_t begin) const {
    return begin >= 0 && begin + (c_.axis[axis].kernel - 1) * c_.axis[axis].dilation < c_.axis[axis].in;
  }

  /// False, and nothing done, where it cannot be copied in a moment.
  bool copy(const uint8_t* from, uint8_t* to) const {
    static_assert(kGatherSlack >= 32);
    if (runs_ == 0 || run_ > 32 || end_ - (from + offsets_[runs_ - 1]) < 32) return false;
    if (run_ <= 16) {
      for (int64_t i = 0; i < runs_; ++i, to += step_) std::memcpy(to, from + offsets_[i], 16);
    } else {
      for (int64_t i = 0; i < runs_; ++i, to += step_) std::memcpy(to, from + offsets_[i], 32);
    }
    return true;
  }

 private:
  static constexpr int64_t kMostRuns = 64;

  const portable::Convolution& c_;
  const uint8_t* end_ = nullptr;
  int64_t runs_ = 0, run_ = 0, step_ = 0;
  int64_t offsets_[kMostRuns];
};

// Row by row.
void copy_window(const portable::Convolution& c, const Taps& taps, const uint8_t* image, int64_t z0, int64_t y0,
                 int64_t x0, int64_t line_bytes, uint8_t* to) {
  for (int64_t kz = 0; kz < c.axis[0].kernel; ++kz) {
    const int64_t z = z0 + kz * c.axis[0].dilation;
    for (int64_t ky = 0; ky < c.axis[1].kernel; ++ky, to += line_bytes) {
      const int64_t y = y0 + ky * c.axis[1].dilation;
      if (z < 0 || z >= c.axis[0].in || y < 0 || y >= c.axis[1].in) {
        taps.pad(to);
      } else {
        taps.copy(image + z * c.axis[0].in_stride + y * c.axis[1].in_stride, x0, to);
      }
    }
  }
}

}  // namespace

void gather_windows(const portable::Convolution& c, int64_t channel, int64_t depth, int64_t first, int64_t count,
                    uint8_t zero, uint8_t* rows, int64_t line_bytes, int64_t row_bytes) {
  const Taps taps(c, depth, zero);
  int64_t at[3];
  int64_t image = first;
  for (int i = 2; i >= 0; --i) {
    at[i] = image % c.axis[i].out;
    image /= c.axis[i].out;
  }
  const uint8_t* const input = c.input->data<uint8_t>() + channel * c.input->stride(1);
  const WholeWindow whole(c, depth, line_bytes);
  for (int64_t pixel = 0; pixel < count; ++pixel, rows += row_bytes) {
    const uint8_t* const from = input + image * c.input->stride(0);
    const int64_t z0 = whole.begin(0, at[0]), y0 = whole.begin(1, at[1]), x0 = whole.begin(2, at[2]);
    const bool inside = whole.inside(0, z0) && whole.inside(1, y0) && whole.inside(2, x0);
    if (!inside ||
        !whole.copy(from + z0 * c.axis[0].in_stride + y0 * c.axis[1].in_stride + x0 * c.axis[2].in_stride, rows)) {
      copy_window(c, taps, from, z0, y0, x0, line_bytes, rows);
    }
    for (int i = 2; i >= 0 && ++at[i] == c.axis[i].out; --i) {
      at[i] = 0;
      if (i == 0) ++image;
    }
  }
}

bool is_channels_last(const Tensor& image) {
  const int rank = image.rank();
  if (image.size(1) > 1 && image.stride(1) != 1) return false;
  int64_t expected = image.size(1);
  for (int d = rank - 1; d >= 0; --d) {
    if (d == 1) continue;
    if (image.size(d) > 1 && image.stride(d) != expected) return false;
    expected *= image.size(d);
  }
  return true;
}

int64_t pixel_offset(const Tensor& image, int64_t index) {
  int64_t offset = 0;
  for (int d = image.rank() - 1; d >= 2; --d) {
    offset += index % image.size(d) * image.stride(d);
    index /= image.size(d);
  }
  return offset + index * image.stride(0);
}

}  // namespace berth::cpu
