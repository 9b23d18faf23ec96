#include "tools/compile_report.h"

#include <fmt/format.h>

#include "tools/names.h"
#include "tools/reports.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

Json run_json(const RunReport& run) {
  Json busy = Json::array();
  for (const auto& [device, seconds] : run.busy) {
    busy.push_back({{"device", device_name(device)}, {"seconds", seconds}});
  }
  Json tasks = Json::array();
  for (const TaskReport& task : run.tasks) {
    tasks.push_back(
        {{"name", task.name}, {"device", device_name(task.device)}, {"begin", task.begin}, {"end", task.end}});
  }
  return {{"method", run.method},
          {"seconds", run.seconds},
          {"least_memory_seconds", run.least_memory_seconds},
          {"critical_path_seconds", run.critical_path_seconds},
          {"at_least_seconds", run.at_least_seconds},
          {"bytes", run.bytes},
          {"busy", busy},
          {"tasks", tasks}};
}

Json arenas_of(const CompileReport& report) {
  Json arenas = Json::array();
  for (const ArenaReport& arena : report.arenas) {
    arenas.push_back({{"method", arena.method},
                      {"id", arena.id},
                      {"device", device_name(arena.device)},
                      {"bytes", arena.bytes},
                      {"lower_bound", arena.lower_bound},
                      {"optimal", arena.optimal}});
    if (!arena.bank.empty()) {
      arenas.back()["bank"] = arena.bank;
      arenas.back()["capacity"] = arena.capacity < 0 ? Json(nullptr) : Json(arena.capacity);
    }
  }
  return arenas;
}

Json banks_of(const CompileReport& report) {
  Json banks = Json::array();
  for (const BankReport& bank : report.banks) {
    banks.push_back({{"method", bank.method},
                     {"device", device_name(bank.device)},
                     {"cost", bank.cost},
                     {"lower_bound", bank.lower_bound}});
  }
  return banks;
}

Json delegates_of(const CompileReport& report) {
  Json delegates = Json::array();
  for (const DelegateReport& delegate : report.delegates) {
    delegates.push_back({{"method", delegate.method},
                         {"name", delegate.name},
                         {"backend", delegate.backend},
                         {"device", device_name(delegate.device)},
                         {"nodes", delegate.nodes},
                         {"payload_bytes", delegate.payload_bytes},
                         {"scratch_bytes", delegate.scratch_bytes},
                         {"own_scratch_bytes", delegate.own_scratch_bytes},
                         {"scratch_inputs", delegate.scratch_inputs},
                         {"scratch_outputs", delegate.scratch_outputs},
                         {"state_bytes", delegate.state_bytes}});
  }
  return delegates;
}

Json copies_of(const CompileReport& report) {
  Json copies = Json::array();
  for (const CopyReport& copy : report.copies) {
    copies.push_back({{"method", copy.method},
                      {"from", device_name(copy.from)},
                      {"to", device_name(copy.to)},
                      {"count", copy.count},
                      {"bytes", copy.bytes},
                      {"per_turn", copy.per_turn}});
  }
  return copies;
}

Json runs_of(const CompileReport& report) {
  Json runs = Json::array();
  for (const RunReport& run : report.runs) runs.push_back(run_json(run));
  return runs;
}

Json external_of(const CompileReport& report) {
  Json external = Json::array();
  for (const ExternalReport& file : report.external) {
    external.push_back({{"file", file.file}, {"constants", file.constants}, {"bytes", file.bytes}});
  }
  return external;
}

std::string run_text(const RunReport& run) {
  std::string busy;
  for (const auto& [device, seconds] : run.busy) {
    busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", device_name(device), duration_text(seconds));
  }
  const std::string memory = run.bytes > 0 ? ", which takes " + bytes_text(run.bytes) + " less" : "";
  return fmt::format(
      "{}: a run takes {} by the estimate; {} in the order of the least memory{}; at least {} in any; critical path "
      "{}; "
      "work: {}\n",
      run.method, duration_text(run.seconds), duration_text(run.least_memory_seconds), memory,
      duration_text(run.at_least_seconds), duration_text(run.critical_path_seconds), busy);
}

