// Seeds for randomised tests, and how to repeat a failure.
//
//     BERTH_SEED=N        begin there
//     BERTH_SECONDS=S     go on for that long
//     BERTH_NEW_SEEDS=N   where tests begin that have a new seed in every run: the same each time
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace berth::testing {

/// A seed of a test's random numbers, a new one in every run unless one is given, so small that those behind it are
/// numbers too. The test prints it when it fails, as BERTH_SEED.
inline unsigned new_seed() {
  for (const char* name : {"BERTH_SEED", "BERTH_NEW_SEEDS"}) {
    const char* given = std::getenv(name);
    if (given != nullptr) return static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  }
  return std::random_device()() % 1'000'000'000;
}

/// Calls `one` with consecutive seeds, from new_seed() on: at least `least` of them, more for BERTH_SECONDS, and none
/// after the first failure, whose message contains the seed.
template <typename One>
void for_each_seed(unsigned least, One&& one) {
  const char* seconds = std::getenv("BERTH_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  const unsigned first = new_seed();
  for (unsigned i = 0; !::testing::Test::HasFailure(); ++i) {
    if (i >= least && std::chrono::steady_clock::now() >= end) return;
    SCOPED_TRACE("repeat with BERTH_SEED=" + std::to_string(first + i));
    one(first + i);
  }
}

}  // namespace berth::testing
