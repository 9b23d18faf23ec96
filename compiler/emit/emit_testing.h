// For the emitter's tests: modules from text, and programs as text that can be read and compared.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/memory/remarks.h"
#include "format/plan_check/verify_plan.h"
#include "format/verify.h"
#include "format/write/write_program.h"

namespace berth::emit::testing {

/// Two branches side by side, of which one order needs half of the other's bytes.
inline constexpr const char* kTwoBranches = R"(
method forward(%x: f32[4]) {
  %a: f32[400] = aten::repeat(%x, [100])
  %b: f32[400] = aten::repeat(%x, [100])
  %c: f32[1] = aten::sum.dim_IntList(%a, [0], true, none)
  %d: f32[1] = aten::sum.dim_IntList(%b, [0], true, none)
  %e: f32[1] = aten::mul.Tensor(%c, %d)
  return %e
})";

/// x goes to a device, where a delegate adds a constant and takes the positive part, and comes back: a scratch of 16
/// bytes inside the delegate.
inline constexpr const char* kDelegatedAddRelu = R"(
  const @w: f32[4] = dense<[1, 2, 3, 4]>
  delegate @d0 "berth.sim" {target_device = "sim:0"}
  method forward(%x: f32[4]) {
    %w: f32[4] = const @w
    %xd: f32[4]@sim:0 = et_copy::_h2d_copy(%x)
    %yd: f32[4]@sim:0 = berth::delegate([%xd]) @d0 { (%a: f32[4]@sim:0)
      %b: f32[4]@sim:0 = aten::add.Tensor(%a, %w)
      %c: f32[4]@sim:0 = aten::relu(%b)
      yield %c
    }
    %y: f32[4] = et_copy::_d2h_copy(%yd)
    return %y
  })";

/// Two states of 128 bytes that one operator each writes a row of: both can be written where they lie.
inline constexpr const char* kTwoCaches = R"(
  state @k: f32[4,8] = splat<0>
  state @v: f32[4,8] = splat<0>
  method forward(%x: f32[1,8], %i: i64[1]) {
    %k: f32[4,8] = berth::state_read() @k
    %v: f32[4,8] = berth::state_read() @v
    %y: f32[1,8] = aten::exp(%x)
    %k2: f32[4,8] = aten::index_put(%k, [%i], %x, false)
    %v2: f32[4,8] = aten::index_put(%v, [%i], %y, false)
    berth::state_write(%k2) @k
    berth::state_write(%v2) @v
    %r: f32[4,8] = aten::mul.Tensor(%k2, %v2)
    return %r
  })";

/// The module of `text`, which is right.
inline ir::Module module_of(const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(module).value() : ir::Module{};
}

/// Expects that the file of `program` passes every check of files: structure, and that nothing overwrites what is still
/// to be read.
inline void expect_sound_file(const format::ProgramDesc& program) {
  auto file = format::program_bytes(program);
  ASSERT_TRUE(file.ok()) << file.error().text();
  format::ProgramView view;
  format::Report report;
  ASSERT_EQ(format::ProgramView::open(*file, &view, &report), Error::kOk) << report.place << ": " << report.message;
  ASSERT_EQ(format::verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  for (size_t m = 0; m < view.method_count(); ++m) {
    std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, m));
    format::PlanFacts facts;
    EXPECT_EQ(format::verify_plan(view, m, scratch, &facts, &report), Error::kOk)
        << report.place << ": " << report.message;
  }
}

/// Nodes run in the order of the text, and inputs and outputs of delegates lie beside their scratch, so that a test can
/// say what it expects.
inline memory::MemoryOptions as_written() {
  memory::MemoryOptions options;
  options.reorder = false;
  options.inputs_in_scratch = options.outputs_in_scratch = false;
  return options;
}

/// The same, and no result of a delegate is scratch before.
inline memory::MemoryOptions with_own_scratch() {
  memory::MemoryOptions options = as_written();
  options.output_scratch = false;
  return options;
}

/// The program of `text`, which can be emitted and gives a sound file.
inline EmittedProgram program_of(const std::string& text, const memory::MemoryOptions& memory = as_written(),
                                 const EmitOptions& options = {}) {
  auto emitted = plan_and_emit(module_of(text), memory, options);
  EXPECT_TRUE(emitted.ok()) << emitted.error().text();
  if (!emitted.ok()) return EmittedProgram{};
  expect_sound_file(emitted->program);
  return std::move(emitted).value();
}

/// What `--why reuse` says of each value, without the method's name: "%y (aten::relu): reuse %x".
inline std::vector<std::string> why(const std::string& text, const memory::MemoryOptions& options = as_written()) {
  const ir::Module module = module_of(text);
  const auto plans = memory::plan_memory(module, options);
  EXPECT_TRUE(plans.ok()) << plans.error().text();
  std::vector<std::string> lines;
  if (plans.ok()) memory::remark_reuse(module, *plans, &lines);
  for (std::string& line : lines) line = line.substr(line.find("%"));
  return lines;
}

/// What it says of `value`: "nothing" when it does not speak of it.
inline std::string why_of(const std::string& value, const std::string& text,
                          const memory::MemoryOptions& options = as_written()) {
  for (const std::string& line : why(text, options)) {
    if (line.rfind("%" + value + " ", 0) == 0) return line.substr(line.find("): ") + 3);
  }
  return "nothing";
}

