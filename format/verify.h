// Whole-file verification: after it, nothing that a program file says can lead outside of the file, of an arena or of a
// table. It says nothing about whether values overwrite each other: that is format/verify_plan.h.
//
// What is held:
//
//   the FlatBuffer    every offset, length and alignment inside it; depth and tables are bounded
//   segments          inside the file; constants, initial values, named data and payloads inside their segments
//   each method       a name of its own; every index in range and of the kind that is wanted there
//   each tensor       a known element type; sizes whose bytes can be counted; a dimension order that is a permutation;
//                     its place inside its arena and aligned to its elements, on the arena's device; or its constant
//   each list         items of the right kind; tensors of tensor lists before the list, as ExecuTorch's loader needs
//   each instruction  operator, delegate, arguments, condition and destination exist
//   each delegate     its payload exists; its compile specs agree on a device (base/target_device.h)
//   berth.meta        the same, when there is one of a version that this code reads
//
// No heap, no recursion beyond a fixed depth. Time is at most proportional to the size of the FlatBuffer, whatever the
// file says: lists that share their bytes are counted as often as they are named, and a file that names more than it
// has is refused.
#pragma once

#include "format/program_view.h"

namespace berth::format {

/// Checks all of the above; `report` (may be null) says what the first thing wrong is, and where.
///
/// InvalidProgram for what no reader can take; NotSupported for what the format has and neither ExecuTorch's runtime
/// nor ours loads (tensors without a bound, storage offsets); InvalidType for a list element of the wrong kind.
Error verify_program(const ProgramView& program, Report* report);

/// The part of verify_program() that is about "berth.meta", for loaders that attach the blob later
/// (ProgramView::attach_meta). Ok when there is none in memory. REQUIRES: verify_program() accepted the rest.
Error verify_meta(const ProgramView& program, Report* report);

/// Opens and verifies a file in memory.
Error verify_program(Span<const uint8_t> file, Report* report);

/// Longest "name.overload" of an operator, without the final zero: ExecuTorch's limit.
constexpr uint32_t kMaxOperatorName = 98;
/// Limits of ours; far above what any exporter makes, so that quadratic checks stay small.
constexpr uint32_t kMaxMethods = 1024;
constexpr uint32_t kMaxArenas = 256;
constexpr uint32_t kMaxNameLength = 1024;

}  // namespace berth::format
