#include "compiler/emit/copies.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/arguments.h"

namespace berth::emit {
namespace {

using ir::Graph;
using ir::Node;
using ir::OpId;

using Reports = std::vector<CopyReport>;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Of numbers that are not negative; never over kMost.
int64_t sum(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }
int64_t product(int64_t a, int64_t b) { return a != 0 && b > kMost / a ? kMost : a * b; }

class Counter {
 public:
  Counter(const ir::Module& module, const ir::Method& method) : module_(module), method_(method) {}

  Reports graph(const Graph& graph) const {
    Reports all;
    for (const ir::NodeId id : graph.nodes) {
      for (const CopyReport& copy : node(method_.node(id))) {
        CopyReport& own = entry(copy.from, copy.to, &all);
        own.count = sum(own.count, copy.count);
        own.bytes = sum(own.bytes, copy.bytes);
        own.per_turn = sum(own.per_turn, copy.per_turn);
      }
    }
    return all;
  }

 private:
  CopyReport& entry(Device from, Device to, Reports* reports) const {
    const auto alike = [&](const CopyReport& r) { return r.from == from && r.to == to; };
    const auto found = std::find_if(reports->begin(), reports->end(), alike);
    if (found != reports->end()) return *found;
    CopyReport report;
    report.method = method_.name;
    report.from = from;
    report.to = to;
    reports->push_back(std::move(report));
    return reports->back();
  }

  Reports node(const Node& node) const {
    if (node.op->is_device_copy()) return copy(node);
    switch (node.op->id) {
      case OpId::if_: return larger(graph(node.regions[0]), graph(node.regions[1]));
      case OpId::scan: return repeated(graph(node.regions[0]), std::get<ir::Dim>(node.args[arg::scan::length]));
      case OpId::while_: return once_and_more(node);
      default: return {};
    }
  }

  Reports copy(const Node& node) const {
    const ir::TensorType& type = method_.tensor(node.results[0]);
    Reports reports;
    CopyReport& report =
        entry(method_.tensor(std::get<ir::ValueId>(node.args[arg::device_copy::self])).device, type.device, &reports);
    report.count = 1;
    report.bytes = ir::max_bytes(type, module_.symbols);
    return reports;
  }

  Reports larger(Reports first, const Reports& second) const {
    for (const CopyReport& copy : second) {
      CopyReport& own = entry(copy.from, copy.to, &first);
      if (copy.bytes > own.bytes || (copy.bytes == own.bytes && copy.count > own.count)) own = copy;
    }
    return first;
  }

  Reports repeated(Reports turn, ir::Dim turns) const {
    const int64_t times = std::max<int64_t>(module_.symbols.upper(turns), 0);
    for (CopyReport& copy : turn) {
      copy.count = product(copy.count, times);
      copy.bytes = product(copy.bytes, times);
      copy.per_turn = product(copy.per_turn, times);
    }
    return turn;
  }

  Reports once_and_more(const Node& node) const {
    Graph turn;
    for (const Graph& region : node.regions)
      turn.nodes.insert(turn.nodes.end(), region.nodes.begin(), region.nodes.end());
    Reports reports = graph(turn);
    for (CopyReport& copy : reports) copy.per_turn = copy.count;
    return reports;
  }

  const ir::Module& module_;
  const ir::Method& method_;
};

}  // namespace

std::vector<CopyReport> find_copies(const ir::Module& module, const ir::Method& method) {
  return Counter(module, method).graph(method.body);
}

}  // namespace berth::emit
