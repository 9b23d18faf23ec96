// Every rule between a program and its delegates, broken once.
#include "compiler/check_delegates.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/check_program.h"
#include "compiler/emit/emit_testing.h"
#include "format/nested.h"

namespace berth {
namespace {

using format::DelegateCallDesc;
using format::KernelCallDesc;
using format::ProgramDesc;
using format::TensorDesc;

/// The program of kDelegatedAddRelu. Values: 0 x, 1 its copy on sim:0, 2 the delegate's output there, 3 the scratch, 4
/// y. In the nested program: 0 input, 1 intermediate, 2 constant, 3 alpha, 4 output.
ProgramDesc program() {
  auto emitted = emit::testing::plan_and_emit(emit::testing::module_of(emit::testing::kDelegatedAddRelu),
                                              emit::testing::with_own_scratch());
  EXPECT_TRUE(emitted.ok()) << emitted.error().text();
  return std::move(emitted->program);
}

/// The same nested program, described anew so that a test can bend it.
ProgramDesc nested(const std::string& key) {
  const auto tensor = [](bool planned) {
    TensorDesc t;
    t.sizes = {4};
    t.dim_order = {0};
    if (planned) t.planned = format::ArenaOffset{1, 0};
    return t;
  };
  TensorDesc weight = tensor(false);
  weight.external = true;
  weight.name = key;
  format::MethodDesc method;
  method.name = format::kNestedMethodName;
  method.values = {tensor(false), tensor(true), weight, int64_t{1}, tensor(false)};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"aten::add", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 2, 3, 1, 1}}, KernelCallDesc{1, {1, 4, 4}}};
  method.arenas = {{16, Device()}};
  ProgramDesc program;
  program.methods = {method};
  return program;
}

format::Bytes payload_of(const ProgramDesc& nested, uint32_t version = format::kNestedVersion) {
  const auto file = format::program_bytes(nested);
  const format::NestedHeader header = format::make_nested_header(file->size(), version);
  std::vector<uint8_t> bytes(header.bytes, header.bytes + format::kNestedHeaderSize);
  bytes.insert(bytes.end(), file->begin(), file->end());
  return format::Bytes::of(std::move(bytes));
}

/// What check_delegates() says of a file that every reader of the format accepts.
std::string verdict(const ProgramDesc& program) {
  const auto file = format::program_bytes(program);
  format::ProgramView view;
  format::Report report;
  if (format::ProgramView::open(*file, &view, &report) != Error::kOk ||
      format::verify_program(view, &report) != Error::kOk) {
    return std::string("refused by every reader: ") + report.place + ": " + report.message;
  }
  const Status status = check_delegates(view);
  return status.ok() ? "sound" : status.error().text();
}

std::string bent(const std::function<void(ProgramDesc&)>& bend) {
  ProgramDesc p = program();
  bend(p);
  return verdict(p);
}

std::string bent_nested(const std::function<void(ProgramDesc&)>& bend) {
  ProgramDesc p = program();
  ProgramDesc inner = nested(p.named_data[0].key);
  bend(inner);
  p.payloads[0] = payload_of(inner);
  return verdict(p);
}

TensorDesc& tensor_of(ProgramDesc& p, size_t value) { return std::get<TensorDesc>(p.methods[0].values[value]); }

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CheckDelegates, SoundProgramsPassAsMadeAndRebuilt) {
  EXPECT_EQ(bent([](ProgramDesc&) {}), "sound");
  EXPECT_EQ(bent_nested([](ProgramDesc&) {}), "sound");
  const auto file = format::program_bytes(program());
  EXPECT_TRUE(check_program(*file).ok());
}

#define EXPECT_SAYS(verdict, part) EXPECT_TRUE(says(verdict, part)) << (verdict)

TEST(CheckDelegates, HostKernelsNeverSeeADevice) {
  EXPECT_SAYS(bent([](ProgramDesc& p) {
                p.methods[0].operators[0] = {"aten::relu", "out"};
              }),
              "methods[0].instructions[0]: aten::relu is given a tensor on sim:0");
  EXPECT_SAYS(bent([](ProgramDesc& p) { p.methods[0].operators[0].name = "et_copy::_d2h_copy"; }),
              "methods[0].instructions[0]: et_copy::_d2h_copy goes from cpu to sim:0");
  EXPECT_SAYS(bent([](ProgramDesc& p) { p.methods[0].operators[1].name = "berth::_d2d_copy"; }),
              "methods[0].instructions[2]: berth::_d2d_copy goes from sim:0 to cpu");
}

