#include "compiler/memory/scheduling/problem.h"

#include <string>

#include "base/math.h"

namespace berth::scheduling {
namespace {

Status fail(const char* what, size_t index, const char* message) {
  return Failure{Error::kInvalidArgument, std::string(what) + "[" + std::to_string(index) + "]", message};
}

}  // namespace

Status check(const Problem& problem) {
  const auto is_task = [&](int32_t task) { return task >= 0 && task < problem.tasks; };
  const auto is_buffer = [&](int32_t b) { return is_index(b, problem.buffers.size()); };
  if (problem.tasks < 0) return fail("tasks", 0, "is a negative number");
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const Edge& edge = problem.edges[i];
    if (!is_task(edge.before) || !is_task(edge.after)) return fail("edges", i, "names a task that is not there");
    if (edge.before >= edge.after) return fail("edges", i, "goes backward in the given order");
  }
  int64_t total = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.bytes < 0 || __builtin_add_overflow(total, buffer.bytes, &total)) {
      return fail("buffers", i, "has a negative size, or all sizes together have no number");
    }
    if (buffer.producer != -1 && !is_task(buffer.producer)) return fail("buffers", i, "names a task that is not there");
    for (int32_t reader : buffer.readers) {
      if (!is_task(reader)) return fail("buffers", i, "names a task that is not there");
      if (reader <= buffer.producer) return fail("buffers", i, "is read before it is made");
    }
  }
  for (size_t i = 0; i < problem.in_place.size(); ++i) {
    const InPlace& candidate = problem.in_place[i];
    if (!is_buffer(candidate.from) || !is_buffer(candidate.to)) {
      return fail("in_place", i, "names a buffer that is not there");
    }
  }
  return Done{};
}

}  // namespace berth::scheduling
