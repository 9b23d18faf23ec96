// Problems made from a seed: with an answer known beforehand, or as many buffers as one likes.
#pragma once

#include <cstdint>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

struct Planted {
  Problem problem;
  int64_t height = 0;  // a plan of this height exists; without slack none is lower
};

/// A rectangle of `pieces` steps and a height of 1024, cut into `pieces` buffers: again and again a random piece is
/// cut across time, across memory, or as a pinwheel into five that no straight cut separates. With slack, each buffer
/// is then made smaller by a random part of it, on average `slack_percent` of its size. The buffers are shuffled. The
/// same on every machine.
Planted planted_problem(uint64_t seed, int32_t pieces, int32_t slack_percent);

/// What a huge program may ask for: a buffer is born in each step; lives are geometric with a mean of 64 steps, sizes
/// log-uniform from 64 bytes to 4 MiB in multiples of 64.
Problem long_problem(uint64_t seed, int32_t buffers);

/// `times` copies of `problem`, one after the other in time, without the candidates.
Problem repeated(const Problem& problem, int32_t times);

}  // namespace berth::packing
