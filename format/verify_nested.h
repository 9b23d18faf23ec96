// verify_nested: the rules of a nested program (format/nested.h) that its file alone can break, for the compiler, which
// checks what it wrote, and for the runtime, which trusts no payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/span.h"
#include "format/program_view.h"
#include "format/report.h"

namespace berth::format {

/// What a value is to the call of the delegate.
enum NestedPort : uint8_t { kNestedInput = 1, kNestedOutput = 2 };

/// The size of `ports` below: the number of values of the first method.
size_t nested_port_bytes(const ProgramView& nested);

/// Rejects, as InvalidProgram and with the place ("nested program values[3]"):
///   methods        any number but one, named "delegate"
///   delegates      all
///   devices        tensors or arenas that name one
///   arenas         other than the scratch and, since version 2, one for each output; an output's arena whose size
///                  differs from that of its planned output, or that has bytes although its output is not planned
///                  there
///   constants      that lie in the payload
///   state          all: the scratch keeps nothing from one run to the next
///   inputs and     that are not tensors, occur twice (since version 3 an input may be an output as well), or have
///   outputs        bytes of their own elsewhere (constants, outputs planned outside of their arena and, since
///                  version 4, of the scratch; inputs planned before version 4 or outside of the scratch)
///
/// `version` is the payload's. On success `ports` holds a NestedPort, both or 0, for each value. Allocates nothing.
/// REQUIRES: verify_program() accepted the nested program, or its source is trusted; `ports` has
/// nested_port_bytes(nested) bytes, all 0.
Error verify_nested(const ProgramView& nested, uint32_t version, Span<uint8_t> ports, Report* report);

}  // namespace berth::format
