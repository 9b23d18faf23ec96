#include "compiler/memory/scheduling/every_schedule.h"

#include <algorithm>

#include "base/flow_network.h"
#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {
namespace {

/// Arcs and tasks that are looked at, in all: some twenty milliseconds.
constexpr int64_t kWork = 8'000'000;
/// Arguments whose bytes a result may take that are tried one by one.
constexpr size_t kMostCandidates = 4;

/// The least that is live while one task runs, over all schedules, for one task after another.
class EveryScheduleBound {
 public:
  EveryScheduleBound(const Problem& problem, const std::vector<Containment>& containments)
      : problem_(problem), graph_(problem), divided_(divide_buffers(problem, containments)), in_place_(problem.tasks) {
    for (const InPlace& candidate : problem.in_place) {
      const int32_t maker = problem.buffers[candidate.to].producer;
      if (maker >= 0 && !divided_.of[candidate.to].empty()) in_place_[maker].push_back(candidate);
    }
  }

  bool needs(int64_t bytes, const std::vector<int32_t>& tasks) {
    if (alive_at_start() >= bytes || alive_at_end() >= bytes) return true;
    if (tasks.empty()) return false;
    const std::vector<int64_t> given = alive_as_given();
    std::vector<int32_t> order;
    for (const int32_t task : tasks) {
      if (given[task] >= bytes) order.push_back(task);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return given[a] > given[b]; });
    return std::any_of(order.begin(), order.end(), [&](int32_t t) { return work_ > 0 && needed_while(t) >= bytes; });
  }

 private:
  /// When a task runs, compared to one.
  enum class When : uint8_t { kEither, kBefore, kNotBefore };

  /// Who still wants a buffer while a task runs.
  struct Wanted {
    bool surely = false;
    std::vector<int32_t> maybe;  // readers that may have run
    int32_t node = -1;           // in the network, when one is needed
  };

  int64_t alive_at_start() const {
    int64_t bytes = 0;
    const auto used = [&](int32_t buffer) { return buffer >= 0 && !problem_.buffers[buffer].readers.empty(); };
    for (const SharedBytes& shared : divided_.bytes) {
      const bool wanted = is_kept(shared) || used(shared.buffers[0]) || used(shared.buffers[1]);
      if (shared.producer < 0 && wanted) bytes += shared.bytes;
    }
    return bytes;
  }

  bool is_kept(const SharedBytes& shared) const {
    const auto kept = [&](int32_t buffer) { return buffer >= 0 && problem_.buffers[buffer].kept; };
    return kept(shared.buffers[0]) || kept(shared.buffers[1]);
  }

  int64_t alive_at_end() const {
    int64_t bytes = 0;
    for (const SharedBytes& shared : divided_.bytes) bytes += is_kept(shared) ? shared.bytes : 0;
    return bytes;
  }

  /// Of each task: what is alive in the order that is given, with nothing in place.
  std::vector<int64_t> alive_as_given() const {
    std::vector<int64_t> bytes(problem_.tasks + 1, 0);
    for (const SharedBytes& shared : divided_.bytes) {
      int32_t end = std::max(shared.producer, 0);
      for (const int32_t buffer : shared.buffers) {
        if (buffer < 0) continue;
        for (const int32_t reader : problem_.buffers[buffer].readers) end = std::max(end, reader);
      }
      if (is_kept(shared)) end = problem_.tasks - 1;
      bytes[std::max(shared.producer, 0)] += shared.bytes;
      bytes[end + 1] -= shared.bytes;
    }
    for (size_t t = 1; t < bytes.size(); ++t) bytes[t] += bytes[t - 1];
    return bytes;
  }

  int64_t needed_while(int32_t task) {
    find_when(task);
    find_wanted();
    const std::vector<InPlace>& candidates = in_place_[task];
    const auto same = [&](const InPlace& other) { return other.to == candidates[0].to; };
    if (candidates.empty()) return least(task, nullptr);
    if (candidates.size() > kMostCandidates || !std::all_of(candidates.begin(), candidates.end(), same)) {
      return least(task, nullptr) - most_saved(candidates);
    }
    int64_t bytes = INT64_MAX;
    for (const InPlace& candidate : candidates) bytes = std::min(bytes, least(task, &candidate));
    return bytes;
  }

  void find_when(int32_t task) {
    when_.assign(problem_.tasks, When::kEither);
    work_ -= problem_.tasks;
    const auto mark = [&](When when, auto&& next) {
      std::vector<int32_t> found = {task};
      when_[task] = when;
      for (size_t i = 0; i < found.size(); ++i) {
        for (const int32_t other : next(found[i])) {
          --work_;
          if (when_[other] != When::kEither) continue;
          when_[other] = when;
          found.push_back(other);
        }
      }
    };
    mark(When::kBefore, [&](int32_t t) -> const std::vector<int32_t>& { return graph_.before(t); });
    mark(When::kNotBefore, [&](int32_t t) -> const std::vector<int32_t>& { return graph_.after(t); });
  }

  void find_wanted() {
    wanted_.assign(problem_.buffers.size(), Wanted{});
    work_ -= static_cast<int64_t>(wanted_.size());
    for (size_t b = 0; b < wanted_.size(); ++b) {
      const Buffer& buffer = problem_.buffers[b];
      wanted_[b].surely = buffer.kept;
      for (const int32_t reader : buffer.readers) {
        --work_;
        wanted_[b].surely |= when_[reader] == When::kNotBefore;
        if (when_[reader] == When::kEither) wanted_[b].maybe.push_back(reader);
      }
    }
  }

