// The nested program: the payload of a delegate that Berth compiled (backends berth.cpu, berth.sim, berth.cuda).
//
//     offset  0   8 bytes   "BerthNst"
//             8   u32       version, 1 or 2
//            12   u32       bytes of this header, 32
//            16   u64       bytes of the program that follows
//            24   u64       0
//            32   ...       a program file (program.fbs) with one method, "delegate"
//
// little-endian. In the method:
//   inputs and outputs   are the arguments of the delegate's call, in order; they are not planned
//   arena 1              is the scratch: the last argument of the call, one tensor of bytes; in version 1 the only
//   arena arena 2 + k          since version 2: the bytes of output k, which is then planned, at offset 0, and as large
//   as the
//                        arena; 0 bytes where output k is not planned. What else is planned there lies in the result's
//                        bytes as long as nothing has written it (docs/decisions/0006-results-as-scratch.md)
//   constants            are EXTERNAL tensors: named data of the outer program, by their key
//   devices              are not said: all of it is local to the delegate's device. So one payload serves any of them
//   operators            are those of the program format, and fused ones named "berth::"
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/span.h"
#include "format/report.h"

namespace berth::format {

/// All that is planned lies in the scratch.
constexpr uint32_t kNestedVersion = 1;
/// Some of it lies in the bytes of results.
constexpr uint32_t kNestedLentVersion = 2;
constexpr size_t kNestedHeaderSize = 32;
constexpr const char* kNestedMethodName = "delegate";

/// The memory id of the arena that is the bytes of output `k`.
constexpr uint32_t nested_result_arena(size_t k) { return static_cast<uint32_t>(k) + 2; }

/// The header's bytes, for a program of this size.
struct NestedHeader {
  uint8_t bytes[kNestedHeaderSize];
};
NestedHeader make_nested_header(uint64_t program_size, uint32_t version = kNestedVersion);

/// The program file in `payload`, where it lies. InvalidProgram for bytes that are no nested program or are cut short,
/// DelegateInvalidCompatibility for one of another version; `report` (may be null) says which. `version` (may be null)
/// gets its version.
Result<Span<const uint8_t>> open_nested(Span<const uint8_t> payload, Report* report, uint32_t* version = nullptr);

}  // namespace berth::format
