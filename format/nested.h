// The nested program: the payload of a delegate that Berth compiled, for its backends berth.cpu, berth.cuda and so on.
//
//     offset  0   8 bytes   "BerthNst"
//             8   u32       version, 1 to 4
//            12   u32       bytes of this header, 32
//            16   u64       bytes of the program that follows
//            24   u64       0
//            32   ...       a program file (program.fbs) with one method, "delegate"
//
// All numbers are little-endian. In the method:
//   inputs and outputs   the arguments of the delegate's call, in order. Outputs are not planned in version 1, nor
//                        inputs before version 4. Since version 3 one value may be an input and an output: the call
//                        gives both the same address, and the program changes what is there
//                        (docs/decisions/0020-caches-in-place.md). Since version 4 both may be planned in arena 1: the
//                        call has them there, in its scratch (docs/decisions/0026-ports-in-the-scratch.md)
//   arena 1              the scratch: the last argument of the call, a tensor of bytes. In version 1 the only arena
//   arena 2 + k          since version 2: the bytes of output k. If output k is planned, it lies at offset 0 and is as
//                        large as the arena; if not, the arena has 0 bytes. Other tensors may be planned into the same
//                        bytes until output k is first written (docs/decisions/0006-results-as-scratch.md)
//   constants            EXTERNAL tensors: named data of the outer program, by key
//   devices              not recorded: everything is local to the delegate's device, so a payload runs on any of them
//   operators            those of the program format, and fused ones named "berth::"
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/span.h"
#include "format/report.h"

namespace berth::format {

/// Every planned tensor lies in the scratch.
constexpr uint32_t kNestedVersion = 1;
/// Outputs are used as scratch until they are first written.
constexpr uint32_t kNestedOutputScratchVersion = 2;
/// Inputs are changed in place: they are outputs, too.
constexpr uint32_t kNestedInPlaceVersion = 3;
/// Inputs and outputs lie in the scratch.
constexpr uint32_t kNestedPortInScratchVersion = 4;
constexpr size_t kNestedHeaderSize = 32;
constexpr const char* kNestedMethodName = "delegate";

/// The memory id of output `k`'s arena.
constexpr uint32_t nested_output_arena(size_t k) { return static_cast<uint32_t>(k) + 2; }

/// The header.
struct NestedHeader {
  uint8_t bytes[kNestedHeaderSize];
};
NestedHeader make_nested_header(uint64_t program_size, uint32_t version = kNestedVersion);

/// The program file inside `payload`, not copied. InvalidProgram for bytes that are not a nested program or are
/// truncated, DelegateInvalidCompatibility for an unknown version, with a sentence in `report` (may be null). Sets
/// `*version` (may be null).
Result<Span<const uint8_t>> open_nested(Span<const uint8_t> payload, Report* report, uint32_t* version = nullptr);

}  // namespace berth::format
