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
      : axis_(c.axis[2]), depth_(depth), channel_step_(c.input->stride(1)), zero_(zero) {
    // Side by side, they are one run.
    joined_ = channel_step_ == 1 && axis_.dilation == 1 && axis_.in_stride == depth;
  }

  void copy(const uint8_t* row, int64_t first, uint8_t* to) const {
    if (joined_ && first >= 0 && first + axis_.kernel <= axis_.in) {
      copy_run(to, row + first * axis_.in_stride, axis_.kernel * depth_);
      return;
    }
    for (int64_t k = 0; k < axis_.kernel; ++k, to += depth_) {
      const int64_t x = first + k * axis_.dilation;
      if (x < 0 || x >= axis_.in) {
        std::memset(to, zero_, depth_);
      } else if (channel_step_ == 1) {
        copy_run(to, row + x * axis_.in_stride, depth_);
      } else {
        const uint8_t* from = row + x * axis_.in_stride;
        for (int64_t i = 0; i < depth_; ++i) to[i] = from[i * channel_step_];
      }
    }
  }
  void pad(uint8_t* to) const { std::memset(to, zero_, axis_.kernel * depth_); }
  int64_t bytes() const { return axis_.kernel * depth_; }

 private:
  const portable::Convolution::Axis& axis_;
  int64_t depth_, channel_step_;
  uint8_t zero_;
  bool joined_;
};

}  // namespace

void gather_windows(const portable::Convolution& c, int64_t channel, int64_t depth, int64_t first, int64_t count,
                    uint8_t zero, uint8_t* rows, int64_t row_bytes) {
  const Taps taps(c, depth, zero);
  int64_t at[3];
  int64_t image = first;
  for (int i = 2; i >= 0; --i) {
    at[i] = image % c.axis[i].out;
    image /= c.axis[i].out;
  }
  const uint8_t* const input = c.input->data<uint8_t>() + channel * c.input->stride(1);
  const int64_t used = c.axis[0].kernel * c.axis[1].kernel * taps.bytes();
  for (int64_t pixel = 0; pixel < count; ++pixel, rows += row_bytes) {
    const uint8_t* const from = input + image * c.input->stride(0);
    const int64_t x = at[2] * c.axis[2].stride - c.axis[2].padding;
    uint8_t* to = rows;
    for (int64_t kz = 0; kz < c.axis[0].kernel; ++kz) {
      const int64_t z = at[0] * c.axis[0].stride - c.axis[0].padding + kz * c.axis[0].dilation;
      for (int64_t ky = 0; ky < c.axis[1].kernel; ++ky, to += taps.bytes()) {
        const int64_t y = at[1] * c.axis[1].stride - c.axis[1].padding + ky * c.axis[1].dilation;
        if (z < 0 || z >= c.axis[0].in || y < 0 || y >= c.axis[1].in) {
          taps.pad(to);
        } else {
          taps.copy(from + z * c.axis[0].in_stride + y * c.axis[1].in_stride, x, to);
        }
      }
    }
    std::memset(rows + used, 0, row_bytes - used);
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
