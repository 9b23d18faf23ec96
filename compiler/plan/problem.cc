#include "compiler/plan/problem.h"

#include <map>

#include "base/math.h"

namespace berth::plan {
namespace {

/// What is wrong with one storage; null when nothing is.
const char* fault(const Storage& storage, size_t spaces) {
  if (storage.size < 0) return "the size is negative";
  if (storage.alignment < 1 || !is_power_of_two(static_cast<uint64_t>(storage.alignment))) {
    return "the alignment is not a power of two";
  }
  if (storage.alignment > kMaxAlignment) return "the alignment is over 1 GiB";
  if (storage.lower >= storage.upper) return "the lifetime is empty: upper must be greater than lower";
  if (storage.space < 0 || static_cast<size_t>(storage.space) >= spaces) return "its space does not exist";
  if (storage.fixed != kAnywhere && storage.fixed < 0) return "the fixed offset is negative";
  if (storage.fixed != kAnywhere && storage.fixed % storage.alignment != 0) return "the fixed offset is not aligned";
  if (storage.fixed > kMaxBytes) return "the fixed offset is over 2^60";
  return nullptr;
}

/// What is wrong with one merge; null when nothing is.
const char* fault(const Merge& merge, const std::vector<Storage>& storages) {
  const auto exists = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < storages.size(); };
  if (!exists(merge.from) || !exists(merge.to)) return "one of its storages does not exist";
  if (merge.from == merge.to) return "a storage cannot be merged with itself";
  if (storages[static_cast<size_t>(merge.from)].space != storages[static_cast<size_t>(merge.to)].space) {
    return "its storages are in two spaces";
  }
  if (merge.offset < 0 || merge.offset > kMaxBytes) return "the offset is negative or over 2^60";
  if (merge.alignment < 0 || merge.alignment > kMaxAlignment ||
      (merge.alignment > 0 && !is_power_of_two(static_cast<uint64_t>(merge.alignment)))) {
    return "the alignment is neither 0 nor a power of two up to 1 GiB";
  }
  if (merge.all_or_none < kAlone) return "the number of all_or_none is negative";
  return nullptr;
}

}  // namespace

Status check(const Problem& problem) {
  int64_t total = 0;
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    const char* message = fault(storage, problem.spaces.size());
    // Neither term exceeds 2^60 before it is added, so the sum cannot overflow.
    if (message == nullptr && (storage.size > kMaxBytes || total + storage.size + storage.alignment > kMaxBytes)) {
      message = "together with those before it, the storages exceed 2^60 bytes";
    }
    if (message != nullptr) return Failure{Error::kInvalidArgument, "storage " + std::to_string(i), message};
    total += storage.size + storage.alignment;
  }
  std::map<int32_t, int32_t> space_of_group;
  for (size_t i = 0; i < problem.merges.size(); ++i) {
    const Merge& merge = problem.merges[i];
    const char* message = fault(merge, problem.storages);
    if (message == nullptr && merge.all_or_none != kAlone) {
      const int32_t space = problem.storages[static_cast<size_t>(merge.from)].space;
      const int32_t first = space_of_group.emplace(merge.all_or_none, space).first->second;
      if (first != space) message = "its all-or-none group is in two spaces";
    }
    if (message != nullptr) return Failure{Error::kInvalidArgument, "merge " + std::to_string(i), message};
  }
  return Done{};
}

}  // namespace berth::plan
