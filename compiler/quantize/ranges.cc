#include "compiler/quantize/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::quantize {
namespace {

// The divergence of `counts`, cut after `bins`, from itself in `levels` steps; infinite where a step is empty that
// holds what was cut off. `beyond`: what lies behind.
double divergence(const std::vector<int64_t>& counts, size_t bins, size_t levels, int64_t beyond) {
  double total = static_cast<double>(beyond);
  double kept = 0;
  for (size_t i = 0; i < bins; ++i) kept += static_cast<double>(counts[i]);
  total += kept;
  if (kept == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * bins / levels;
    const size_t end = (level + 1) * bins / levels;
    int64_t held = 0;
    int64_t used = 0;
    for (size_t i = begin; i < end; ++i) {
      held += counts[i];
      used += counts[i] != 0 ? 1 : 0;
    }
    const double coarse = used == 0 ? 0 : static_cast<double>(held) / static_cast<double>(used) / kept;
    for (size_t i = begin; i < end; ++i) {
      const int64_t all = counts[i] + (i + 1 == bins ? beyond : 0);
      if (all == 0) continue;
      if (counts[i] == 0) return std::numeric_limits<double>::infinity();
      const double fine = static_cast<double>(all) / total;
      sum += fine * std::log(fine / coarse);
    }
  }
  return sum;
}

}  // namespace

void Extremes::add(Span<const float> numbers) {
  for (const float x : numbers) {
    if (!std::isfinite(x)) continue;
    range_.low = empty_ ? x : std::min(range_.low, x);
    range_.high = empty_ ? x : std::max(range_.high, x);
    empty_ = false;
  }
}

void Histogram::add(Span<const float> numbers) {
  const double bins_in_one = width() > 0 ? 1 / width() : 0;
  for (const float x : numbers) {
    if (!std::isfinite(x)) continue;
    const double bin = (static_cast<double>(x) - range_.low) * bins_in_one;
    ++counts_[static_cast<size_t>(std::clamp(bin, 0.0, kBins - 1.0))];
  }
}

Range Histogram::range(Method method, double percentile) const {
  if (width() <= 0) return range_;
  switch (method) {
    case Method::kMinMax: return range_;
    case Method::kPercentile: return percentile_range(percentile);
    case Method::kEntropy: return entropy_range();
  }
  return range_;
}

Range Histogram::percentile_range(double percentile) const {
  double total = 0;
  for (const int64_t count : counts_) total += static_cast<double>(count);
  const double cut = total * (1 - percentile / 100) / 2;
  const auto bins_within_cut = [&](auto begin, auto end) {
    double sum = 0;
    int bins = 0;
    for (; begin != end && (sum += static_cast<double>(*begin)) <= cut; ++begin) ++bins;
    return bins;
  };
  const int below = bins_within_cut(counts_.begin(), counts_.end());
  const int above = bins_within_cut(counts_.rbegin(), counts_.rend());
  if (below + above >= kBins) return range_;
  return {static_cast<float>(range_.low + below * width()), static_cast<float>(range_.high - above * width())};
}

Range Histogram::entropy_range() const {
  const double largest = std::max(std::fabs(range_.low), std::fabs(range_.high));
  std::vector<int64_t> magnitudes(kBins);
  for (int bin = 0; bin < kBins; ++bin) {
    const double middle = std::fabs(range_.low + (bin + 0.5) * width());
    magnitudes[std::min<size_t>(static_cast<size_t>(middle / largest * kBins), kBins - 1)] += counts_[bin];
  }
  const bool one_sign = range_.low >= 0 || range_.high <= 0;
  const size_t bins = entropy_bins(std::move(magnitudes), one_sign ? 256 : 128);
  const auto limit = static_cast<float>(largest * static_cast<double>(bins) / kBins);
  return {std::max(range_.low, -limit), std::min(range_.high, limit)};
}

size_t entropy_bins(std::vector<int64_t> counts, size_t levels) {
  const size_t all = counts.size();
  if (all <= levels || levels < 2) return all;
  counts[0] = counts[1];
  int64_t beyond = 0;
  for (size_t i = levels; i < all; ++i) beyond += counts[i];
  size_t best = all;
  double least = std::numeric_limits<double>::infinity();
  for (size_t bins = levels; bins <= all; ++bins) {
    const double distance = divergence(counts, bins, levels, beyond);
    if (distance < least) {
      least = distance;
      best = bins;
    }
    if (bins < all) beyond -= counts[bins];
  }
  return best;
}

}  // namespace berth::quantize