inline const format::MethodDesc& only_method(const EmittedProgram& emitted) { return emitted.program.methods.at(0); }

/// Why a module cannot be emitted.
inline std::string refusal_of(const ir::Module& module) {
  auto emitted = plan_and_emit(module, as_written());
  return emitted.ok() ? "it was emitted" : emitted.error().text();
}
inline std::string refusal_of(const std::string& text) { return refusal_of(module_of(text)); }

/// A value in a line: "12", "2.5", "true", "none", "'tanh'", "[0, 1]" (lists of Ints with their numbers),
/// "f32[2,3]+16" (arena 1 at offset 16), "f32[4]#1" (constant 1), "f32[4]@2+0#1" (arena 2, initial value 1),
/// "f32[<=8,3]+0" (bounded), "f32[2,2]{1,0}+0" (dimension order), "f32[3]?" (no place).
inline std::string value_text(const format::MethodDesc& method, int32_t index) {
  const format::ValueDesc& value = method.values[index];
  const auto list = [&](const auto& items, auto&& one) {
    std::string text = "[";
    for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + one(items[i]);
    return text + "]";
  };
  const auto real = [](double number) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number);
    return std::strpbrk(text, ".ein") == nullptr ? std::string(text) + ".0" : std::string(text);
  };
  const auto indexed = [&](int64_t item) {
    return item < 0 ? std::string("none") : value_text(method, static_cast<int32_t>(item));
  };
  const auto numbered = [](int64_t item) { return item < 0 ? std::string("none") : "v" + std::to_string(item); };
  if (std::holds_alternative<format::NullDesc>(value)) return "none";
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return real(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  if (const auto* ints = std::get_if<format::IntListDesc>(&value)) return list(ints->items, indexed);
  if (const auto* reals = std::get_if<format::DoubleListDesc>(&value)) return list(reals->items, real);
  if (const auto* truths = std::get_if<format::BoolListDesc>(&value)) {
    return list(truths->items, [](bool b) { return std::string(b ? "true" : "false"); });
  }
  if (const auto* tensors = std::get_if<format::TensorListDesc>(&value)) return list(tensors->items, numbered);
  if (const auto* tensors = std::get_if<format::OptionalTensorListDesc>(&value)) return list(tensors->items, numbered);

  const auto& tensor = std::get<format::TensorDesc>(value);
  std::string text = std::string(to_string(tensor.dtype)) + "[" + (tensor.bounded ? "<=" : "");
  for (size_t d = 0; d < tensor.sizes.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(tensor.sizes[d]);
  text += "]";
  bool contiguous = true;
  std::string order;
  for (size_t d = 0; d < tensor.dim_order.size(); ++d) {
    contiguous = contiguous && tensor.dim_order[d] == d;
    order += (d == 0 ? "" : ",") + std::to_string(tensor.dim_order[d]);
  }
  if (!contiguous) text += "{" + order + "}";
  if (tensor.planned.has_value()) {
    if (tensor.planned->memory_id != 1) text += "@" + std::to_string(tensor.planned->memory_id);
    text += "+" + std::to_string(tensor.planned->offset);
  } else if (tensor.data_buffer_idx == 0) {
    text += "?";
  }
  if (tensor.data_buffer_idx != 0) text += "#" + std::to_string(tensor.data_buffer_idx);
  return text;
}

/// The outputs, as value_text() writes them.
inline std::vector<std::string> outputs_of(const format::MethodDesc& method) {
  std::vector<std::string> texts;
  for (const int32_t output : method.outputs) texts.push_back(value_text(method, output));
  return texts;
}

/// The instructions, one a line: "aten::relu.out(v0, v1, v1)". Tensors and the results of symbol operators are written
/// as v and their index, other values as value_text() writes them. A jump: "jump 7 unless v3".
inline std::string listing(const format::MethodDesc& method) {
  std::string text;
  for (const format::InstructionDesc& instruction : method.instructions) {
    if (const auto* jump = std::get_if<format::JumpFalseDesc>(&instruction)) {
      const bool tensor = std::holds_alternative<format::TensorDesc>(method.values[jump->condition]);
      text += "jump " + std::to_string(jump->destination) + " unless " +
              (tensor ? "v" + std::to_string(jump->condition) : value_text(method, jump->condition)) + "\n";
      continue;
    }
    const auto& call = std::get<format::KernelCallDesc>(instruction);
    const format::OperatorDesc& op = method.operators[call.op_index];
    text += op.name + (op.overload.empty() ? "" : "." + op.overload) + "(";
    const bool symbolic = op.name == "aten::sym_size" ||
                          (op.name.rfind("executorch_prim::", 0) == 0 && op.name != "executorch_prim::et_view");
    for (size_t i = 0; i < call.args.size(); ++i) {
      const int32_t arg = call.args[i];
      const bool tensor = std::holds_alternative<format::TensorDesc>(method.values[arg]);
      const bool result = symbolic && i + 1 == call.args.size();
      text += (i == 0 ? "" : ", ") + (tensor || result ? "v" + std::to_string(arg) : value_text(method, arg));
    }
    text += ")\n";
  }
  return text;
}

/// The bytes of `bytes`.
inline std::vector<uint8_t> written(const format::Bytes& bytes) {
  std::vector<uint8_t> out;
  const Status done = bytes.write(format::append_to(&out));
  EXPECT_TRUE(done.ok());
  return out;
}

}  // namespace berth::emit::testing