std::string arenas_text(const CompileReport& report) {
  std::string text;
  for (const ArenaReport& arena : report.arenas) {
    const std::string of = arena.capacity < 0 ? "" : " of " + bytes_text(arena.capacity);
    const std::string bank = arena.bank.empty() ? "" : ", bank " + arena.bank + of;
    text += fmt::format("{}: arena {} on {}{}: {} ({} bytes), lower bound {}{}\n", arena.method, arena.id,
                        device_name(arena.device), bank, bytes_text(arena.bytes), arena.bytes,
                        bytes_text(arena.lower_bound), arena.optimal ? ", optimal" : "");
  }
  for (const BankReport& bank : report.banks) {
    if (bank.cost == 0) continue;
    text += fmt::format("{}: banks of {}: values outside the first cost {}, at least {}{}\n", bank.method,
                        device_name(bank.device), bank.cost, bank.lower_bound,
                        bank.cost == bank.lower_bound ? ", optimal" : "");
  }
  return text;
}

std::string delegates_text(const CompileReport& report) {
  std::string text;
  for (const DelegateReport& delegate : report.delegates) {
    const bool used_as_scratch = delegate.scratch_bytes < delegate.own_scratch_bytes;
    const std::string in_results =
        used_as_scratch ? ", without using outputs " + bytes_text(delegate.own_scratch_bytes) : "";
    std::string holds = delegate.scratch_inputs > 0 ? counted(delegate.scratch_inputs, "input") : "";
    if (delegate.scratch_outputs > 0)
      holds += (holds.empty() ? "" : " and ") + counted(delegate.scratch_outputs, "output");
    if (!holds.empty()) holds = ", which holds " + holds;
    const std::string keeps = delegate.state_bytes > 0 ? ", keeps " + bytes_text(delegate.state_bytes) : "";
    text += fmt::format(
        "{}: delegate {} of {} on {}: {}, scratch {}{}{}{}\n", delegate.method, delegate.name, delegate.backend,
        device_name(delegate.device),
        delegate.nodes > 0 ? counted(delegate.nodes, "node") : "payload " + bytes_text(delegate.payload_bytes),
        bytes_text(delegate.scratch_bytes), holds, in_results, keeps);
  }
  return text;
}

}  // namespace

Json compile_json(const CompileReport& report) {
  return {{"arenas", arenas_of(report)},
          {"delegates", delegates_of(report)},
          {"copies", copies_of(report)},
          {"banks", banks_of(report)},
          {"runs", runs_of(report)},
          {"external", external_of(report)},
          {"plan_ms", report.plan_ms},
          {"truncated", report.truncated},
          {"order_optimal", report.order_optimal},
          {"total_ms", report.total_ms},
          {"instructions", report.instructions},
          {"views", report.views},
          {"in_place", report.in_place},
          {"saved_by_order", report.saved_by_order},
          {"constant_bytes", report.constant_bytes},
          {"narrow_bytes", report.narrow_bytes},
          {"peak_rss_kb", peak_rss_kb()}};
}

std::string compile_text(const std::string& output, const CompileReport& report) {
  std::string text;
  for (const std::string& line : report.why) text += fmt::format("{}\n", line);
  std::string order = report.order_optimal ? "order optimal, " : "";
  if (report.saved_by_order > 0) order = fmt::format("order saved {}, ", bytes_text(report.saved_by_order)) + order;
  const std::string narrow =
      report.narrow_bytes == 0 ? "" : fmt::format(" ({} of them in 16 bits)", bytes_text(report.narrow_bytes));
  text += fmt::format("{}: {}, {} in place, {}, {}constants {}{}, in {}\n", output,
                      counted(report.instructions, "instruction"), report.in_place, counted(report.views, "view"),
                      order, bytes_text(report.constant_bytes), narrow, duration_text(report.total_ms / 1e3));
  if (report.truncated) text += fmt::format("{}: truncated: the time limit ended planning early\n", output);
  for (const ExternalReport& file : report.external) {
    text += fmt::format("{}: {}, {}\n", file.file, counted(file.constants, "constant"), bytes_text(file.bytes));
  }
  text += arenas_text(report);
  text += delegates_text(report);
  for (const CopyReport& copy : report.copies) {
    const std::string again =
        copy.per_turn > 0 ? fmt::format("; {} of them again in each further turn of a loop", copy.per_turn) : "";
    text += fmt::format("{}: {} from {} to {}, {} in all{}\n", copy.method, counted(copy.count, "copy", "copies"),
                        device_name(copy.from), device_name(copy.to), bytes_text(copy.bytes), again);
  }
  for (const RunReport& run : report.runs) text += run_text(run);
  return text;
}

}  // namespace berth::tool
