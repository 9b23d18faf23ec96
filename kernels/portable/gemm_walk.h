// Where the columns and depths of a Product lie in its operands.
#pragma once

#include "kernels/portable/gemm.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {

/// A position in the depth: a channel and a tap on each axis, with its offset in A.
struct DepthCursor {
  int64_t channel, tap[3];

  explicit DepthCursor(const Product& p, int64_t k) {
    for (int i = 2; i >= 0; --i) {
      tap[i] = k % p.axis[i].taps;
      k /= p.axis[i].taps;
    }
    channel = k;
  }
  int64_t a_offset(const Product& p) const {
    return channel * p.channel_a + tap[0] * p.axis[0].tap_a + tap[1] * p.axis[1].tap_a + tap[2] * p.axis[2].tap_a;
  }
  void next(const Product& p) {
    for (int i = 2; i >= 0; --i) {
      if (++tap[i] < p.axis[i].taps) return;
      tap[i] = 0;
    }
    ++channel;
  }
};

/// Consecutive positions of the innermost axis that are consecutive columns of a panel.
struct Run {
  int64_t position[3];
  int first, length;
};

inline int find_runs(const Product& p, int64_t first, int valid, Run* runs) {
  int count = 0;
  const int64_t width = p.axis[2].count;
  int64_t x = first % width;
  int64_t y = first / width % p.axis[1].count;
  int64_t z = first / width / p.axis[1].count;
  for (int done = 0; done < valid;) {
    const int length = static_cast<int>(width - x < valid - done ? width - x : valid - done);
    runs[count++] = {{z, y, x}, done, length};
    done += length;
    x = 0;
    if (++y == p.axis[1].count) {
      y = 0;
      ++z;
    }
  }
  return count;
}

/// The input element of a position and a tap.
inline int64_t input_element(const Product::Axis& axis, int64_t position, int64_t tap) {
  return position * axis.step + tap * axis.tap_step + axis.origin;
}

/// The positions [low, high) of `run` that fall inside the input when seen through `tap`, and the offset in B of the
/// first.
struct VisibleRun {
  int64_t low = 0, high = 0, b = 0;
};

inline VisibleRun find_visible(const Product& p, const Run& run, const int64_t (&tap)[3]) {
  VisibleRun seen;
  const int64_t z = input_element(p.axis[0], run.position[0], tap[0]);
  const int64_t y = input_element(p.axis[1], run.position[1], tap[1]);
  if (z < 0 || z >= p.axis[0].size || y < 0 || y >= p.axis[1].size) return seen;
  const Product::Axis& axis = p.axis[2];
  const int64_t x = input_element(axis, run.position[2], tap[2]);
  // 0 <= x + position * step < size
  const int64_t low = x >= 0 ? 0 : (-x + axis.step - 1) / axis.step;
  int64_t high = x >= axis.size ? 0 : (axis.size - x + axis.step - 1) / axis.step;
  if (high > run.length) high = run.length;
  if (low >= high) return seen;
  return {low, high, z * p.axis[0].b + y * p.axis[1].b + (x + low * axis.step) * axis.b};
}

}  // namespace berth::portable
