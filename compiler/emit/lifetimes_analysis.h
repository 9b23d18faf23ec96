// How find_lifetimes() works: one walk over the method in the order in which it runs. For this room alone.
//
// lifetimes.cc has the walk and its straight nodes, lifetimes_regions.cc branches and loops, lifetimes_ends.cc outputs
// and what is written back.
#pragma once

#include <vector>

#include "compiler/emit/lifetimes.h"

namespace berth::emit::internal {

class Analysis {
 public:
  /// All must outlive the analysis.
  Analysis(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
           const std::vector<int64_t>& scratch_bytes);

  Expected<Lifetimes> run();

 private:
  static size_t at(ir::ValueId id) { return static_cast<size_t>(id.index); }
  Failure fault(const std::string& where, std::string message, Error code = Error::kNotSupported) const;

  // Storages (lifetimes.cc).
  Expected<int32_t> add_storage(const ir::TensorType& type, bool state, int64_t lower, int64_t upper,
                                const std::string& name, ir::ValueId first);
  Expected<int32_t> pool_of(const ir::TensorType& type, const std::string& name, ir::ValueId first) const;
  Status place_states();
  void number_arenas_alike();
  /// Gives `value`, which is made in `step`, its place: that of the result that it stands for, or one of its own.
  Status make_storage(ir::ValueId value, int64_t step);
  void read_at(ir::ValueId value, int64_t step);
  /// The bytes of `value` are in use in `step`, whoever made them.
  void alive_at(ir::ValueId value, int64_t step);
  /// REQUIRES: `port` is a tensor, and an input or an output.
  bool is_callers(ir::ValueId port) const {
    return !options_.plan_inputs_and_outputs || !method_.tensor(port).device.is_cpu() ||
           (options_.callers && options_.callers(method_, port));
  }
  /// Whether the caller lends the bytes of `value`, which is an output.
  bool is_lent(ir::ValueId value) const;
  /// Whether those are the bytes of what the caller lends.
  bool lies_in_lent(ir::ValueId value) const;
  ir::StateId state_at(ir::ValueId value) const;
  bool is_input_storage(ir::ValueId value) const;

  // Nodes (lifetimes.cc).
  Status visit(const ir::Graph& graph);
  Status visit(ir::NodeId id);
  bool reorders_nothing(const ir::Node& node) const;
  ViewReason view_reason(const ir::Node& node) const;
  void make_view(ir::ValueId base, ir::ValueId result);
  Status visit_delegate(ir::NodeId id, const std::string& where);
  Status visit_state(const ir::Node& node, const std::string& where);

  // Branches and loops (lifetimes_regions.cc).
  Status visit_regions(ir::NodeId id, const std::string& where);
  Status visit_if(ir::NodeId id, const std::string& where);
  Status visit_while(ir::NodeId id, const std::string& where);
  Status visit_scan(ir::NodeId id, const std::string& where);
  Status make_results(const ir::Node& node, const std::string& where);
  Status carry(const ir::Node& node, const ir::ValueList& initial, const ir::Graph& region);
  void update_in_place(const ir::Graph& body, const std::vector<ir::ValueId>& results, size_t carried);
  bool may_update(const ir::Graph& body, ir::ValueId input, ir::ValueId next) const;
  Status end_iteration(ir::NodeId id, size_t carried, const ir::Graph& body, const std::string& where);
  void stand_for(ir::ValueId value, ir::ValueId result);
  void bind_outputs(const ir::Graph& region, const std::vector<ir::ValueId>& results);
  void keep_through_loop(int64_t begin, int64_t end);

  // The method's ends (lifetimes_ends.cc).
  Status save(ir::ValueId value);
  bool is_written(ir::StateId state) const;
  Status finish_outputs();
  Status save_what_write_backs_change();
  void finish_callers_output(ir::ValueId value, int32_t output);

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryOptions& options_;
  const std::vector<int64_t>& scratch_bytes_;
  const std::vector<int> uses_;
  ArenaTable table_;
  int64_t step_ = 0;                           // the one that is looked at
  int depth_ = 0;                              // regions around it
  std::vector<bool> returned_;                 // by value
  std::vector<bool> given_;                    // by value: an output of the caller's is this value itself
  std::vector<bool> lent_;                     // by value: the first output that it is is lent
  std::vector<ir::StateId> state_of_storage_;  // by storage; -1 for others
  std::vector<ir::ValueId> stacked_;           // what the loops stack that are looked at
  Lifetimes out_;
};

}  // namespace berth::emit::internal
