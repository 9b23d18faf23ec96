#include "tools/profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::tool {
namespace {

constexpr size_t kOutermost = SIZE_MAX;
constexpr size_t kSlowest = 12;  // instructions that are listed

// The sizes of the instruction's result: the largest of its last tensor arguments, because some operators also return
// statistics or indices. Of equal ones the last.
std::string sizes_text(Span<EValue* const> args) {
  const Tensor* largest = nullptr;
  for (size_t i = args.size(); i-- > 0 && args[i]->is_tensor();) {
    if (largest == nullptr || args[i]->tensor().numel() > largest->numel()) largest = &args[i]->tensor();
  }
  if (largest == nullptr) return "";
  const Span<const int32_t> sizes = largest->sizes();
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ","));
}

// Whether kernels that compute with these arguments are the host's: a simulated device is memory of the host's process.
bool is_of_host(Span<EValue* const> args) {
  for (const EValue* arg : args) {
    if (!arg->is_tensor()) continue;
    const DeviceType type = arg->tensor().device().type;
    if (type != DeviceType::kCpu && type != DeviceType::kSim) return false;
  }
  return true;
}

double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds * 1e-9 : 0; }

std::string share_text(double least, double seconds) {
  return least > 0 && seconds > 0 ? fmt::format("{:.0f} %", 100 * least / seconds) : "";
}

}  // namespace

Error Profiler::before(const InstructionEvent& event) {
  const size_t around = open_.empty() ? kOutermost : open_.back().instruction;
  const auto [found, added] = known_.try_emplace({around, event.index}, instructions_.size());
  if (added) {
    ProfiledInstruction instruction;
    instruction.name = event.name;
    instruction.place = fmt::format("{}{} {}", around == kOutermost ? "" : instructions_[around].place + " / ",
                                    event.method, event.index);
    instruction.is_delegate = event.is_delegate;
    instruction.on_host = around == kOutermost ? is_of_host(event.args) : instructions_[around].on_host;
    const NodeNames* names = around == kOutermost ? names_ : instructions_[around].inside;
    if (names != nullptr) {
      instruction.node = names->node(event.index);
      instruction.inside = names->inside(event.index);
    }
    instructions_.push_back(std::move(instruction));
  }
  open_.push_back({found->second, Clock::now()});
  return Error::kOk;
}

void Profiler::after(const InstructionEvent& event, Error) {
  const Frame frame = open_.back();
  const double seconds = std::chrono::duration<double>(Clock::now() - frame.start).count();
  open_.pop_back();
  if (!open_.empty()) open_.back().within += seconds;
  ProfiledInstruction& instruction = instructions_[frame.instruction];
  if (instruction.calls == 0) instruction.sizes = sizes_text(event.args);
  ++instruction.calls;
  instruction.seconds += seconds - frame.within;
  if (!event.is_delegate) {
    const OperatorCost cost = operator_cost(event.name, event.args);
    instruction.cost.flops += cost.flops;
    instruction.cost.bytes += cost.bytes;
  }
  if (runs_ == 0) {
    events_.push_back({frame.instruction, std::chrono::duration<double>(frame.start - origin_).count(), seconds});
  }
}

