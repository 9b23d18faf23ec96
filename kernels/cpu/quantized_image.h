// Lines of an image as tiles read them: a pixel of the result sees runs of bytes of each, and the next pixel's begin a
// stride further on, so that no pixel has a copy of its window. Lines are copied where there is padding beside them.
//
// A run is a row of the window, or, where groups or dilation keep its taps apart, the channels of one tap.
#pragma once

#include "kernels/cpu/quantized_run.h"

namespace berth::cpu {

class QuantizedImage {
 public:
  static constexpr int64_t kMostRuns = 32;

  /// Whether tiles, or those of a `matrix`, can read this convolution's input so, and it is worth it. Looks at sizes
  /// and strides alone.
  static bool fits(const QuantizedJob& job, bool matrix);

  /// REQUIRES: fits(job, matrix)
  QuantizedImage(const QuantizedJob& job, bool matrix);

  /// Lines of the result that are computed together, at most.
  int64_t lines_at_once() const { return lines_; }
  /// What bring() needs of a thread, at most: a larger image does not need less. Without padding.
  size_t bytes() const;

  /// Brings what `count` lines of the result from `first` on see, of one image of the batch, to `memory`, aligned to 64
  /// bytes; `zero` is what padding holds. Returns where the lines begin: those of line i of the result at stride() * i,
  /// and then every dilation().
  const uint8_t* const* bring(const QuantizedJob& job, int64_t first, int64_t count, uint8_t zero,
                              uint8_t* memory) const;

  /// Lines that a pixel sees, and its runs in each of them.
  int64_t rows() const { return down_.kernel; }
  int64_t runs_of_row() const { return tap_runs_ ? across_.kernel : 1; }
  /// Bytes from a run to the next in a line, and from a group's channels to the next one's.
  int64_t run_step() const { return across_.dilation * pixel_bytes_; }
  int64_t group_bytes() const { return channels_; }
  int64_t run_bytes() const { return run_bytes_; }
  int64_t stride() const { return down_.stride; }
  int64_t dilation() const { return down_.dilation; }
  /// Bytes from a pixel of the result to the next.
  int64_t step() const { return across_.stride * pixel_bytes_; }

 private:
  int64_t seen(int64_t lines) const { return (lines - 1) * down_.stride + (down_.kernel - 1) * down_.dilation + 1; }
  int64_t pointer_bytes() const;
  // What is read behind the taps of a row.
  int64_t more_bytes() const { return tap_runs_ ? 0 : run_bytes_ - across_.kernel * channels_; }
  bool copies() const { return across_.padding > 0 || more_bytes() > 0; }
  void copy_line(const uint8_t* from, uint8_t zero, uint8_t* to) const;

  portable::Convolution::Axis down_, across_;
  bool tap_runs_;        // a run is a tap
  int64_t channels_;     // of a group
  int64_t pixel_bytes_;  // of all of them
  int64_t run_bytes_;    // of a row of the window, filled up to quads: what is behind its taps is read, and of no use
  int64_t columns_;      // that a line of the result sees, padding included
  int64_t line_bytes_;   // of a copied line
  int64_t most_bytes_;   // of the lines that are read at a time, where one is not more
  int64_t lines_;
};

}  // namespace berth::cpu
