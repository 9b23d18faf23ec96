// A program as text, for `berth inspect`, messages, and tests that compare programs.
//
//     method forward
//       in   %0 x: f32[4] @ 1:0..16
//       out  %4: f32[4] @ 1:32..48
//       arena 1: 48 bytes on cpu
//       values
//         %0 x: f32[4] @ 1:0..16
//         %1: f32[4] = constant 1 (16 bytes)
//         %2: 1
//       instructions
//         0: aten::add.out(%0 x, %1, 1, %3, %3)
//         1: jump to 7 unless %5
//
// A delegate that Berth compiled is followed by its nested program, indented.
//
// A tensor is printed as its dtype, its sizes ("<=4" for upper bounds), the dimension order unless it is 0, 1, 2, …,
// the device unless it is the host, and its bytes: arena:first byte..end.
#pragma once

#include <string>

#include "format/program_view.h"

namespace berth::format {

struct PrintOptions {
  bool values = true;
  bool instructions = true;
};

/// REQUIRES: verify_program() accepted the file.
std::string print_program(const ProgramView& program, const PrintOptions& options);

/// Prints everything.
inline std::string print_program(const ProgramView& program) { return print_program(program, PrintOptions()); }

}  // namespace berth::format
