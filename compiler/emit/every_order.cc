// What every order of a method's nodes needs, asked of compiler/order for each arena by itself.
#include "compiler/order/every_order.h"

#include <algorithm>

#include "compiler/emit/order_method.h"
#include "compiler/emit/slots.h"

namespace berth::emit {
namespace {

class EveryOrder {
 public:
  EveryOrder(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes)
      : method_(method), lifetimes_(lifetimes), problem_(order_problem(module, method, lifetimes)) {
    for (const WriteBack& write : lifetimes.write_backs) leave_out(write.value);
    find_parts();
    for (size_t i = 0; i < method.body.nodes.size(); ++i) {
      // What is alive together within branches and loops is theirs.
      const ir::Node& node = method.node(method.body.nodes[i]);
      if (node.regions.empty() || node.is(ir::OpId::delegate)) tasks_.push_back(static_cast<int32_t>(i));
    }
  }

  bool needs(int32_t space, int64_t bytes) const {
    order::Problem problem = problem_;
    for (size_t s = 0; s < problem.buffers.size(); ++s) {
      if (lifetimes_.problem.storages[s].space != space) problem.buffers[s].bytes = 0;
    }
    return order::every_order_needs(problem, parts_, tasks_, bytes);
  }

 private:
  /// In another order the value may be computed where state lies, and take no bytes.
  void leave_out(ir::ValueId value) {
    const Place& place = lifetimes_.places[static_cast<size_t>(value.index)];
    if (place.home != Home::kStorage) return;
    const auto& states = lifetimes_.states;
    if (std::find(states.begin(), states.end(), place.index) != states.end()) return;
    problem_.buffers[static_cast<size_t>(place.index)].bytes = 0;
  }

  /// Who may be a part of whom is the same for all orders, but where a value is computed into state: then nobody who
  /// may be one counts.
  void find_parts() {
    if (!lifetimes_.write_backs.empty() || !lifetimes_.successors.empty()) {
      for (const ir::Node& node : method_.nodes) {
        if (!takes_slots(node)) continue;
        if (node.is(ir::OpId::cat_out)) {
          ir::for_each_value(node.args[0], [&](const ir::ValueId& part) { leave_out(part); });
        } else {
          for (const ir::ValueId part : node.results) leave_out(part);
        }
      }
    }
    for (size_t i = 0; i < lifetimes_.offers.size(); ++i) {
      const plan::Merge& merge = lifetimes_.problem.merges[i];
      if (lifetimes_.offers[i].is_slot) parts_.push_back({merge.from, merge.to});
    }
  }

  const ir::Method& method_;
  const Lifetimes& lifetimes_;
  order::Problem problem_;
  std::vector<order::Part> parts_;
  std::vector<int32_t> tasks_;
};

}  // namespace

bool is_lowest_of_all_orders(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes,
                             const plan::Plan& plan) {
  const EveryOrder every(module, method, lifetimes);
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    // All of state is alive all the time.
    if (lifetimes.arenas[s].holds_state && plan.spaces[s].optimal()) continue;
    if (!every.needs(static_cast<int32_t>(s), plan.spaces[s].height)) return false;
  }
  return true;
}

}  // namespace berth::emit
