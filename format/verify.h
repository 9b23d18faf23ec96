// Verification of a whole program file. In a verified file, nothing refers to anything outside of the file, an arena or
// a table. Whether values overwrite each other is checked separately, by the plan check.
//
// What is checked:
//
//   the FlatBuffer    every offset, length and alignment inside it; depth and tables are bounded
//   segments          inside the file; constants, initial values, named data and payloads inside their segments
//   each method       its name is unique; every index is in range and refers to the right kind of thing
//   each tensor       a known element type; sizes whose bytes do not overflow; a dimension order that is a permutation;
//                     bytes inside its arena, aligned to its elements, on the arena's device; or inside its constant
//   each list         items of the right kind; tensors of tensor lists before the list, as ExecuTorch's loader needs
//   each instruction  operator, delegate, arguments, condition and destination exist
//   each delegate     its payload exists; its compile specs agree on a device (base/target_device.h), and
//                     what they say of state is right (base/delegate_specs.h)
//   berth.meta        the same, if it is present and of a version that this code reads
//
// Does not use the heap or recurse deeper than a fixed depth. Takes time proportional to the size of the FlatBuffer,
// even for malicious files: lists that share bytes count as often as they are referred to, and a file whose lists add
// up to more than its size is refused.
#pragma once

#include "format/program_view.h"

namespace berth::format {

/// Checks all of the above. `report` (may be null) describes the first error and its place.
///
/// InvalidProgram for an invalid file; NotSupported for features of the format that neither ExecuTorch's runtime nor
/// Berth's loads (tensors without a bound, storage offsets); InvalidType for a list element of the wrong kind.
Error verify_program(const ProgramView& program, Report* report);

/// The part of verify_program() for "berth.meta", for loaders that attach the blob later (ProgramView::attach_meta). Ok
/// when it is not in memory. REQUIRES: verify_program() accepted the rest.
Error verify_meta(const ProgramView& program, Report* report);

/// Opens and verifies a file in memory.
Error verify_program(Span<const uint8_t> file, Report* report);

/// The longest "name.overload" of an operator, without the final zero; ExecuTorch's limit.
constexpr uint32_t kMaxOperatorName = 98;
/// Berth's own limits, far above what exporters write, so that quadratic checks stay fast.
constexpr uint32_t kMaxMethods = 1024;
constexpr uint32_t kMaxArenas = 256;
constexpr uint32_t kMaxNameLength = 1024;

}  // namespace berth::format
