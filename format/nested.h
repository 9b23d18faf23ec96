// The nested program: the payload of a delegate that Berth compiled (backends berth.cpu, berth.sim, berth.cuda).
//
//     offset  0   8 bytes   "BerthNst"
//             8   u32       version, 1
//            12   u32       bytes of this header, 32
//            16   u64       bytes of the program that follows
//            24   u64       0
//            32   ...       a program file (program.fbs) with one method, "delegate"
//
// little-endian. In the method:
//   inputs and outputs   are not planned: they are the arguments of the delegate's call, in order
//   arena 1              is the scratch: the last argument of the call, one tensor of bytes; no other arena
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

constexpr uint32_t kNestedVersion = 1;
constexpr size_t kNestedHeaderSize = 32;
constexpr const char* kNestedMethodName = "delegate";

/// The header's bytes, for a program of this size.
struct NestedHeader {
  uint8_t bytes[kNestedHeaderSize];
};
NestedHeader make_nested_header(uint64_t program_size);

/// The program file in `payload`, where it lies. InvalidProgram for bytes that are no nested program or are cut short,
/// DelegateInvalidCompatibility for one of another version; `report` (may be null) says which.
Result<Span<const uint8_t>> open_nested(Span<const uint8_t> payload, Report* report);

}  // namespace berth::format
