// Ranges: from the numbers that a value took on samples to the range that its integers stand for.
//
//     Extremes e;  for each sample: e.add(numbers);
//     Histogram h(e);  for each sample: h.add(numbers);
//     Range r = h.range(Method::kEntropy);
#pragma once

#include <cstdint>
#include <vector>

#include "base/span.h"

namespace berth::quantize {

struct Range {
  float low = 0;
  float high = 0;
};

enum class Method : uint8_t {
  kMinMax,      // all of them
  kPercentile,  // the middle share of them
  kEntropy,     // what loses the least information
};

/// The smallest and the largest of numbers; what is not finite is left out.
class Extremes {
 public:
  void add(Span<const float> numbers);
  bool empty() const { return empty_; }
  /// Both 0 without numbers.
  Range range() const { return range_; }

 private:
  Range range_;
  bool empty_ = true;
};

/// How many of the numbers of a value lie in each of 2048 bins of the range that they have.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  /// Of numbers within `range`; others are counted in the first or the last bin, what is not finite is left out.
  explicit Histogram(Range range) : range_(range), counts_(kBins) {}

  void add(Span<const float> numbers);
  const std::vector<int64_t>& counts() const { return counts_; }

  /// kPercentile: without the (100 - `percentile`) / 2 % at each end, in whole bins. kEntropy: cut at the same distance
  /// from 0 on both sides, by entropy_bins() of their magnitudes, with 128 levels, or 256 where all have one sign.
  Range range(Method method, double percentile) const;

 private:
  Range percentile_range(double percentile) const;
  Range entropy_range() const;
  double width() const { return (static_cast<double>(range_.high) - range_.low) / kBins; }

  Range range_;
  std::vector<int64_t> counts_;
};

/// After how many bins magnitudes are best cut when `levels` integers stand for them: of all numbers of bins from
/// `levels` on, the one for which the distribution cut there (what lies beyond counts in the last bin) is nearest to
/// itself in `levels` steps, by Kullback and Leibler's divergence. The method is that of S. Migacz, "8-bit inference
/// with TensorRT" (GTC 2017). The first bin holds zeros, such as those of a ReLU, which every step has exactly: it
/// counts as the second one does. All bins where `counts` has no more than `levels`.
size_t entropy_bins(std::vector<int64_t> counts, size_t levels);

}  // namespace berth::quantize
