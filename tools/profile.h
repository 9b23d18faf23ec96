// Profiler: measures the time of each instruction of a method, including those within delegates.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "runtime/observer.h"
#include "tools/node_names.h"
#include "tools/operator_cost.h"
#include "tools/roofline.h"
#include "tools/tool.h"

namespace berth::tool {

/// One instruction over all runs.
struct ProfiledInstruction {
  std::string name;   // the operator's, or a delegate's backend
  std::string place;  // "forward 3 / delegate 7"
  std::string node;   // of the model; empty: the program does not say
  std::string sizes;  // of its result: "[1,64,56,56]"
  int64_t calls = 0;
  double seconds = 0;  // excluding instructions within it
  OperatorCost cost;   // of all calls
  bool is_delegate = false;
  bool on_host = true;                // the threads whose roofline was measured compute it
  const NodeNames* inside = nullptr;  // of a delegate's instructions
};

/// All instructions of one operator.
struct ProfiledOperator {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  OperatorCost cost;
  double least_seconds = 0;  // the least possible for those that the host computes, by its roofline
  bool elsewhere = false;    // a device computes some
};

class Profiler final : public InstructionObserver {
 public:
  /// `roofline` is that of the host's threads, so that it says nothing of what other devices compute. The trace
  /// contains the first run. `names` may be null; otherwise it must outlive this.
  explicit Profiler(const Roofline& roofline, const NodeNames* names = nullptr) : roofline_(roofline), names_(names) {}

  Error before(const InstructionEvent& event) override;
  void after(const InstructionEvent& event, Error result) override;
  /// Must be called after each run.
  void end_of_run() { ++runs_; }

  /// Slowest first.
  std::vector<ProfiledOperator> operators() const;
  std::vector<ProfiledInstruction> instructions() const;
  int64_t runs() const { return runs_; }

  /// As text: a line for each operator, then the slowest instructions.
  std::string text() const;
  /// "roofline", "operators" and "instructions", in milliseconds per run, the slowest first.
  Json json() const;
  /// The first run in the format of Chrome's trace viewer (chrome://tracing, ui.perfetto.dev): "traceEvents" with
  /// complete events in microseconds since `start`, in the steady clock's nanoseconds; 0: since the Profiler was made.
  Json trace(uint64_t start = 0) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Frame {
    size_t instruction;
    Clock::time_point start;
    double within = 0;
  };
  struct TraceEvent {
    size_t instruction;
    double start, seconds;
  };

  double least_seconds(const ProfiledInstruction& instruction) const;

  Roofline roofline_;
  const NodeNames* names_;
  std::vector<ProfiledInstruction> instructions_;
  std::map<std::pair<size_t, size_t>, size_t> known_;  // the instruction around it (or SIZE_MAX) and its index
  std::vector<Frame> open_;
  std::vector<TraceEvent> events_;
  Clock::time_point origin_ = Clock::now();
  int64_t runs_ = 0;
};

}  // namespace berth::tool
