// arange's numbers, checked. Shared by every set of kernels.
#pragma once

#include <cstdint>

#include "runtime/kernel.h"

namespace berth::portable {

/// start, start + step, …: as whole numbers, which wrap, or as floating ones.
struct Range {
  bool whole = false;
  int64_t whole_start = 0;
  int64_t whole_step = 0;
  double real_start = 0;
  double real_step = 0;
};

/// Gives `out` as many elements as there are from `start` to before `end`, counted by the numbers as they were given;
/// for an integer output, fractions of start and step are then cut off. InvalidArgument when the step leads nowhere or
/// to 2^31 elements or more, or a number does not fit 64 bits; for dtypes that are neither integer nor floating.
Error prepare_range(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out,
                    Range* range);

}  // namespace berth::portable
