// Difference: how far arrays are from those that they should be equal to, over any number of them.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/npy.h"
#include "tools/tool.h"

namespace berth::tool {

/// NaN is equal to NaN, and an infinity to itself; where only one of two is not finite they are `unlike`, and have no
/// part in the sums. Complex numbers are pairs of reals.
class Difference {
 public:
  /// Whether the two can be compared: of one shape, and both integers, or both of other types.
  static bool comparable(const Array& expected, const Array& actual);

  /// REQUIRES: comparable(); the same kind of number each time.
  void add(const Array& expected, const Array& actual);

  int64_t arrays() const { return arrays_; }
  bool integers() const { return integers_; }
  /// Elements of which one is finite and the other is not, or that are different infinities.
  int64_t unlike() const { return unlike_; }
  /// Elements that are not equal.
  int64_t different() const { return different_; }
  /// The largest absolute error, of integers the largest step; infinite with unlike elements.
  double largest() const;
  double mean() const;
  /// The largest error divided by the range of what is expected: largest minus smallest element, or the magnitude where
  /// all are equal. 0 without an error.
  double relative() const;
  /// Signal to quantisation noise, in dB: 10 log10(sum of squares / sum of squared errors). Infinite where nothing
  /// differs, minus infinity with unlike elements or where all should be 0 and are not.
  double sqnr() const;
  /// Rows along the last dimension, of at least two elements; and those whose largest element, of equal ones the first,
  /// is at the same place.
  int64_t rows() const { return rows_; }
  int64_t same_argmax() const { return same_argmax_; }

  /// The keys of `berth compare --json`: what is not finite becomes null.
  Json json() const;
  /// Under head(): the columns.
  std::string text() const;
  static std::string head();

 private:
  void add_rows(const std::vector<double>& expected, const std::vector<double>& actual, size_t width);

  bool integers_ = false;
  int64_t arrays_ = 0;
  int64_t elements_ = 0;
  int64_t unlike_ = 0;
  int64_t different_ = 0;
  double largest_ = 0;
  double sum_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  double low_ = 0;
  double high_ = 0;
  int64_t rows_ = 0;
  int64_t same_argmax_ = 0;
};

}  // namespace berth::tool
