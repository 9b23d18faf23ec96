// Plan verification: does anything overwrite what is still to be read?
//
// The rule. Between the instruction that defines a value and each read of it, paths through jumps included, no
// instruction writes any of its bytes, except through a value recorded as its view; and an instruction writes bytes
// that it also reads only in the value itself or where its operator allows an in-place output (format/operators.def).
// Beside instructions, inputs are written when they are set, outputs are read after the last instruction, and state (a
// planned value with an initial value, or one that is read before it is written) is kept from each run to the next.
//
// How. One backward sweep over the instructions with the set of values that are still to be read; at each write, the
// values of that set whose bytes it touches are looked up in a tree over addresses. Jumps join sets; with backward
// jumps the sweep is repeated until nothing changes. It shares nothing with the planners.
//
// Which values are views of which stands in berth.meta. Files of other makers do not say it; there a planned value that
// nothing writes is taken as a view of the value before it in the table that has the same place, as ExecuTorch's
// exporter emits elided views, and PlanFacts::inferred is set.
//
// What a call writes:
//   kernels                     the tensor, or all tensors of the list, in the last argument: ExecuTorch has it
//                               twice. If that is not the argument before it too, the kernel changes its first argument
//                               in place, and what was there counts as read (not for aten::copy_, which replaces it)
//   executorch_prim::et_view    no bytes: its result names the bytes of its argument from then on, as a MoveCall's does
//   berth::row.read             the same
//   berth::row.write            the same, and what writes the result writes a part of the argument
//   executorch_prim::et_copy_index   a part of its first argument
//   kernels that change an input beside their results (batch norm with running statistics, key-value caches): also that
//   delegates                   the last arguments, as far as they are not inputs and nothing that can have run has
//                               written them (of two branches each may); they may overlap nothing that it reads, but
//                               state that a nested program changes in place, and inputs that it has in its scratch,
//                               where berth.meta records that; its results may lie there as well
// Where berth.meta has offsets that follow the sizes (fb::Stack), the same is shown for all sizes at once (stacks.h),
// in a second sweep.
//
// An operator that is not in format/operators.def works in place where berth.meta says so of it (own_operators), which
// the loader holds against its kernel; otherwise never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/program_view.h"

namespace berth::format {

struct PlanFacts {
  /// Views were inferred, since the file has no berth.meta for this method.
  bool inferred = false;
  /// Operators that format/operators.def does not have; of these the conservative reading above was taken.
  uint32_t unknown_operators = 0;
  /// Planned tensors that were checked.
  uint32_t planned_values = 0;
};

/// Bytes of scratch memory that verify_plan() wants for this method: about 100 a planned tensor, 13 any other value, 4
/// a recorded relation, for methods with jumps a bit for each pair of a jump and a planned tensor, and a bit for each
/// pair of blocks of stacks. Never above 16
/// times the FlatBuffer's size plus a MiB: a method that would need more is refused as OutOfResources, and asks for
/// nothing.
///
/// REQUIRES (for both): verify_program() accepted the file; method < method_count().
size_t plan_scratch_bytes(const ProgramView& program, size_t method);

/// Checks the rule for one method. `scratch` needs no alignment and no content; `facts` and `report` may be null.
///
/// InvalidProgram when the rule is broken: the report's place is the writing instruction, its message names both values
/// and who still reads. NotSupported when a tensor list is moved. MemoryAllocationFailed when `scratch` is too small.
/// OutOfResources when the file asks for far more work than its size justifies. No heap; recursion is bounded.
Error verify_plan(const ProgramView& program, size_t method, Span<uint8_t> scratch, PlanFacts* facts, Report* report);

}  // namespace berth::format
