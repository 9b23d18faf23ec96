// How find_liveness() works: one walk over the method in the order in which it runs. For this room alone.
//
// liveness.cc has the walk and its straight nodes, liveness_buffers.cc what lies where, liveness_views.cc views,
// liveness_regions.cc branches and loops, liveness_rows.cc what loops slice, stack and carry on devices,
// liveness_boundary.cc outputs and what is written back.
#pragma once

#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory::internal {

class Analysis {
 public:
  /// All must outlive the analysis.
  Analysis(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
           const IdVector<ir::NodeId, int64_t>& scratch_bytes);

  Expected<Liveness> run();

 private:
  Failure fault(const std::string& where, std::string message, Error code = Error::kNotSupported) const;

  // Buffers (liveness_buffers.cc).
  Expected<BufferId> add_buffer(const ir::TensorType& type, bool state, int64_t lower, int64_t upper,
                                const std::string& name, ir::ValueId first);
  Status place_states();
  void find_outputs();
  void number_arenas_alike();
  /// Gives `value`, which is made in `step`, its place: that of the result that it stands for, or one of its own.
  Status make_buffer(ir::ValueId value, int64_t step);
  void read_at(ir::ValueId value, int64_t step);
  /// The bytes of `value` are in use in `step`, whatever made them.
  void alive_at(ir::ValueId value, int64_t step);
  /// REQUIRES: `port` is a tensor, and an input or an output.
  bool is_callers(ir::ValueId port) const {
    if (own_scratch_[port]) return false;
    return !options_.plan_inputs_and_outputs || !method_.tensor(port).device.is_cpu() ||
           (options_.callers && options_.callers(method_, port));
  }
  /// Whether `value` is an output whose bytes may be used as scratch.
  bool is_scratch_output(ir::ValueId value) const;
  /// Whether those are the bytes of such an output.
  bool lies_in_scratch_output(ir::ValueId value) const;
  ir::StateId state_at(ir::ValueId value) const;
  bool is_input_buffer(ir::ValueId value) const;

  // Nodes (liveness.cc).
  Status visit(const ir::Graph& graph);
  /// What is in use, beside what it reads, while a node of the body runs (MemoryOptions::in_use), at the step that is
  /// looked at.
  void read_in_use(ir::NodeId id);
  Status visit(ir::NodeId id);
  Status check_kept_state(const ir::Node& node, const std::string& where) const;
  Status visit_delegate(ir::NodeId id, const std::string& where);
  /// A call that was planned or compiled to change state in place finds it there.
  Status check_state_ports() const;
  Status visit_state(const ir::Node& node, const std::string& where);

  // Views (liveness_views.cc).
  bool reorders_nothing(const ir::Node& node) const;
  ViewReason view_reason(const ir::Node& node) const;
  void make_view(ir::ValueId base, ir::ValueId result);

  // Branches and loops (liveness_regions.cc).
  Status visit_regions(ir::NodeId id, const std::string& where);
  Status visit_if(ir::NodeId id, const std::string& where);
  Status visit_while(ir::NodeId id, const std::string& where);
  Status visit_scan(ir::NodeId id, const std::string& where);
  Status make_results(const ir::Node& node, const std::string& where);
  Status carry(const ir::Node& node, const ir::ValueList& initial, const ir::Graph& region);
  void begin_carried(ir::NodeId id, const ir::ValueList& initial);
  bool write_is_seen(ir::ValueId value) const;
  void update_in_place(const ir::Graph& body, const std::vector<ir::ValueId>& results, size_t carried);
  bool may_update(const ir::Graph& body, ir::ValueId input, ir::ValueId next) const;
  Status end_iteration(ir::NodeId id, size_t carried, const ir::Graph& body, const std::string& where);
  void stand_for(ir::ValueId value, ir::ValueId result);
  void bind_outputs(const ir::Graph& region, const std::vector<ir::ValueId>& results);
  void keep_through_loop(int64_t begin, int64_t end);

  // What lies in rows of tensors on devices (liveness_rows.cc).
  Status place_rows(const ir::Node& node, const ir::Graph& body, size_t carried);
  bool may_be_row(const ir::Graph& body, const ir::Argument& output, ir::ValueId result) const;
  void place_in_stack(const ir::Graph& body, size_t k, size_t carried, ir::ValueId result);
  Status point(const ir::Node& node, const ir::Graph& body, size_t i, size_t carried);
  bool may_point(const ir::Graph& body, size_t i, size_t carried, ir::ValueId result) const;
  bool is_read_after(const ir::Graph& body, ir::ValueId input, ir::ValueId next) const;
  bool has_aligned_rows(const ir::TensorType& row) const;
  Status make_slice(ir::ValueId slice, ir::ValueId scanned);

  // The method's ends (liveness_boundary.cc).
  Status save(ir::ValueId value);
  bool is_written(ir::StateId state) const;
  Status finish_outputs();
  Status save_what_write_backs_change();
  void finish_callers_output(ir::ValueId value, int32_t output);

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryOptions& options_;
  const IdVector<ir::NodeId, int64_t>& scratch_bytes_;
  const IdVector<ir::ValueId, int> uses_;
  int64_t step_ = 0;  // the one that is looked at
  int depth_ = 0;     // regions around it
  IdVector<ir::ValueId, bool> returned_;
  IdVector<ir::ValueId, bool> given_;            // an output of the caller's is this value itself
  IdVector<ir::ValueId, bool> scratch_outputs_;  // the first output that it is may be used as scratch
  IdVector<ir::ValueId, bool> own_scratch_;      // it is one of MemoryOptions::own_scratch_ports
  IdVector<BufferId, ir::StateId> state_of_buffer_;
  std::vector<ir::ValueId> stacked_;  // what the loops fill row by row that are looked at
  Liveness out_;
};

}  // namespace berth::memory::internal
