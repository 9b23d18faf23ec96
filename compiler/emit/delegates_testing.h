// For tests of delegates: their payloads as text, and two that share constants.
#pragma once

#include "compiler/emit/emit_testing.h"
#include "format/nested.h"
#include "format/write/print_program.h"

namespace berth::emit::testing {

/// The text of a payload that is a sound nested program.
inline std::string nested_text(const EmittedProgram& emitted, size_t payload) {
  const std::vector<uint8_t> bytes = written(emitted.program.payloads.at(payload));
  format::Report report;
  const auto file = format::open_nested({bytes.data(), bytes.size()}, &report);
  format::ProgramView view;
  if (!file.ok() || format::ProgramView::open(*file, &view, &report) != Error::kOk ||
      format::verify_program(view, &report) != Error::kOk) {
    ADD_FAILURE() << report.place << ": " << report.message;
    return "";
  }
  std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, 0));
  EXPECT_EQ(format::verify_plan(view, 0, scratch, nullptr, &report), Error::kOk) << report.place << report.message;
  return format::print_program(view);
}

inline constexpr const char* kShared = R"(
    const @w: f32[4] = dense<[1, 2, 3, 4]>
    const @same: f32[2,2] = dense<[1, 2, 3, 4]>
    const @ones: f32[4] = splat<1>
    const @dense_ones: f32[4] = dense<[1, 1, 1, 1]>
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    delegate @d1 "berth.sim" {target_device = "sim:1"}
    method forward(%x: f32[4]@sim:0, %z: f32[2,2]@sim:1, %h: f32[4]) {
      %w: f32[4] = const @w
      %s: f32[2,2] = const @same
      %o: f32[4] = const @ones
      %p: f32[4] = const @dense_ones
      %y: f32[4]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[4]@sim:0)
        %b: f32[4]@sim:0 = aten::add.Tensor(%a, %w)
        %c: f32[4]@sim:0 = aten::mul.Tensor(%b, %o)
        %cc: f32[4]@sim:0 = aten::mul.Tensor(%c, %p)
        yield %cc
      }
      %u: f32[2,2]@sim:1 = berth::delegate([%z]) @d1 { (%d: f32[2,2]@sim:1)
        %e: f32[2,2]@sim:1 = aten::add.Tensor(%d, %s)
        yield %e
      }
      %k: f32[4] = aten::add.Tensor(%h, %w)
      return %y, %u, %k
    })";

}  // namespace berth::emit::testing
