// The order in which the search tries bodies that could lie at one height.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/memory/packing/search_options.h"
#include "compiler/memory/packing/search_problem.h"

namespace berth::packing {

class Ranks {
 public:
  Ranks(const SearchProblem& problem, const SearchOptions& options);

  /// Sorts all ids, the first to be tried first.
  void sort_all(int32_t* ids, size_t count) const;

  /// Sorts `picked`, indices into `ids`, by the totals of these bodies alone; they live in sections [lower, upper).
  void sort_part(const int32_t* ids, int32_t lower, int32_t upper, std::vector<int32_t>* picked);

 private:
  struct Rank {
    int64_t measures[3];
    int32_t id;
    int32_t index;
    bool operator<(const Rank& other) const;
  };
  Rank rank(int32_t id, int32_t index, int64_t total) const;
  int64_t disturbed(int64_t measure, int32_t id, int which) const;

  const SearchProblem& problem_;
  const SearchOptions& options_;
  std::vector<int64_t> totals_;       // of each body: the largest sum of sizes in a section of its
  std::vector<int32_t> firsts_;       // of each body: the first that is like it in everything
  std::vector<int64_t> part_totals_;  // of each section
  std::vector<Rank> ranks_;
};

}  // namespace berth::packing
