#include "compiler/memory/traffic.h"

#include <algorithm>

#include "compiler/ir/arguments.h"

namespace berth::memory {
namespace {

class TrafficCounter {
 public:
  TrafficCounter(const ir::Module& module, const ir::Method& method, const MemoryModel& model)
      : module_(module),
        method_(method),
        model_(model),
        most_((int64_t{1} << 52) / std::max<int64_t>(1, static_cast<int64_t>(model.buffers.all.size()))),
        bytes_(model.buffers.all.size(), 0) {}

  IdVector<BufferId, int64_t> run() && {
    for (const ir::ValueId input : method_.body.inputs) move(input, 1);
    visit(method_.body, 1);
    for (const ir::Argument& output : method_.body.outputs) move_all(output, 1);
    for (const Save& save : model_.copies.saves) {
      move(save.value, 1);
      if (save.buffer.valid()) add(save.buffer, model_.buffers.all[save.buffer].size, 2);
    }
    for (const WriteBack& write : model_.copies.write_backs) move(write.value, 1);
    return std::move(bytes_);
  }

 private:
  void visit(const ir::Graph& graph, int64_t times) {
    for (const ir::NodeId id : graph.nodes) visit(id, times);
  }

  void visit(ir::NodeId id, int64_t times) {
    const ir::Node& node = method_.node(id);
    if (is_view(model_.aliases.reasons[id])) return;
    for (const ir::Argument& argument : node.args) move_all(argument, times);
    for (const ir::ValueId result : node.results) move(result, times);
    const BufferId scratch = model_.buffers.scratch[id];
    if (scratch.valid()) add(scratch, model_.buffers.all[scratch].size, 2 * times);
    if (node.is(ir::OpId::delegate)) return;
    if (node.is(ir::OpId::scan)) {
      const int64_t turns = module_.symbols.upper(std::get<ir::Dim>(node.args[arg::scan::length]));
      times = std::min(most_, times * std::clamp<int64_t>(turns, 0, 1 << 20));
    }
    for (const ir::Graph& region : node.regions) visit(region, times);
    const auto transfers = model_.copies.transfers.find(id);
    if (transfers == model_.copies.transfers.end()) return;
    for (const std::vector<Transfer>& together : transfers->second) {
      for (const Transfer& transfer : together) {
        move(transfer.value, times);
        move(transfer.into, times);
      }
    }
  }

  void move_all(const ir::Argument& argument, int64_t times) {
    ir::for_each_value(argument, [&](const ir::ValueId& value) { move(value, times); });
  }

  void move(ir::ValueId value, int64_t times) {
    const ValueHome& home = model_.aliases.homes[value];
    if (home.home == Home::kBuffer) add(home.buffer, ir::max_bytes(method_.tensor(value), module_.symbols), times);
  }

  void add(BufferId buffer, int64_t size, int64_t times) {
    const int64_t moved = times != 0 && size > most_ / times ? most_ : size * times;
    bytes_[buffer] = std::min(most_, bytes_[buffer] + moved);
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryModel& model_;
  const int64_t most_;
  IdVector<BufferId, int64_t> bytes_;
};

}  // namespace

IdVector<BufferId, int64_t> find_traffic(const ir::Module& module, const ir::Method& method, const MemoryModel& model) {
  return TrafficCounter(module, method, model).run();
}

}  // namespace berth::memory
