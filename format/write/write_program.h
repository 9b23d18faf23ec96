// Writing a program file. The same ProgramDesc gives the same bytes, on every machine.
//
//     ProgramDesc program = …;
//     return write_whole_file(path, [&](OutputFile& file) {
//       return write_program(program, [&](Span<const uint8_t> bytes) {
//         return file.write(bytes.data(), bytes.size());
//       });
//     });
//
// Layout of the file (format/header.h has the header's bytes):
//
//     FlatBuffer | zeros | constants | initial values | delegate payloads | named data
//                        ^ segment_base, a multiple of the segment alignment, as is the start of each segment
//
// Segment 0 holds the constants even if there are none. Without a single byte of segments the file is the FlatBuffer
// alone, without extended header. Empty payloads stand inside the FlatBuffer.
#pragma once

#include <vector>

#include "format/write/program_desc.h"

namespace berth::format {

/// Checks that each planned tensor's arena exists and is on the tensor's device; readers refuse files in which the two
/// devices differ. InvalidArgument names the first wrong value. write_program() does not check this, because tests of
/// readers need invalid files.
Status check_arenas(const ProgramDesc& program);

/// Streams the file of `program` to `sink`, front to back, each byte once. InvalidArgument when an alignment is not a
/// power of two; NotSupported when the FlatBuffer would pass the format's 2 GiB; Internal when a Bytes gives another
/// number of bytes than it said; or what the sink and the Bytes return. Indices are not checked: verify the file.
Status write_program(const ProgramDesc& program, const Sink& sink);

/// The file in memory: for tests, and for hosts that compile and run at once. Memory of std::vector is aligned to 16.
Expected<std::vector<uint8_t>> program_bytes(const ProgramDesc& program);

}  // namespace berth::format
