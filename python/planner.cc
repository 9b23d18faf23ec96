// plan(): the packing problem alone, on arrays.
#include "python/planner.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "python/arrays.h"
#include "python/casters.h"
#include "python/errors.h"
#include "python/new_arrays.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

packing::Planner packing_planner_of(const std::string& name) {
  const std::pair<const char*, packing::Planner> planners[] = {
      {"naive", packing::Planner::kNaive},         {"greedy", packing::Planner::kGreedy},
      {"breadth", packing::Planner::kBreadth},     {"best-fit", packing::Planner::kBestFit},
      {"heuristic", packing::Planner::kHeuristic}, {"best", packing::Planner::kBest},
  };
  std::string names;
  for (const auto& [known, planner] : planners) {
    if (name == known) return planner;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  raise(Error::kInvalidArgument, "planner '" + name + "'", "expected one of " + names);
}

// A column: whole numbers, one for each buffer.
std::vector<int64_t> column(nb::handle object, const std::string& name) {
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(object);
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const bool whole = kind == "i" || kind == "u" || nb::cast<int64_t>(array.attr("size")) == 0;
  if (!whole || nb::cast<int>(array.attr("ndim")) != 1) {
    raise(Error::kInvalidType, "plan: " + name, "is not a one-dimensional array of whole numbers");
  }
  const Borrowed borrowed = Borrowed::take(array.attr("astype")("int64"), DType::kI64, "plan: " + name);
  std::vector<int64_t> numbers(borrowed.numel());
  borrowed.copy_to(reinterpret_cast<uint8_t*>(numbers.data()), {});
  return numbers;
}

nb::dict plan(nb::handle lower, nb::handle upper, nb::handle size, nb::handle alignment, int64_t capacity,
              const std::string& planner, double time_limit) {
  const std::vector<int64_t> lowers = column(lower, "lower");
  const std::vector<int64_t> uppers = column(upper, "upper");
  const std::vector<int64_t> sizes = column(size, "size");
  const std::vector<int64_t> alignments =
      alignment.is_none() ? std::vector<int64_t>(sizes.size(), 1) : column(alignment, "alignment");
  if (lowers.size() != sizes.size() || uppers.size() != sizes.size() || alignments.size() != sizes.size()) {
    raise(Error::kInvalidArgument, "plan", "the arrays are not of one length");
  }
  packing::Problem problem;
  for (size_t i = 0; i < sizes.size(); ++i) {
    packing::Buffer buffer;
    buffer.size = sizes[i];
    buffer.alignment = alignments[i];
    buffer.lower = lowers[i];
    buffer.upper = uppers[i];
    problem.buffers.push_back(buffer);
  }
  packing::PlanOptions options;
  options.planner = packing_planner_of(planner);
  options.time_limit = time_limit;
  options.nodes = time_limit > 0 ? packing::kManyNodes : packing::kPatientNodes;
  options.stop_at_capacity = capacity >= 0;
  if (capacity >= 0) problem.spaces[0].capacity = capacity;
  const Stopwatch watch;
  packing::Plan made;
  {
    const nb::gil_scoped_release unlocked;
    made = value_or_raise(packing::plan_best(problem, options));
    check(packing::validate(problem, made));
  }
  const double seconds = watch.seconds();
  const int64_t count[] = {static_cast<int64_t>(sizes.size())};
  NewArray offsets(DType::kI64, count);
  if (!sizes.empty()) std::memcpy(offsets.data(), made.offsets.data(), sizes.size() * sizeof(int64_t));
  nb::dict result;
  result["offsets"] = offsets.take();
  result["height"] = made.spaces[0].height;
  result["lower_bound"] = made.spaces[0].lower_bound;
  result["optimal"] = made.spaces[0].optimal();
  result["truncated"] = made.truncated;
  result["seconds"] = seconds;
  return result;
}

}  // namespace

void add_planner(nb::module_& module) {
  module.def("plan", &plan, nb::arg("lower"), nb::arg("upper"), nb::arg("size"), nb::arg("alignment").none(),
             nb::arg("capacity"), nb::arg("planner"), nb::arg("time_limit"));
}

}  // namespace berth::python