TEST(CheckDelegates, ADelegatesTensorsAreOnItsDevice) {
  EXPECT_SAYS(bent([](ProgramDesc& p) {
                p.methods[0].delegates[0].compile_specs[0].value = {'s', 'i', 'm', ':', '1'};
              }),
              "methods[0].instructions[1]: the delegate is on sim:1 and is given a tensor on sim:0");
  EXPECT_SAYS(bent([](ProgramDesc& p) { p.methods[0].delegates[0].compile_specs[0].value = {'x'}; }),
              "target_device \"x\" is not a device");
}

TEST(CheckDelegates, CallAndNestedProgramAgreeInNumberTypeAndScratch) {
  EXPECT_SAYS(bent([](ProgramDesc& p) {
                std::get<DelegateCallDesc>(p.methods[0].instructions[1]).args = {1, 2};
              }),
              "the call has 2 arguments, the nested program wants 3");
  EXPECT_SAYS(bent([](ProgramDesc& p) { tensor_of(p, 3).sizes = {15}; }),
              "wants 16 bytes of scratch, the call gives 15");
  EXPECT_SAYS(bent([](ProgramDesc& p) { tensor_of(p, 3).dtype = DType::kI8; }), "bytes of scratch");
  EXPECT_SAYS(bent([](ProgramDesc& p) { p.methods[0].outputs.push_back(3); }), "is an output of the method");
  EXPECT_SAYS(bent([](ProgramDesc& p) {
                tensor_of(p, 2).sizes = {2, 2}, tensor_of(p, 2).dim_order = {0, 1};
              }),
              "argument 1 has another type in the nested program");
  EXPECT_SAYS(bent([](ProgramDesc& p) { tensor_of(p, 1).dtype = DType::kI32; }), "argument 0 has another type");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { p.methods[0].outputs = {0}; }), "value 0 is an input or output already");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { p.methods[0].inputs = {1}; }),
              "inputs[0]: value 1 is not a tensor in the call's memory");
}

// What a scan stacks is dynamic in the file, and of one size when the loop is done.
TEST(CheckDelegates, SizesDynamicOnOneSideAreLeftToTheCall) {
  EXPECT_EQ(bent([](ProgramDesc& p) { tensor_of(p, 1).bounded = true; }), "sound");
  EXPECT_EQ(bent_nested([](ProgramDesc& p) { std::get<TensorDesc>(p.methods[0].values[0]).bounded = true; }), "sound");
}

TEST(CheckDelegates, ANestedProgramIsBoundToOneDeviceAndItsFile) {
  EXPECT_SAYS(bent([](ProgramDesc& p) { p.payloads[0] = format::Bytes::of({1, 2, 3}); }), "is not a nested program");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { p.methods[0].name = "forward"; }),
              "one method \"delegate\" is expected");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { tensor_of(p, 1).planned->offset = 4; }),
              "nested program: methods[0].values[1]: 16 bytes at offset 4 do not fit into arena 1 of 16 bytes");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) {
                p.methods[0].arenas.push_back({16, Device()});
              }),
              "arenas[1]: the scratch is the only arena");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) {
                p.methods[0].arenas[0].device = Device(DeviceType::kSim, 0);
                tensor_of(p, 1).device = Device(DeviceType::kSim, 0);
              }),
              "arenas[0]: a nested program must not have devices");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { tensor_of(p, 0).device = Device(DeviceType::kSim, 0); }),
              "values[0]: a nested program must not have devices");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { tensor_of(p, 2).name = "berth.c.0"; }), "are not in the program");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) { tensor_of(p, 2).dtype = DType::kF64; }), "it has 32 bytes, its data");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) {
                p.constants = {format::Bytes::of(std::vector<uint8_t>(16))};
                tensor_of(p, 2) = TensorDesc{};
                tensor_of(p, 2).sizes = {4};
                tensor_of(p, 2).dim_order = {0};
                tensor_of(p, 2).data_buffer_idx = 1;
              }),
              "a constant must be named data of the outer program");
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) {
                p.payloads = {format::Bytes::of({1})};
                p.methods[0].delegates = {{"berth.sim", 0, {}}};
              }),
              "a delegate must not contain delegates");
}

