// Seeds for randomised tests, and how to repeat a failure.
//
//     BERTH_SEED=N      begin there
//     BERTH_SECONDS=S   go on for that long
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace berth::testing {

/// Calls `one` with consecutive seeds, starting at BERTH_SEED or else at a random one: at least `least` of them, more
/// for BERTH_SECONDS, and none after the first failure, whose message contains the seed.
template <typename One>
void for_each_seed(unsigned least, One&& one) {
  const char* seed = std::getenv("BERTH_SEED");
  const char* seconds = std::getenv("BERTH_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  const unsigned first =
      seed == nullptr ? std::random_device()() : static_cast<unsigned>(std::strtoul(seed, nullptr, 10));
  for (unsigned i = 0; !::testing::Test::HasFailure(); ++i) {
    if (i >= least && std::chrono::steady_clock::now() >= end) return;
    SCOPED_TRACE("repeat with BERTH_SEED=" + std::to_string(first + i));
    one(first + i);
  }
}

}  // namespace berth::testing
