// LiveCut: the bytes that are alive while one task runs, as a cut through a network.
//
// While a task n runs, all that come before it in every order have run, those that come after it have not, and the
// others have or have not: some set D that holds the forerunners of its members. Bytes (shared_bytes.h) are alive when
// what makes them is in D or n, and a reader is not in D. The least that this may be over all D is a cut of least cost
// (base/flow_network.h): tasks in D are on the source's side.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flow_network.h"
#include "compiler/memory/scheduling/problem.h"
#include "compiler/memory/scheduling/shared_bytes.h"
#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {

/// For one task. All that it is given outlives it; `work` counts down by the arcs and tasks that are looked at.
class LiveCut {
 public:
  LiveCut(const Problem& problem, const TaskGraph& graph, const DividedBuffers& divided, int32_t task, int64_t* work);

  /// The least that is alive while the task runs, over all schedules; with `in_place`, a candidate for what the task
  /// makes, as far as its result may take the bytes of the argument. No more than that where `work` does not suffice.
  int64_t least(const InPlace* in_place);

 private:
  /// When a task runs, compared to this one.
  enum class When : uint8_t { kEither, kBefore, kNotBefore };

  /// What still reads a buffer while the task runs.
  struct Wanted {
    bool surely = false;
    std::vector<int32_t> maybe;  // readers that may have run
    int32_t node = -1;           // in the network, when one is needed
  };

  void find_when();
  void find_wanted();
  bool is_wanted(const SharedBytes& shared) const;
  bool is_wanted_by_others(const SharedBytes& shared) const;
  int64_t add_bytes(const SharedBytes& shared, When made, bool wanted, FlowNetwork* network);
  int32_t node_of_buffer(int32_t buffer, FlowNetwork* network);
  int32_t node_of(int32_t task, FlowNetwork* network);
  void add_forerunners(FlowNetwork* network);

  const Problem& problem_;
  const TaskGraph& graph_;
  const DividedBuffers& divided_;
  const int32_t task_;
  int64_t* const work_;
  std::vector<When> when_;           // of each task
  std::vector<Wanted> wanted_;       // of each buffer
  std::vector<int32_t> node_;        // of each task, in the network, or -1
  std::vector<int32_t> in_network_;  // tasks
};

}  // namespace berth::scheduling
