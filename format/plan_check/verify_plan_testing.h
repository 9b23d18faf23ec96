// For tests of verify_plan(): methods in the making, and what it says of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "format/plan_check/verify_plan.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {

using testing::bytes_of;
using testing::constant;
using testing::tensor;

/// A method in the making. Values are tensors of 16 bytes at the given offsets; the first is the input.
struct Method {
  MethodDesc desc;
  std::vector<fb::Relation> relations;
  std::vector<StackDesc> stacks;
  bool has_meta = false;

  explicit Method(const std::vector<int64_t>& offsets) {
    desc.name = "forward";
    for (const int64_t offset : offsets) desc.values.emplace_back(tensor({4}, offset));
    desc.inputs = {0};
    desc.operators = {{"test::op", "out"},    {"aten::relu", "out"},
                      {"aten::copy_", ""},    {"test::op_", ""},
                      {"aten::clone", "out"}, {"executorch_prim::et_view", "default"},
                      {"aten::cat", "out"},   {"executorch_prim::et_copy_index", "tensor"},
                      {"berth::row", "read"}, {"berth::row", "write"}};
    desc.arenas = {{256, Device()}};
  }
  Method& op(int32_t out, std::vector<int32_t> in) { return call(0, std::move(in), out); }
  Method& relu(int32_t out, int32_t in) { return call(1, {in}, out); }
  Method& copy_(int32_t self, int32_t source) {
    desc.instructions.push_back(KernelCallDesc{2, {self, source, truth(), self}});
    return *this;
  }
  Method& in_place(int32_t self, int32_t other) {
    desc.instructions.push_back(KernelCallDesc{3, {self, other, self}});
    return *this;
  }
  Method& et_view(int32_t out, int32_t self) {
    desc.values.emplace_back(IntListDesc{{}});
    desc.instructions.push_back(KernelCallDesc{5, {self, static_cast<int32_t>(desc.values.size()) - 1, out}});
    return *this;
  }
  /// `out`, which has no place of its own, is a row of `rows` from here on.
  Method& row(bool write, int32_t out, int32_t rows) {
    value(out).planned.reset();
    desc.values.emplace_back(int64_t{0});
    desc.instructions.push_back(
        KernelCallDesc{write ? 9 : 8, {rows, static_cast<int32_t>(desc.values.size()) - 1, out}});
    return *this;
  }
  Method& move(int32_t to, int32_t from) {
    desc.instructions.push_back(MoveDesc{from, to});
    return *this;
  }
  /// To `destination` unless a condition that is only known at run time holds.
  Method& jump(int32_t destination) {
    if (condition_ < 0) {
      condition_ = truth();
      desc.inputs.push_back(condition_);
    }
    desc.instructions.push_back(JumpFalseDesc{condition_, destination});
    return *this;
  }
  /// Always.
  Method& jump_always(int32_t destination) {
    desc.values.emplace_back(false);
    desc.instructions.push_back(JumpFalseDesc{static_cast<int32_t>(desc.values.size()) - 1, destination});
    return *this;
  }
  Method& outputs(std::vector<int32_t> list) {
    desc.outputs = std::move(list);
    return *this;
  }
  Method& relation(int32_t value, int32_t base, fb::RelationKind kind) {
    has_meta = true;
    relations.emplace_back(value, base, kind);
    return *this;
  }
  /// Arena 1 follows the sizes: these blocks, from the lowest.
  Method& stack(std::vector<StackDesc::Block> blocks) {
    has_meta = true;
    stacks = {{1, 16, std::move(blocks)}};
    return *this;
  }
  Method& recorded() {
    has_meta = true;
    return *this;
  }
  TensorDesc& value(int32_t v) { return std::get<TensorDesc>(desc.values[v]); }

 private:
  Method& call(int32_t op, std::vector<int32_t> in, int32_t out) {
    in.push_back(out);
    in.push_back(out);
    desc.instructions.push_back(KernelCallDesc{op, std::move(in)});
    return *this;
  }
  int32_t truth() {
    desc.values.emplace_back(true);
    return static_cast<int32_t>(desc.values.size()) - 1;
  }
  int32_t condition_ = -1;
};

/// "sound", or the place and what verify_plan() says.
inline std::string judge(const Method& method, PlanFacts* facts = nullptr) {
  ProgramDesc program;
  program.methods = {method.desc};
  program.constants = {Bytes::of(std::vector<uint8_t>(16))};
  program.initial_values = {Bytes::of(std::vector<uint8_t>(16))};
  if (!method.desc.delegates.empty()) program.payloads = {Bytes::of({1})};
  if (method.has_meta) {
    MethodMetaDesc meta;
    meta.name = "forward";
    meta.values = {{0, "image", "input"}};
    meta.relations = method.relations;
    meta.stacks = method.stacks;
    program.named_data = {meta_blob({"berth test", {meta}})};
  }
  const auto bytes = bytes_of(program);
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk);
  EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  std::vector<uint8_t> scratch(plan_scratch_bytes(view, 0));
  const Error error = verify_plan(view, 0, {scratch.data(), scratch.size()}, facts, &report);
  if (error == Error::kOk) return "sound";
  EXPECT_EQ(error, Error::kInvalidProgram);
  return std::string(report.place) + ": " + report.message;
}

/// The rest of `text` after "methods[0].", without what is said about inference.
inline std::string gist(const std::string& text) {
  const size_t note = text.find(" (views");
  const std::string all = note == std::string::npos ? text : text.substr(0, note);
  return all.rfind("methods[0].", 0) == 0 ? all.substr(11) : all;
}

}  // namespace berth::format