// The intermediate and the output lie in arena 2, which is the output's bytes.
std::string bent_with_output_scratch(const std::function<void(ProgramDesc&)>& bend) {
  ProgramDesc p = program();
  ProgramDesc inner = nested(p.named_data[0].key);
  for (const size_t value : {size_t{1}, size_t{4}}) tensor_of(inner, value).planned = format::ArenaOffset{2, 0};
  inner.methods[0].arenas.push_back({16, Device()});
  bend(inner);
  p.payloads[0] = payload_of(inner, format::kNestedOutputScratchVersion);
  return verdict(p);
}

TEST(CheckDelegates, OutputScratchIsItsArenaAndNothingElse) {
  EXPECT_EQ(bent_with_output_scratch([](ProgramDesc&) {}), "sound");
  EXPECT_SAYS(bent_with_output_scratch([](ProgramDesc& p) { p.methods[0].arenas[1].bytes = 32; }),
              "outputs[0]: it is planned but does not fill arena 2");
  EXPECT_SAYS(bent_with_output_scratch([](ProgramDesc& p) {
                p.methods[0].arenas[1].bytes = 32;
                tensor_of(p, 4).planned->offset = 16;
              }),
              "outputs[0]: it is planned but does not fill arena 2");
  EXPECT_SAYS(bent_with_output_scratch([](ProgramDesc& p) { tensor_of(p, 4).planned.reset(); }),
              "outputs[0]: it has an arena but is not in it");
  EXPECT_SAYS(bent_with_output_scratch([](ProgramDesc& p) {
                p.methods[0].arenas.push_back({16, Device()});
              }),
              "arenas[2]: there is no output for this arena");
  EXPECT_SAYS(bent_with_output_scratch([](ProgramDesc& p) {
                p.methods[0].instructions.push_back(KernelCallDesc{1, {0, 1, 1}});
              }),
              "it writes value 1 over bytes of value 4");
}

// The plan inside a delegate is held to the rule of every plan: the output is made from bytes that still hold it.
TEST(CheckDelegates, TheNestedPlanIsCheckedToo) {
  EXPECT_SAYS(bent_nested([](ProgramDesc& p) {
                TensorDesc late = tensor_of(p, 1);
                p.methods[0].values.push_back(late);
                p.methods[0].instructions.insert(p.methods[0].instructions.begin() + 1, KernelCallDesc{1, {0, 5, 5}});
              }),
              "nested program: methods[0].instructions[1]: it writes");
}

// What check_payloads() says of the same.
std::string payload_verdict(const ProgramDesc& program) {
  const auto file = format::program_bytes(program);
  format::ProgramView view;
  EXPECT_EQ(format::ProgramView::open(*file, &view, nullptr), Error::kOk);
  const Status status = check_payloads(view);
  return status.ok() ? "sound" : status.error().text();
}

TEST(CheckDelegates, PayloadsAreCheckedWhetherOrNotTheyAreCalled) {
  ProgramDesc p = program();
  EXPECT_EQ(payload_verdict(p), "sound");
  p.methods[0].operators[0] = {"aten::relu", "out"};
  EXPECT_EQ(payload_verdict(p), "sound") << "the rules of kernels are those of Berth's own files";
  tensor_of(p, 3).sizes = {15};
  EXPECT_SAYS(payload_verdict(p), "methods[0].instructions[1]: the nested program wants 16 bytes of scratch");
  p = program();
  p.payloads.push_back(format::Bytes::of({1, 2, 3}));
  p.methods[0].delegates.push_back({"berth.sim", 1, {}});
  EXPECT_EQ(verdict(p), "sound");
  EXPECT_SAYS(payload_verdict(p), "methods[0].delegates[1]: nested program: nested program header");
  p.methods[0].delegates[1].id = "XnnpackBackend";
  EXPECT_EQ(payload_verdict(p), "sound");
}

TEST(CheckDelegates, BerthsOwnFaultsAreReportedAsSuchWithThePlace) {
  ProgramDesc p = program();
  tensor_of(p, 3).sizes = {15};
  const auto file = format::program_bytes(p);
  const Status status = check_program(*file);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Error::kInternal);
  EXPECT_SAYS(status.error().text(), "methods[0].instructions[1]");
}

}  // namespace
}  // namespace berth
