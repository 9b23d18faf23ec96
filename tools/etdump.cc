#include "tools/etdump.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "tools/etdump_generated.h"

namespace berth::tool {
namespace {

namespace etdump = fb::etdump;

constexpr size_t kPrefix = 4;  // bytes of the size in front
constexpr char kIdentifier[] = "ED00";

// "aten::add.out" as ExecuTorch's kernels are called: "native_call_add.out".
std::string native_name(const char* name) {
  const std::string full = name;
  const size_t colons = full.find("::");
  return "native_call_" + (colons == std::string::npos ? full : full.substr(colons + 2));
}

bool has_identifier(Span<const uint8_t> bytes, size_t prefix) {
  return bytes.size() >= prefix + 8 && std::memcmp(bytes.data() + prefix + 4, kIdentifier, 4) == 0;
}

// A damaged file may name a long text for every event.
std::string text_of(const flatbuffers::String* string) {
  constexpr size_t kMost = 512;
  return string == nullptr ? "" : std::string(string->c_str(), std::min<size_t>(string->size(), kMost));
}

// The key of what is one line: name, instruction, identifier within a delegate.
using TimeKey = std::tuple<std::string, int32_t, std::string>;

TimeKey key_of(const etdump::ProfileEvent& event) {
  std::string within = text_of(event.delegate_debug_id_str());
  if (within.empty() && event.delegate_debug_id_int() != -1) within = std::to_string(event.delegate_debug_id_int());
  return {text_of(event.name()), event.instruction_id(), std::move(within)};
}

void add_run(const etdump::Run& run, RunRecord* record, std::map<TimeKey, RecordedTime>* times) {
  ++record->runs;
  if (run.events() == nullptr) return;
  for (const etdump::Event* event : *run.events()) {
    record->allocations += event->allocation_event() != nullptr ? 1 : 0;
    record->debug_events += event->debug_event() != nullptr ? 1 : 0;
    const etdump::ProfileEvent* profiled = event->profile_event();
    if (profiled == nullptr) continue;
    TimeKey key = key_of(*profiled);
    RecordedTime& time = (*times)[key];
    std::tie(time.name, time.instruction, time.within) = key;
    ++time.calls;
    if (profiled->end_time() > profiled->start_time()) {
      time.total += static_cast<double>(profiled->end_time() - profiled->start_time());
    }
  }
}

}  // namespace

void RunRecorder::begin_run() {
  recording_ = events_ < kMostEvents;
  if (!recording_) return;
  runs_.emplace_back();
  runs_.back().push_back({0, now(), 0});
}

void RunRecorder::end_run() {
  if (!recording_) return;
  runs_.back().front().end = now();
  events_ += runs_.back().size();
}

uint32_t RunRecorder::number_of(const InstructionEvent& event, const NodeNames* names) {
  std::vector<size_t> path;
  for (const Frame& frame : open_) path.push_back(frame.index);
  path.push_back(event.index);
  const auto [found, fresh] = known_.emplace(path, static_cast<uint32_t>(whats_.size()));
  if (!fresh) return found->second;
  What what;
  what.name = event.is_delegate ? "DELEGATE_CALL" : open_.empty() ? native_name(event.name) : event.name;
  what.instruction = static_cast<int32_t>(path[0]);
  for (size_t i = 1; i < path.size(); ++i) what.within += (i == 1 ? "" : "/") + std::to_string(path[i]);
  if (!open_.empty() && names != nullptr && !names->node(event.index).empty()) {
    what.within += " " + names->node(event.index);
  }
  whats_.push_back(std::move(what));
  return found->second;
}

Error RunRecorder::before(const InstructionEvent& event) {
  if (!recording_) return Error::kOk;
  const NodeNames* names = open_.empty() ? names_ : open_.back().inside;
  const uint32_t what = number_of(event, names);
  std::vector<Event>& run = runs_.back();
  open_.push_back({event.index, run.size(), names == nullptr ? nullptr : names->inside(event.index)});
  run.push_back({what, now(), 0});
  return Error::kOk;
}

void RunRecorder::after(const InstructionEvent&, Error) {
  if (!recording_) return;
  runs_.back()[open_.back().event].end = now();
  open_.pop_back();
}

std::vector<uint8_t> RunRecorder::file() const {
  flatbuffers::FlatBufferBuilder builder(1024);
  std::vector<flatbuffers::Offset<etdump::Run>> runs;
  for (const std::vector<Event>& run : runs_) {
    std::vector<flatbuffers::Offset<etdump::Event>> events;
    for (const Event& event : run) {
      const What& what = whats_[event.what];
      const auto name = builder.CreateSharedString(what.name);
      const auto within = what.within.empty() ? 0 : builder.CreateSharedString(what.within);
      const auto profiled =
          etdump::CreateProfileEvent(builder, name, 0, what.instruction, -1, within, 0,
                                     static_cast<uint64_t>(event.start), static_cast<uint64_t>(event.end));
      events.push_back(etdump::CreateEvent(builder, profiled));
    }
    const auto name = builder.CreateSharedString("inference");
    runs.push_back(etdump::CreateRun(builder, name, -1, 0, builder.CreateVector(events)));
  }
  builder.FinishSizePrefixed(etdump::CreateDump(builder, 0, builder.CreateVector(runs)), kIdentifier);
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

bool looks_like_run_record(Span<const uint8_t> bytes) {
  return has_identifier(bytes, 0) || has_identifier(bytes, kPrefix);
}

Expected<RunRecord> read_run_record(Span<const uint8_t> bytes, const std::string& path) {
  const auto invalid = [&](const char* message) { return Failure{Error::kInvalidExternalData, path, message}; };
  if (!looks_like_run_record(bytes)) return invalid("is not a record of runs (.etdp)");
  const bool prefixed = !has_identifier(bytes, 0);
  if (bytes.size() > FLATBUFFERS_MAX_BUFFER_SIZE) return invalid("is too large for a record of runs");
  // Each table of a sound file takes at least so many bytes, with the offset that leads to it.
  constexpr size_t kLeastTable = 8;
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / kLeastTable);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/16, most_tables);
  const bool sound = prefixed ? verifier.VerifySizePrefixedBuffer<etdump::Dump>(kIdentifier)
                              : verifier.VerifyBuffer<etdump::Dump>(kIdentifier);
  if (!sound) return invalid("is a damaged record of runs");
  const auto* dump = prefixed ? flatbuffers::GetSizePrefixedRoot<etdump::Dump>(bytes.data())
                              : flatbuffers::GetRoot<etdump::Dump>(bytes.data());
  if (dump->version() != 0) return invalid("is a record of runs of a later version");
  RunRecord record;
  std::map<TimeKey, RecordedTime> times;
  if (dump->runs() != nullptr) {
    for (const etdump::Run* run : *dump->runs()) add_run(*run, &record, &times);
  }
  for (auto& entry : times) record.times.push_back(std::move(entry.second));
  std::stable_sort(record.times.begin(), record.times.end(), [](auto& a, auto& b) { return a.total > b.total; });
  return record;
}

}  // namespace berth::tool
