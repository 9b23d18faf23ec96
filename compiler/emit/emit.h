// The emitter: a scheduled Module to a program, every byte of its memory placed.
//
//     BERTH_ASSIGN_OR_RETURN(EmittedProgram emitted, emit(module));
//     write_program(emitted.program, sink);
//
// The program is ExecuTorch's: its runtime runs it where it has the kernels. The schedule is the order of the nodes as
// they stand. What the emitter guarantees is checked before it returns: plan::validate on every method's memory.
//
// A node that calls a delegate becomes a DelegateCall; its region a nested program in the delegate's payload
// (delegates.h). Each device has arenas of its own; what lives on a device and is no input or output is planned there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/emit/arena_table.h"
#include "compiler/emit/in_place_set.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

/// As plan::Planner.
enum class Planner : uint8_t { kBest, kGreedy, kNaive, kBreadth, kBestFit };

struct EmitOptions {
  Planner planner = Planner::kBest;
  /// What storages and arenas of the host start at multiples of: a power of two. ExecuTorch's are at multiples of 16; a
  /// method with delegates of backend "berth.cpu" gets 64.
  int64_t alignment = 16;
  /// The same on devices.
  int64_t device_alignment = 256;
  /// Named pieces of memory (arena_table.h), and which of them a value of a method is to lie in; -1: none.
  std::vector<MemoryPool> pools;
  std::function<int32_t(const ir::Method& method, ir::ValueId value)> pool_of;
  /// Which inputs and outputs of a method are memory of the caller's: no arena has bytes for them, an input is read
  /// where it is and never written. Empty: those on devices, which always are.
  std::function<bool(const ir::Method& method, ir::ValueId port)> callers;
  /// Whether results may be computed into the bytes of inputs that die and of state (in_place.h).
  bool in_place = true;
  /// Those of which operators.
  InPlaceSet in_place_set;
  /// Whether results may be names of their inputs' bytes: views (lifetimes.h), and parts in their wholes (slots.h).
  bool alias = true;
  /// Whether delegates may use the bytes of their results as scratch until they write them (lent_results.h).
  bool lend_results = true;
  /// Whether nodes may run in another order than the module has them, where that makes the arenas smaller (kBest only).
  bool reorder = true;
  /// Seconds after which planning stops with what it has; 0: never. The program then depends on the machine and its
  /// load, and EmittedProgram::truncated says so.
  double time_limit = 0;
  /// Gets a line for each result: whose bytes it took, or the one reason why not. May be null.
  std::vector<std::string>* why_reuse = nullptr;
  /// Says at each instruction which node of the model it comes from.
  bool stack_traces = false;
  /// Writes berth.meta: names, symbols, views, bounds. ExecuTorch ignores it.
  bool meta = true;
};

/// What one arena of one method takes.
struct ArenaReport {
  std::string method;
  uint32_t id = 1;  // memory id
  Device device;
  uint64_t bytes = 0;
  uint64_t lower_bound = 0;
  bool optimal = false;
};

/// How long bytes of an arena are wanted, as the planner was told: what whoever runs the program may rely on between
/// two instructions, and nothing else.
struct Life {
  uint32_t memory_id = 1;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// Wanted from before instruction `first` to before instruction `end`. -1: the caller sets it; one more than there
  /// are instructions: the caller reads it.
  int32_t first = -1;
  int32_t end = 0;
  /// From one run to the next: `first` and `end` say nothing.
  bool state = false;
  /// In bytes of others on purpose, or others in its: a merge that was taken.
  bool merged = false;
};

/// One call of a delegate, or all calls of one that was compiled elsewhere.
struct DelegateReport {
  std::string method;
  int32_t id = 0;  // index into the method's delegates
  std::string name;
  std::string backend;
  Device device;
  uint64_t nodes = 0;  // of its region
  uint64_t payload_bytes = 0;
  uint64_t scratch_bytes = 0;
  /// What the scratch would take if nothing lay in the bytes of results.
  uint64_t own_scratch_bytes = 0;
  uint64_t scratch_lower_bound = 0;
  /// Of each result: 0, or all of its bytes, where some of what is dead before it lies in them.
  std::vector<uint64_t> lent_bytes;
  int64_t saved_by_order = 0;  // of the scratch
  /// Of its nested program, whose arena 1 is the scratch and 2 + k the bytes of result k.
  uint64_t instructions = 0;
  std::vector<Life> lives;
};

/// The copies of one run of a method from one device to another, counted as copies.h says.
struct CopyReport {
  std::string method;
  Device from;
  Device to;
  uint64_t count = 0;
  uint64_t bytes = 0;     // with every symbol at its upper end
  uint64_t per_turn = 0;  // of `count`: those in `while` loops, which each further turn makes again
};

struct EmittedProgram {
  format::ProgramDesc program;  // shares the constants' bytes with the module, and keeps them alive
  std::vector<ArenaReport> arenas;
  std::vector<DelegateReport> delegates;
  std::vector<CopyReport> copies;
  uint64_t instructions = 0;   // of all methods
  uint64_t views = 0;          // values that are another name for the bytes of one before, in all methods
  uint64_t in_place = 0;       // values that are computed into the bytes of an input or of state, in all methods
  uint64_t elided = 0;         // concatenations and slices that are not computed, as their parts lie in their slots
  int64_t saved_by_order = 0;  // bytes of arenas, scratch of delegates included
  double plan_ms = 0;          // spent in the planner
  bool truncated = false;      // the time limit cut planning short
  bool order_optimal = false;  // no order of the nodes has a lower plan, of any method or delegate
  /// For each method of the program and each of its instructions, the index of the node in ir::Method::nodes that it
  /// comes from, or -1.
  std::vector<std::vector<int32_t>> nodes;
  /// Of each method of the program.
  std::vector<std::vector<Life>> lives;
};

/// Emits all methods, sorted by name; constants with equal bytes are one. Fails with the method and node for what a
/// program cannot say (emit_method.h, lifetimes.h, delegates.h), and InvalidArgument for two methods of one name or an
/// alignment that is no power of two. REQUIRES: ir::verify(module) is well.
Expected<EmittedProgram> emit(const ir::Module& module, const EmitOptions& options = {});

}  // namespace berth::emit
