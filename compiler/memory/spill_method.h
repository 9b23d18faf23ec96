// Takes one value of a method out of its device's near banks for a while. For spill.cc alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

/// Of each value that was copied from a far bank: the value there.
using FarCopies = std::map<ir::ValueId, ir::ValueId>;

class MethodSpiller {
 public:
  /// `model` is that of the method as it is; `far_copies` are those of all that was spilled before. All must outlive
  /// this.
  MethodSpiller(ir::Method* method, const MemoryModel& model, MemoryOptions* options, FarCopies* far_copies);

  /// Of the values that are alive in the step and not read or made there, spills the one that waits longest, of equal
  /// ones the largest. False when there is none, or none that a far bank has room for. REQUIRES: no call before this
  /// one returned true.
  bool spill_one(int32_t space, int64_t step);

 private:
  /// A value to be spilled between two nodes of the body.
  struct Wait {
    ir::ValueId value;
    BufferId buffer;
    int64_t before = -1;  // the last node that makes or reads its buffer, -1: it is an input that was not read yet
    int64_t after = 0;    // the first that reads it again; the number of nodes: only the caller does
    int64_t bytes = 0;

    int64_t length() const { return after - before; }
  };

  void find_mentions();
  int64_t node_at(int64_t step) const;
  std::optional<Wait> wait_of(BufferId buffer, int64_t at) const;
  bool can_be_copied(const ir::Value& value) const;
  bool is_output(ir::ValueId value) const;
  int32_t bank_for(const Wait& wait) const;
  void spill(const Wait& wait, int32_t bank);
  ir::NodeId copy(ir::ValueId from, const std::string& name, const std::string& bank, ir::ValueId* made);
  void replace_output(ir::ValueId old, ir::ValueId by);
  void replace_from(int64_t first, ir::ValueId old, ir::ValueId by);

  ir::Method& method_;
  const MemoryModel& model_;
  MemoryOptions& options_;
  FarCopies& far_copies_;
  std::vector<std::vector<ir::ValueId>> values_of_;       // of each buffer: values of the body
  std::vector<bool> inside_;                              // of each buffer: values of regions lie in it too
  IdVector<ir::ValueId, std::vector<int64_t>> mentions_;  // the nodes of the body that make or read it, in order
};

}  // namespace berth::memory
