// Spread: how many numbers there were, their mean and the sum of their squared distances from it, in one pass; two of
// them merge to that of all their numbers.
//
// Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
#pragma once

#include "backends/cuda/kernels/element.h"

namespace berth::cuda {

struct Spread {
  double count = 0;
  double mean = 0;
  double squares = 0;

  BERTH_HD void take(double x) {
    count += 1;
    const double distance = x - mean;
    mean += distance / count;
    squares += distance * (x - mean);
  }

  BERTH_HD void merge(const Spread& other) {
    if (other.count == 0) return;
    const double all = count + other.count;
    const double distance = other.mean - mean;
    squares += other.squares + distance * distance * (count * other.count / all);
    mean += distance * (other.count / all);
    count = all;
  }
};

}  // namespace berth::cuda
