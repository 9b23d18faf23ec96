#include "tools/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/arrays.h"

namespace berth::tool {
namespace {

bool is_whole(DType dtype) { return is_integer(dtype) || is_narrow_integer(dtype) || dtype == DType::kBool; }

// NaN counts as larger than all, as NumPy has it.
size_t argmax(const double* row, size_t width) {
  size_t best = 0;
  for (size_t i = 1; i < width && !std::isnan(row[best]); ++i) {
    if (row[i] > row[best] || std::isnan(row[i])) best = i;
  }
  return best;
}

Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

std::string decibels(double number) {
  if (std::isfinite(number)) return fmt::format("{:.2f}", number);
  return number > 0 ? "equal" : "none";
}

}  // namespace

bool Difference::comparable(const Array& expected, const Array& actual) {
  return expected.shape == actual.shape && is_whole(expected.dtype) == is_whole(actual.dtype) &&
         is_complex(expected.dtype) == is_complex(actual.dtype);
}

void Difference::add(const Array& expected, const Array& actual) {
  const std::vector<double> a = numbers_of(expected);
  const std::vector<double> b = numbers_of(actual);
  integers_ = is_whole(expected.dtype);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const bool counts = std::isfinite(a[i]) && std::isfinite(b[i]);
    if (!same) ++different_;
    if (!same && !counts) ++unlike_;
    if (!counts) continue;
    const double error = std::fabs(a[i] - b[i]);
    largest_ = std::max(largest_, error);
    sum_ += error;
    signal_ += a[i] * a[i];
    noise_ += error * error;
    low_ = elements_ == 0 ? a[i] : std::min(low_, a[i]);
    high_ = elements_ == 0 ? a[i] : std::max(high_, a[i]);
    ++elements_;
  }
  const size_t width = expected.shape.empty() || is_complex(expected.dtype) ? 0 : expected.shape.back();
  if (width > 1) add_rows(a, b, width);
  ++arrays_;
}

void Difference::add_rows(const std::vector<double>& expected, const std::vector<double>& actual, size_t width) {
  for (size_t row = 0; row + width <= expected.size(); row += width) {
    ++rows_;
    if (argmax(&expected[row], width) == argmax(&actual[row], width)) ++same_argmax_;
  }
}

double Difference::largest() const { return unlike_ > 0 ? HUGE_VAL : largest_; }
double Difference::mean() const {
  if (unlike_ > 0) return HUGE_VAL;
  return elements_ == 0 ? 0 : sum_ / static_cast<double>(elements_);
}

double Difference::relative() const {
  if (largest() == 0) return 0;
  const double range = high_ > low_ ? high_ - low_ : std::fabs(high_);
  return range > 0 ? largest() / range : HUGE_VAL;
}

double Difference::sqnr() const {
  if (unlike_ > 0) return -HUGE_VAL;
  return noise_ == 0 ? HUGE_VAL : 10 * std::log10(signal_ / noise_);
}

Json Difference::json() const {
  Json json = {
      {"equal", different_ == 0},
      {"largest", finite(largest())},
      {"mean", finite(mean())},
      {"relative", finite(relative())},
      {"sqnr_db", finite(sqnr())},
      {"argmax", rows_ == 0 ? Json(nullptr) : Json(static_cast<double>(same_argmax_) / static_cast<double>(rows_))},
      {"different", different_},
      {"unlike", unlike_}};
  return json;
}

std::string Difference::head() {
  return fmt::format("{:>11} {:>11} {:>10} {:>8} {:>9}", "largest", "mean", "of range", "SQNR dB", "argmax");
}

std::string Difference::text() const {
  const std::string step =
      integers_ && unlike_ == 0 ? fmt::format("{:.0f}", largest()) : fmt::format("{:.4g}", largest());
  const std::string agrees =
      rows_ == 0 ? "" : fmt::format("{:.2f} %", 100.0 * static_cast<double>(same_argmax_) / static_cast<double>(rows_));
  return fmt::format("{:>11} {:>11.4g} {:>10.4g} {:>8} {:>9}", step, mean(), relative(), decibels(sqnr()), agrees);
}

}  // namespace berth::tool
