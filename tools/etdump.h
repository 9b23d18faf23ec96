// Records of runs (.etdp, ExecuTorch's ETDump): written by `berth bench --etdump`, read by `berth inspect`.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/span.h"
#include "runtime/observer.h"
#include "tools/node_names.h"

namespace berth::tool {

/// Records every instruction of every run, those within delegates included.
class RunRecorder final : public InstructionObserver {
 public:
  /// Runs that begin after so many events are not recorded.
  static constexpr size_t kMostEvents = 1'000'000;

  /// `names` may be null; otherwise it must outlive this.
  explicit RunRecorder(const NodeNames* names = nullptr) : names_(names) {}

  /// Around each run.
  void begin_run();
  void end_run();

  Error before(const InstructionEvent& event) override;
  void after(const InstructionEvent& event, Error result) override;

  size_t runs() const { return runs_.size(); }
  /// The file. An instruction has the name that ExecuTorch's runtime gives it, "native_call_add.out" or
  /// "DELEGATE_CALL". Those within delegates have the operator's name, the instruction of the outermost call, and as
  /// debug identifier where they are, "12", or in delegates within delegates "3/12", and the node of the model behind
  /// it: "12 Conv_4".
  std::vector<uint8_t> file() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Event {
    uint32_t what = 0;  // in whats_
    int64_t start = 0;  // nanoseconds since origin_
    int64_t end = 0;
  };
  // An instruction, of which every run has an event.
  struct What {
    std::string name;
    int32_t instruction = -1;
    std::string within;  // the debug identifier; empty: it is not within a delegate
  };
  struct Frame {
    size_t index = 0;
    size_t event = 0;
    const NodeNames* inside = nullptr;
  };

  int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - origin_).count(); }
  uint32_t number_of(const InstructionEvent& event, const NodeNames* names);

  const NodeNames* names_;
  Clock::time_point origin_ = Clock::now();
  std::vector<What> whats_ = {{"Method::execute", -1, ""}};
  std::map<std::vector<size_t>, uint32_t> known_;  // by the indices of the calls around it, and its own
  std::vector<std::vector<Event>> runs_;
  std::vector<Frame> open_;
  size_t events_ = 0;
  bool recording_ = false;
};

/// What one instruction, or anything else that is timed, took in all runs of a record.
struct RecordedTime {
  std::string name;
  int32_t instruction = -1;  // -1: of no instruction
  std::string within;        // the delegate's debug identifier; empty: not within a delegate
  int64_t calls = 0;
  double total = 0;  // in the record's unit: nanoseconds, where Berth or ExecuTorch on a usual machine wrote it
};

struct RunRecord {
  int64_t runs = 0;
  int64_t allocations = 0;  // events of each of these kinds
  int64_t debug_events = 0;
  std::vector<RecordedTime> times;  // the longest in total first
};

/// Whether a file that begins with `bytes` says that it is a record.
bool looks_like_run_record(Span<const uint8_t> bytes);

/// Reads a record, with its size in front or without. InvalidExternalData for anything else, with `path` as its place.
/// REQUIRES: `bytes` is aligned to 16.
Expected<RunRecord> read_run_record(Span<const uint8_t> bytes, const std::string& path);

}  // namespace berth::tool
