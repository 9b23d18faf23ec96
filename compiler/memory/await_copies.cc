#include "compiler/memory/await_copies.h"

#include <algorithm>

#include "compiler/ir/operators.h"

namespace berth::memory {
namespace {

// Whether the node copies to the host's memory while the host goes on.
bool arrives(const ir::Method& method, const ir::Node& node, const scheduling::TaskTime& time) {
  if (!node.op->is_device_copy() || time.host_waits || time.worker == scheduling::kHost) return false;
  return method.tensor(node.results[0]).device.is_cpu();
}

}  // namespace

void await_copies(const ir::Method& method, std::vector<scheduling::TaskTime>* times) {
  IdVector<ir::ValueId, std::vector<int32_t>> holds(method.values.size());
  int32_t count = 0;
  for (size_t i = 0; i < times->size(); ++i) {
    const ir::Node& node = method.node(method.body.nodes[i]);
    scheduling::TaskTime& time = (*times)[i];
    std::vector<int32_t> read;
    ir::for_each_mention(method, node, [&](const ir::ValueId& value) {
      read.insert(read.end(), holds[value].begin(), holds[value].end());
    });
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    if (node.op->may_be_view() && time.worker == scheduling::kHost && time.nanoseconds == 0) {
      for (const ir::ValueId result : node.results) holds[result] = read;
      continue;
    }
    time.awaits = std::move(read);
    if (!arrives(method, node, time)) continue;
    time.arrival = count++;
    holds[node.results[0]] = {time.arrival};
  }
}

}  // namespace berth::memory
