// Problems made from a seed, for tests and benchmarks.
#pragma once

#include <cstdint>

#include "compiler/memory/scheduling/problem.h"

namespace berth::scheduling {

/// A stage as RandWire's are wired (Xie and others, "Exploring Randomly Wired Neural Networks for Image Recognition",
/// ICCV 2019): a Watts-Strogatz graph of `nodes` in a ring, each joined to its two next neighbours on both sides, three
/// of four edges rewired; edges go from the lower number to the higher. Nodes without a predecessor read the stage's
/// input, and a last task takes the mean of those without a successor. Each result has as many bytes as the input, or,
/// with `mixed`, one, two or three times as many. The same on every machine.
Problem wired_stage(uint64_t seed, int32_t nodes, bool mixed);

}  // namespace berth::scheduling
