#include "compiler/memory/scheduling/live_cut.h"

#include <algorithm>
#include <iterator>

namespace berth::scheduling {
namespace {

template <typename Predicate>
bool any_buffer(const SharedBytes& shared, const Predicate& predicate) {
  return std::any_of(std::begin(shared.buffers), std::end(shared.buffers),
                     [&](int32_t buffer) { return buffer >= 0 && predicate(buffer); });
}

}  // namespace

LiveCut::LiveCut(const Problem& problem, const TaskGraph& graph, const DividedBuffers& divided, int32_t task,
                 int64_t* work)
    : problem_(problem), graph_(graph), divided_(divided), task_(task), work_(work) {
  find_when();
  find_wanted();
}

void LiveCut::find_when() {
  when_.assign(problem_.tasks, When::kEither);
  *work_ -= problem_.tasks;
  const auto mark = [&](When when, auto&& next) {
    std::vector<int32_t> found = {task_};
    when_[task_] = when;
    for (size_t i = 0; i < found.size(); ++i) {
      for (const int32_t other : next(found[i])) {
        --*work_;
        if (when_[other] != When::kEither) continue;
        when_[other] = when;
        found.push_back(other);
      }
    }
  };
  mark(When::kBefore, [&](int32_t t) -> const std::vector<int32_t>& { return graph_.before(t); });
  mark(When::kNotBefore, [&](int32_t t) -> const std::vector<int32_t>& { return graph_.after(t); });
}

void LiveCut::find_wanted() {
  wanted_.assign(problem_.buffers.size(), Wanted{});
  *work_ -= static_cast<int64_t>(wanted_.size());
  for (size_t b = 0; b < wanted_.size(); ++b) {
    const Buffer& buffer = problem_.buffers[b];
    wanted_[b].surely = buffer.kept;
    for (const int32_t reader : buffer.readers) {
      --*work_;
      wanted_[b].surely |= when_[reader] == When::kNotBefore;
      if (when_[reader] == When::kEither) wanted_[b].maybe.push_back(reader);
    }
  }
}

int64_t LiveCut::least(const InPlace* in_place) {
  FlowNetwork network;
  node_.assign(when_.size(), -1);
  for (Wanted& wanted : wanted_) wanted.node = -1;
  int64_t bytes = 0;
  for (const SharedBytes& shared : divided_.bytes) {
    --*work_;
    const bool own = shared.producer == task_;
    const When made = shared.producer < 0 ? When::kBefore : when_[shared.producer];
    if (own) bytes += shared.bytes;
    if (!own && made != When::kNotBefore) bytes += add_bytes(shared, made, is_wanted(shared), &network);
  }
  if (in_place != nullptr) {
    // A result that is smaller than the argument leaves the rest of its bytes alive.
    int64_t taken = problem_.buffers[in_place->to].bytes;
    for (const int32_t i : divided_.of[in_place->from]) {
      SharedBytes shared = divided_.bytes[i];
      const bool wanted = is_wanted_by_others(shared);
      shared.bytes = std::min(shared.bytes, taken);
      taken -= shared.bytes;
      bytes += add_bytes(shared, When::kBefore, wanted, &network) - shared.bytes;
    }
  }
  add_forerunners(&network);
  return bytes + network.push(work_);
}

/// Whether the bytes are wanted by what surely has not run.
bool LiveCut::is_wanted(const SharedBytes& shared) const {
  return any_buffer(shared, [&](int32_t buffer) { return wanted_[buffer].surely; });
}

/// The same, as if the task itself did not read them.
bool LiveCut::is_wanted_by_others(const SharedBytes& shared) const {
  const auto wants = [&](int32_t reader) { return reader != task_ && when_[reader] == When::kNotBefore; };
  return any_buffer(shared, [&](int32_t buffer) {
    const Buffer& own = problem_.buffers[buffer];
    return own.kept || std::any_of(own.readers.begin(), own.readers.end(), wants);
  });
}

/// Gives the bytes that are alive in any case; whether others are is decided by the cut.
int64_t LiveCut::add_bytes(const SharedBytes& shared, When made, bool wanted, FlowNetwork* network) {
  if (wanted && made == When::kBefore) return shared.bytes;
  const auto maybe = [&](int32_t buffer) { return !wanted_[buffer].maybe.empty(); };
  if (!wanted && !any_buffer(shared, maybe)) return 0;
  const int32_t from = made == When::kBefore ? FlowNetwork::kSource : node_of(shared.producer, network);
  if (wanted) {
    network->add_arc(from, FlowNetwork::kSink, shared.bytes);
    return 0;
  }
  const int32_t node = network->add_node();
  network->add_arc(from, node, shared.bytes);
  for (const int32_t buffer : shared.buffers) {
    if (buffer >= 0 && maybe(buffer)) network->add_arc(node, node_of_buffer(buffer, network), FlowNetwork::kNoCut);
  }
  return 0;
}

/// On the source's side when all that read the buffer have run.
int32_t LiveCut::node_of_buffer(int32_t buffer, FlowNetwork* network) {
  Wanted& wanted = wanted_[buffer];
  if (wanted.node < 0) {
    wanted.node = network->add_node();
    for (const int32_t reader : wanted.maybe) {
      network->add_arc(wanted.node, node_of(reader, network), FlowNetwork::kNoCut);
    }
  }
  return wanted.node;
}

int32_t LiveCut::node_of(int32_t task, FlowNetwork* network) {
  int32_t& node = node_[task];
  if (node < 0) {
    node = network->add_node();
    in_network_.push_back(task);
  }
  return node;
}

/// If a task has run, its forerunners have.
void LiveCut::add_forerunners(FlowNetwork* network) {
  for (size_t i = 0; i < in_network_.size(); ++i) {
    const int32_t task = in_network_[i];
    for (const int32_t other : graph_.before(task)) {
      --*work_;
      if (when_[other] != When::kEither) continue;
      const int32_t first = node_of(other, network);
      network->add_arc(node_[task], first, FlowNetwork::kNoCut);
    }
  }
  in_network_.clear();
}

}  // namespace berth::scheduling