std::vector<ProfiledInstruction> Profiler::instructions() const {
  std::vector<ProfiledInstruction> sorted = instructions_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::vector<ProfiledOperator> Profiler::operators() const {
  std::map<std::string, ProfiledOperator> by_name;
  for (const ProfiledInstruction& instruction : instructions_) {
    ProfiledOperator& all = by_name[instruction.name];
    all.name = instruction.name;
    all.calls += instruction.calls;
    all.seconds += instruction.seconds;
    all.cost.flops += instruction.cost.flops;
    all.cost.bytes += instruction.cost.bytes;
    all.least_seconds += least_seconds(instruction);
    all.elsewhere = all.elsewhere || !instruction.on_host;
  }
  std::vector<ProfiledOperator> sorted;
  sorted.reserve(by_name.size());
  for (auto& [name, one] : by_name) sorted.push_back(std::move(one));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return sorted;
}

double Profiler::least_seconds(const ProfiledInstruction& instruction) const {
  if (instruction.calls == 0 || !instruction.on_host) return 0;
  const double calls = static_cast<double>(instruction.calls);
  return calls * roofline_.seconds(instruction.cost.flops / calls, instruction.cost.bytes / calls);
}

std::string Profiler::text() const {
  const double runs = static_cast<double>(std::max<int64_t>(runs_, 1));
  double total = 0;
  for (const ProfiledInstruction& instruction : instructions_) total += instruction.seconds;
  std::string out = fmt::format("{:<40} {:>6} {:>10} {:>6} {:>9} {:>7} {:>9}\n", "operator", "calls", "ms/run", "share",
                                "GFLOP/s", "GB/s", "roofline");
  for (const ProfiledOperator& one : operators()) {
    out += fmt::format("{:<40} {:>6.0f} {:>10.4f} {:>4.0f} % {:>9} {:>7.1f} {:>9}\n", one.name,
                       static_cast<double>(one.calls) / runs, one.seconds * 1e3 / runs, 100 * one.seconds / total,
                       one.cost.flops > 0 ? fmt::format("{:.1f}", per_second(one.cost.flops, one.seconds)) : "",
                       per_second(one.cost.bytes, one.seconds),
                       one.elsewhere ? "" : share_text(one.least_seconds, one.seconds));
  }
  const auto is_elsewhere = [](const ProfiledInstruction& one) { return !one.on_host; };
  if (std::any_of(instructions_.begin(), instructions_.end(), is_elsewhere)) {
    out += "what a device computes has no roofline here: that is measured on the host's threads\n";
  }
  out += fmt::format(
      "the roofline of these threads: {:.0f} GFLOP/s; {:.0f} GB/s in the cores' caches, {:.0f} in the shared one, "
      "{:.0f} "
      "from memory\n\nthe slowest instructions:\n",
      roofline_.flops * 1e-9, roofline_.core_bytes * 1e-9, roofline_.shared_bytes * 1e-9,
      roofline_.memory_bytes * 1e-9);
  const std::vector<ProfiledInstruction> sorted = instructions();
  for (size_t i = 0; i < sorted.size() && i < kSlowest; ++i) {
    const ProfiledInstruction& one = sorted[i];
    out += fmt::format("{:>10.4f} ms  {:<32} {:<22} {:>9}  {}{}\n", one.seconds * 1e3 / runs, one.name, one.sizes,
                       share_text(least_seconds(one), one.seconds), one.place,
                       one.node.empty() ? "" : ": " + printable(one.node));
  }
  return out;
}

namespace {

// Null where there is no roofline to compare with.
Json roofline_share(const ProfiledOperator& one) {
  if (one.elsewhere) return Json();
  return one.seconds > 0 ? one.least_seconds / one.seconds : 0;
}

}  // namespace

Json Profiler::json() const {
  const double runs = static_cast<double>(std::max<int64_t>(runs_, 1));
  Json operators_json = Json::array();
  for (const ProfiledOperator& one : operators()) {
    operators_json.push_back({{"operator", one.name},
                              {"calls", static_cast<double>(one.calls) / runs},
                              {"ms", one.seconds * 1e3 / runs},
                              {"gflops", per_second(one.cost.flops, one.seconds)},
                              {"gbytes", per_second(one.cost.bytes, one.seconds)},
                              {"roofline", roofline_share(one)}});
  }
  Json instructions_json = Json::array();
  for (const ProfiledInstruction& one : instructions()) {
    instructions_json.push_back({{"operator", one.name},
                                 {"node", one.node},
                                 {"place", one.place},
                                 {"sizes", one.sizes},
                                 {"calls", static_cast<double>(one.calls) / runs},
                                 {"ms", one.seconds * 1e3 / runs}});
  }
  return {{"operators", operators_json},
          {"instructions", instructions_json},
          {"roofline",
           {{"gflops", roofline_.flops * 1e-9},
            {"core_gbytes", roofline_.core_bytes * 1e-9},
            {"shared_gbytes", roofline_.shared_bytes * 1e-9},
            {"memory_gbytes", roofline_.memory_bytes * 1e-9}}}};
}

Json Profiler::trace(uint64_t start) const {
  Json events = Json::array();
  const auto origin = std::chrono::duration_cast<std::chrono::nanoseconds>(origin_.time_since_epoch()).count();
  const double since = start == 0 ? 0 : static_cast<double>(origin - static_cast<int64_t>(start)) * 1e-3;
  for (const TraceEvent& event : events_) {
    const ProfiledInstruction& instruction = instructions_[event.instruction];
    events.push_back(
        {{"name", instruction.name},
         {"cat", instruction.is_delegate ? "delegate" : "operator"},
         {"ph", "X"},
         {"ts", since + event.start * 1e6},
         {"dur", event.seconds * 1e6},
         {"pid", 1},
         {"tid", 1},
         {"args", {{"sizes", instruction.sizes}, {"place", instruction.place}, {"node", instruction.node}}}});
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace berth::tool
