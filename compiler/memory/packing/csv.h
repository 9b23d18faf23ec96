// The text form of a Problem: a CSV in the columns of MiniMalloc (github.com/google/minimalloc).
//
//     id,lower,upper,size,alignment
//     conv1,0,3,4096,16
//     relu1,2,5,4096,16
//
// The first line names the columns, in any order. `id` is any text without commas and quotes, unique. `lower` and
// `upper` are the half-open live range in steps, `size` is in bytes; `alignment` may be absent and is 1 then. A
// solution has `offset` as well. Spaces and tabs around a field and empty lines are skipped; lines end with LF or CRLF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// The most buffers that a file may hold.
inline constexpr size_t kMaxCsvBuffers = 4'000'000;

struct CsvProblem {
  Problem problem;  // one space
  std::vector<std::string> names;
  std::vector<int64_t> offsets;  // one a buffer when the file has the column `offset`, otherwise empty
};

/// Reads `text`. InvalidArgument with "line N" and a sentence for anything else than the above and for buffers that
/// check() refuses.
Expected<CsvProblem> read_csv(std::string_view text);

/// Writes `problem`; `alignment` stands there when one is not 1. With a plan, its offsets are the last column.
/// REQUIRES: one name a buffer, and one offset with a plan.
std::string write_csv(const Problem& problem, const std::vector<std::string>& names, const Plan* plan = nullptr);

}  // namespace berth::packing
