// Few rows of a large table: they are fetched (KernelContext::fetch), where others are read in place.
#pragma once

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/index_reader.h"

namespace berth::portable {

/// Whether `count` slabs are so little of `table` that it had better stay where it is, in a file: a slab that is
/// touched brings in a whole piece of the system's, where fetching it is a system call. REQUIRES: `slab` is prepared
/// and not empty.
inline bool is_sparse(const Tensor& table, const StridedCopy& slab, int64_t count) {
  constexpr int64_t kLargeTable = int64_t{1} << 20;
  constexpr int64_t kPiece = 64 * 1024;
  constexpr int64_t kSmallestPart = 8;
  const int64_t bytes = static_cast<int64_t>(table.nbytes());
  return slab.is_one_run() && slab.bytes() < kPiece && bytes >= kLargeTable &&
         count <= bytes / kSmallestPart / slab.bytes();
}

/// How many slabs that are fetched are a thread's share: a fetch takes about a microsecond, however small.
constexpr int64_t kFetchGrain = 8;

/// What became of picking slabs, on all threads.
struct Picked {
  AllOf in_range;
  AllOf readable;

  Error error(KernelContext& context) const {
    if (!in_range) return index_out_of_range(context);
    if (!readable) return context.fail(Error::kAccessFailed, "rows of the table cannot be read from its file");
    return Error::kOk;
  }
};

}  // namespace berth::portable
