#include "tools/inspect_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/etdump.h"

namespace berth::tool {

Expected<std::string> inspect_runs(const std::string& path, const MappedFile& file, bool json) {
  BERTH_ASSIGN_OR_RETURN(const RunRecord record, read_run_record(file.bytes(), path));
  const double runs = static_cast<double>(std::max<int64_t>(record.runs, 1));
  if (json) {
    Json object = {{"file", path},
                   {"format", "etdp"},
                   {"runs", record.runs},
                   {"allocations", record.allocations},
                   {"debug_events", record.debug_events},
                   {"events", Json::array()}};
    for (const RecordedTime& time : record.times) {
      object["events"].push_back({{"name", time.name},
                                  {"instruction", time.instruction},
                                  {"within", time.within},
                                  {"calls", time.calls},
                                  {"ms", time.total * 1e-6 / runs}});
    }
    return object.text() + "\n";
  }
  std::string text;
  text += fmt::format("{}: a record of {}", path, counted(record.runs, "run"));
  if (record.allocations > 0) text += fmt::format(", {}", counted(record.allocations, "allocation"));
  if (record.debug_events > 0) text += fmt::format(", {}", counted(record.debug_events, "debug event"));
  text += fmt::format("; ms in a run, if it counts nanoseconds:\n");
  for (const RecordedTime& time : record.times) {
    const std::string instruction = time.instruction < 0 ? "" : std::to_string(time.instruction);
    text += fmt::format("  {:>10.4f}  {:>5}  {}{}\n", time.total * 1e-6 / runs, instruction, printable(time.name),
                        time.within.empty() ? "" : " / " + printable(time.within));
  }
  return text;
}

}  // namespace berth::tool
