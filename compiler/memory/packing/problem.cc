#include "compiler/memory/packing/problem.h"

#include <map>

#include "base/math.h"

namespace berth::packing {
namespace {

/// What is wrong with one buffer; null when nothing is.
const char* fault(const Buffer& buffer, size_t spaces) {
  if (buffer.size < 0) return "the size is negative";
  if (buffer.alignment < 1 || !is_power_of_two(static_cast<uint64_t>(buffer.alignment))) {
    return "the alignment is not a power of two";
  }
  if (buffer.alignment > kMaxAlignment) return "the alignment is over 1 GiB";
  if (buffer.lower >= buffer.upper) return "the lifetime is empty: upper must be greater than lower";
  if (!is_index(buffer.space, spaces)) return "its space does not exist";
  if (buffer.fixed != kAnywhere && buffer.fixed < 0) return "the fixed offset is negative";
  if (buffer.fixed != kAnywhere && buffer.fixed % buffer.alignment != 0) return "the fixed offset is not aligned";
  if (buffer.fixed > kMaxBytes) return "the fixed offset is over 2^60";
  return nullptr;
}

/// What is wrong with one candidate; null when nothing is.
const char* fault(const Candidate& candidate, const std::vector<Buffer>& buffers) {
  const auto exists = [&](int32_t id) { return is_index(id, buffers.size()); };
  if (!exists(candidate.from) || !exists(candidate.to)) return "one of its buffers does not exist";
  if (candidate.from == candidate.to) return "a buffer cannot be taken with itself";
  if (buffers[candidate.from].space != buffers[candidate.to].space) {
    return "its buffers are in two spaces";
  }
  if (candidate.offset < 0 || candidate.offset > kMaxBytes) return "the offset is negative or over 2^60";
  if (candidate.alignment < 0 || candidate.alignment > kMaxAlignment ||
      (candidate.alignment > 0 && !is_power_of_two(static_cast<uint64_t>(candidate.alignment)))) {
    return "the alignment is neither 0 nor a power of two up to 1 GiB";
  }
  if (candidate.all_or_none < kAlone) return "the number of all_or_none is negative";
  return nullptr;
}

}  // namespace

Status check(const Problem& problem) {
  int64_t total = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const char* message = fault(buffer, problem.spaces.size());
    // Neither term exceeds 2^60 before it is added, so the sum cannot overflow.
    if (message == nullptr && (buffer.size > kMaxBytes || total + buffer.size + buffer.alignment > kMaxBytes)) {
      message = "together with those before it, the buffers exceed 2^60 bytes";
    }
    if (message != nullptr) return Failure{Error::kInvalidArgument, "buffer " + std::to_string(i), message};
    total += buffer.size + buffer.alignment;
  }
  std::map<int32_t, int32_t> space_of_group;
  for (size_t i = 0; i < problem.candidates.size(); ++i) {
    const Candidate& candidate = problem.candidates[i];
    const char* message = fault(candidate, problem.buffers);
    if (message == nullptr && candidate.all_or_none != kAlone) {
      const int32_t space = problem.buffers[candidate.from].space;
      const int32_t first = space_of_group.emplace(candidate.all_or_none, space).first->second;
      if (first != space) message = "its all-or-none group is in two spaces";
    }
    if (message != nullptr) return Failure{Error::kInvalidArgument, "candidate " + std::to_string(i), message};
  }
  return Done{};
}

}  // namespace berth::packing