  int64_t bytes_of(int32_t buffer) const {
    int64_t bytes = 0;
    for (const int32_t i : divided_.of[buffer]) bytes += divided_.bytes[i].bytes;
    return bytes;
  }

  /// Of candidates for several results, or too many: as if each result took the largest.
  int64_t most_saved(const std::vector<InPlace>& candidates) const {
    int64_t saved = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const auto same = [&](const InPlace& other) { return other.to == candidates[i].to; };
      if (std::any_of(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      int64_t most = 0;
      for (const InPlace& other : candidates) most = std::max(most, same(other) ? bytes_of(other.from) : 0);
      saved += std::min(most, bytes_of(candidates[i].to));
    }
    return saved;
  }

  /// The least that is alive while `task` runs, when its result takes the bytes of the candidate's if it may.
  int64_t least(int32_t task, const InPlace* in_place) {
    FlowNetwork network;
    node_.assign(when_.size(), -1);
    for (Wanted& wanted : wanted_) wanted.node = -1;
    int64_t bytes = 0;
    for (const SharedBytes& shared : divided_.bytes) {
      --work_;
      const bool own = shared.producer == task;
      const When made = shared.producer < 0 ? When::kBefore : when_[shared.producer];
      if (own) bytes += shared.bytes;
      if (!own && made != When::kNotBefore) bytes += add_bytes(shared, made, nullptr, &network);
    }
    if (in_place != nullptr) {
      for (const int32_t p : divided_.of[in_place->from]) {
        const SharedBytes& shared = divided_.bytes[p];
        bytes += add_bytes(shared, When::kBefore, &task, &network) - shared.bytes;
      }
    }
    add_tasks(&network);
    return bytes + network.push(&work_);
  }

  /// Bytes that are alive in any case; what else is decided by the cut. With `but`, as if that task did not read it.
  int64_t add_bytes(const SharedBytes& shared, When made, const int32_t* but, FlowNetwork* network) {
    bool surely = false;
    bool maybe = false;
    for (const int32_t b : shared.buffers) {
      if (b < 0) continue;
      surely |= but == nullptr ? wanted_[b].surely : wanted_without(b, *but);
      maybe |= !wanted_[b].maybe.empty();
    }
    if (surely && made == When::kBefore) return shared.bytes;
    if (!surely && !maybe) return 0;
    const int32_t from = made == When::kBefore ? FlowNetwork::kSource : node_of(shared.producer, network);
    if (surely) {
      network->add_arc(from, FlowNetwork::kSink, shared.bytes);
      return 0;
    }
    const int32_t node = network->add_node();
    network->add_arc(from, node, shared.bytes);
    for (const int32_t b : shared.buffers) {
      if (b >= 0 && !wanted_[b].maybe.empty()) network->add_arc(node, node_of_buffer(b, network), kNoCut);
    }
    return 0;
  }

  /// Whether a buffer is wanted by a task that has not run, other than `task`.
  bool wanted_without(int32_t b, int32_t task) const {
    const Buffer& buffer = problem_.buffers[b];
    return buffer.kept || std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](int32_t reader) {
             return reader != task && when_[reader] == When::kNotBefore;
           });
  }

  /// On the source's side when all that read the buffer have run.
  int32_t node_of_buffer(int32_t b, FlowNetwork* network) {
    Wanted& wanted = wanted_[b];
    if (wanted.node < 0) {
      wanted.node = network->add_node();
      for (const int32_t reader : wanted.maybe) network->add_arc(wanted.node, node_of(reader, network), kNoCut);
    }
    return wanted.node;
  }

  int32_t node_of(int32_t task, FlowNetwork* network) {
    int32_t& node = node_[task];
    if (node < 0) {
      node = network->add_node();
      in_network_.push_back(task);
    }
    return node;
  }

  /// If a task has run, its forerunners have.
  void add_tasks(FlowNetwork* network) {
    for (size_t i = 0; i < in_network_.size(); ++i) {
      const int32_t task = in_network_[i];
      for (const int32_t other : graph_.before(task)) {
        --work_;
        if (when_[other] != When::kEither) continue;
        const int32_t first = node_of(other, network);
        network->add_arc(node_[task], first, kNoCut);
      }
    }
    in_network_.clear();
  }

  static constexpr int64_t kNoCut = FlowNetwork::kNoCut;

  const Problem& problem_;
  const TaskGraph graph_;
  const DividedBuffers divided_;
  std::vector<std::vector<InPlace>> in_place_;  // of each task: candidates for what it makes
  int64_t work_ = kWork;

  // While one task runs:
  std::vector<When> when_;
  std::vector<Wanted> wanted_;       // of each buffer
  std::vector<int32_t> node_;        // of each task, in the network, or -1
  std::vector<int32_t> in_network_;  // tasks
};

}  // namespace

bool every_schedule_needs(const Problem& problem, const std::vector<Containment>& containments,
                          const std::vector<int32_t>& tasks, int64_t bytes) {
  return EveryScheduleBound(problem, containments).needs(bytes, tasks);
}

}  // namespace berth::scheduling
