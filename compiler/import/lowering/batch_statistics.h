// Normalisation by the mean and the variance of the batch, for each channel.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

struct BatchStatistics {
  ValueId normal;             // (x - mean) * scale, of x's shape
  ValueId mean;               // [1, C, 1, …], as the two below
  ValueId variance;           // of the population: divided by the number of elements
  ValueId scale;              // 1 / sqrt(variance + epsilon)
  std::vector<Dim> channels;  // [1, C, 1, …]
};

/// For x of [N, C, …]. Fails with the node as place when x has fewer than two dimensions; check n.ok().
BatchStatistics batch_statistics(Lowering& n, ValueId x, double epsilon);

}  // namespace berth::lowering
