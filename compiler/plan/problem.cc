#include "compiler/plan/problem.h"

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
  return Done{};
}

}  // namespace berth::plan
