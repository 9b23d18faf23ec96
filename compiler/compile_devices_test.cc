// From IR text and options about devices to the bytes of a program: what the file says of devices.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "compiler/compile.h"
#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/pipeline.h"
#include "format/nested.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/write/write_program.h"

namespace berth {
namespace {

constexpr const char* kAdd = R"(
  method forward(%x: f32[2,2], %y: f32[2,2]) {
    %z: f32[2,2] = aten::add.Tensor(%x, %y, 1) "Add_0"
    return %z
  })";

ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(*module) : ir::Module();
}

/// A compiled program with what tests ask of it.
struct CompiledProgram {
  CompiledProgram(const std::string& text, const CompileOptions& options) {
    auto made = compile(parsed(text), options, &report);
    EXPECT_TRUE(made.ok()) << made.error().text();
    if (!made.ok()) return;
    bytes = std::move(*made);
    EXPECT_EQ(format::ProgramView::open(bytes, &view, nullptr), Error::kOk);
    EXPECT_EQ(format::verify_program(view, nullptr), Error::kOk);
  }

  const fb::ExecutionPlan& plan() const { return view.method(0); }

  int calls(const std::string& name) const {
    int calls = 0;
    for (const auto* instruction : *plan().chains()->Get(0)->instructions()) {
      const auto* call = instruction->instr_args_as_KernelCall();
      if (call == nullptr) continue;
      calls += format::text(plan().operators()->Get(static_cast<uint32_t>(call->op_index()))->name()) == name ? 1 : 0;
    }
    return calls;
  }

  const fb::Tensor& input(int i) const {
    return *format::tensor_at(plan(), plan().inputs()->Get(static_cast<uint32_t>(i)));
  }
  const fb::Tensor& output(int i) const {
    return *format::tensor_at(plan(), plan().outputs()->Get(static_cast<uint32_t>(i)));
  }

  std::vector<uint8_t> bytes;
  format::ProgramView view;
  CompileReport report;
};

CompileOptions target(const std::string& name) {
  CompileOptions options;
  options.target = name;
  return options;
}

const Device kCuda0(DeviceType::kCuda, 0);

TEST(CompileDevices, AnAddOnADeviceIsADelegateBetweenCopies) {
  const CompiledProgram add(kAdd, target("cuda:0"));
  // Holds row 97, row 103.
  ASSERT_EQ(format::length(add.plan().delegates()), 1u);
  EXPECT_STREQ(format::text(add.plan().delegates()->Get(0)->id()), "berth.cuda");
  EXPECT_EQ(add.calls("et_copy::_h2d_copy"), 2);
  EXPECT_EQ(add.calls("et_copy::_d2h_copy"), 1);
  EXPECT_EQ(add.calls("aten::add"), 0);
  // Holds row 252.
  int there = 0;
  int here = 0;
  for (uint32_t i = 0; i < add.plan().values()->size(); ++i) {
    const fb::Tensor* tensor = format::tensor_at(add.plan(), i);
    if (tensor == nullptr || !format::is_planned(*tensor)) continue;
    const Device device = format::tensor_device(*tensor);
    EXPECT_EQ(device, format::arena_device(add.plan(), tensor->allocation_info()->memory_id()));
    (device == kCuda0 ? there : here) += 1;
  }
  EXPECT_EQ(there, 3);
  EXPECT_EQ(here, 3);
}

TEST(CompileDevices, TheReportCountsCopiesAndDelegates) {
  const CompiledProgram add(kAdd, target("cuda:0"));
  ASSERT_EQ(add.report.copies.size(), 2u);
  int64_t bytes = 0;
  for (const CopyReport& copy : add.report.copies) {
    EXPECT_EQ(copy.count, copy.to == kCuda0 ? 2 : 1);
    bytes += copy.bytes;
  }
  EXPECT_EQ(bytes, 3 * 16);
  ASSERT_EQ(add.report.delegates.size(), 1u);
  EXPECT_EQ(add.report.delegates[0].device, kCuda0);
  EXPECT_EQ(add.report.delegates[0].nodes, 1);
}

TEST(CompileDevices, DeviceIoTakesInputsAndOutputsOutOfThePlan) {
  CompileOptions options = target("cuda:0");
  options.device_io = {"x=cuda:0", "y=cuda:0"};
  const CompiledProgram inputs(kAdd, options);
  EXPECT_EQ(inputs.calls("et_copy::_h2d_copy"), 0);
  EXPECT_EQ(inputs.calls("et_copy::_d2h_copy"), 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(format::tensor_device(inputs.input(i)), kCuda0);
    // Holds row 115. A caller's own memory, in one option.
    EXPECT_FALSE(format::is_planned(inputs.input(i)));
  }
  EXPECT_TRUE(format::is_planned(inputs.output(0)));
  options.device_io.push_back("z=cuda:0");
  const CompiledProgram all(kAdd, options);
  EXPECT_EQ(all.calls("et_copy::_h2d_copy") + all.calls("et_copy::_d2h_copy"), 0);
  EXPECT_EQ(format::tensor_device(all.output(0)), kCuda0);
  EXPECT_FALSE(format::is_planned(all.output(0)));
}

TEST(CompileDevices, AHostModelHasTheSameBytesWithAndWithoutTheDevicePasses) {
  const char* text = R"(
    const @w: f32[4,4] = splat<0.25>
    method forward(%x: f32[4,4]) {
      %w: f32[4,4] = const @w
      %a: f32[4,4] = aten::mm(%x, %w)
      %b: f32[4,4] = aten::relu(%a)
      %c: f32[4,4] = aten::add.Tensor(%b, %x, 1)
      return %c
    })";
  ir::Module module = parsed(text);
  ASSERT_TRUE(passes::run(passes::pipeline(), module, {}).ok());
  const auto emitted = emit::testing::plan_and_emit(module);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  const auto without = format::program_bytes(emitted->program);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(CompiledProgram(text, target("portable")).bytes, *without);
}

std::string error_of(const std::string& text, const CompileOptions& options) {
  const auto made = compile(parsed(text), options);
  return made.ok() ? "" : made.error().text();
}

TEST(CompileDevices, ImpossibleOptionsAreRefused) {
  EXPECT_EQ(error_of(kAdd, target("tpu:0")).rfind("target \"tpu:0\": expected one of portable, cpu, ", 0), 0u);
  CompileOptions options = target("sim:0");
  options.place = {"Mul_*=sim:0"};
  EXPECT_EQ(error_of(kAdd, options),
            "place \"Mul_*\": is like no node: neither the source of any nor the name of a result; berth inspect MODEL "
            "--values lists them");
  options.place = {"Add_0"};
  EXPECT_EQ(error_of(kAdd, options), "place \"Add_0\": expected GLOB=DEVICE, such as layer[5-9]*=cuda:1");
  options.place = {"Add_0=sim:1"};
  EXPECT_NE(error_of(kAdd, options).find("is to run on sim:1, which is none of the targets sim:0"), std::string::npos);
  options.place = {"Add_0=sim:0"};
  EXPECT_EQ(error_of(kAdd, options), "");
  options.device_io = {"w=sim:0"};
  EXPECT_EQ(error_of(kAdd, options), "device-io \"w\": is not a tensor among inputs and outputs; there are: x, y, z");
}

TEST(CompileDevices, ElementTypesThatNoTargetHasAreRefused) {
  CompileOptions options = target("sim:0");
  options.activations = "int8";
  EXPECT_EQ(
      error_of(kAdd, options),
      "activations 'int8': only the target cpu rounds them so, but not with packing for \"generic\"; the targets are "
      "sim:0");
  options.target = "sim:0,cpu";
  EXPECT_EQ(error_of(kAdd, options), "");
  options.cpu = "generic";
  EXPECT_NE(error_of(kAdd, options), "");
  options.activations = "int4";
  EXPECT_EQ(error_of(kAdd, options), "activations 'int4': expected float or int8");
  options = target("sim:0");
  options.precision = "bf16";
  EXPECT_EQ(error_of(kAdd, options),
            "precision 'bf16': only the targets cpu and vulkan keep weights so, and the targets are sim:0");
}

TEST(CompileDevices, TextWithAValueOnTheWrongDeviceIsRefused) {
  // Nothing but propagation would put the relu's result on the cpu; its own word is not taken.
  const char* text = R"(
    method forward(%x: f32[2]@sim:0) {
      %y: f32[2]@sim:0 = aten::relu(%x)
      return %y
    })";
  const CompiledProgram compiled(text, target("portable"));
  EXPECT_EQ(compiled.calls("et_copy::_d2h_copy"), 1);
  EXPECT_EQ(compiled.calls("et_copy::_h2d_copy"), 1);
  EXPECT_EQ(format::tensor_device(compiled.output(0)), Device(DeviceType::kSim, 0));
}

/// Each branch is a delegate, and both write the one result: the plan check once took the second to read it.
TEST(CompileDevices, HostBranchesAreDelegatesThatWriteTheSameResult) {
  const CompiledProgram branches(R"(
    method forward(%x: f32[4], %y: f32[4]) {
      %s: f32[] = aten::sum.dim_IntList(%x, [], false, none)
      %c: bool[] = aten::gt.Scalar(%s, 0)
      %z: f32[4] = berth::if(%c) {
        ()
        %a: f32[4] = aten::add.Tensor(%x, %y, 1)
        yield %a
      } {
        ()
        %m: f32[4] = aten::mul.Tensor(%x, %y)
        yield %m
      }
      return %z
    })",
                                 target("cpu"));
  EXPECT_EQ(format::length(branches.plan().delegates()), 3u);
}

// A scan's stack goes into the delegate that turns it to another axis.
TEST(CompileDevices, AScanOverAnyAxisGoesIntoDelegates) {
  const CompiledProgram scan(R"(
    method forward(%h: f32[4], %x: f32[5,4]) {
      %last: f32[4], %all: f32[5,4] = berth::scan(5, [%h], [%x]) { (%c: f32[4], %s: f32[4])
        %a: f32[4] = aten::add.Tensor(%c, %s)
        yield %a, %s
      }
      %turned: f32[4,5] = aten::permute_copy(%all, [1, 0])
      return %last, %turned
    })",
                             target("cpu"));
  EXPECT_EQ(format::length(scan.plan().delegates()), 2u);
}

TEST(CompileDevices, AnInPlaceSetWithoutEffectIsRefused) {
  CompileOptions options = target("portable");
  options.in_place_operators = {"aten::add.Tensor"};
  EXPECT_EQ(error_of(kAdd, options), "");
  options.planner = Planner::kNaive;
  EXPECT_NE(error_of(kAdd, options).find("in-place operators (--inplace): would have no effect"), std::string::npos);
  options.planner = Planner::kBest;
  options.in_place = false;
  EXPECT_NE(error_of(kAdd, options).find("in-place operators (--inplace): would have no effect"), std::string::npos);
}

TEST(CompileDevices, NeverOverwritesAFileTheModuleWasReadFrom) {
  const std::string path = ::testing::TempDir() + "/berth_compile_kept";
  std::ofstream(path) << "weights";
  ir::Module module = parsed(kAdd);
  module.files = {path};
  const Status done = compile_to_file(std::move(module), target("portable"), path);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Error::kInvalidArgument);
  std::string kept;
  std::ifstream(path) >> kept;
  EXPECT_EQ(kept, "weights");
  std::remove(path.c_str());
}

// A value goes from the first GPU to the second; each has a delegate of another maker.
constexpr const char* kTwoGpus = R"(
  delegate @a "CudaBackend" {target_device = "cuda:0"} = hex"0102"
  delegate @b "CudaBackend" {target_device = "cuda:1"} = hex"0304"
  method forward(%x: f32[4]) {
    %y: f32[4] = berth::delegate([%x]) @a
    %z: f32[4] = berth::delegate([%y]) @b
    return %z
  })";

TEST(CompileDevices, PortableCopiesBetweenDevicesThroughTheHost) {
  const CompiledProgram portable(kTwoGpus, target("portable"));
  EXPECT_EQ(portable.calls("berth::_d2d_copy"), 0);
  EXPECT_EQ(portable.calls("et_copy::_h2d_copy"), 2);
  EXPECT_EQ(portable.calls("et_copy::_d2h_copy"), 2);
  const CompiledProgram direct(kTwoGpus, target("portable,cuda:0"));
  EXPECT_EQ(direct.calls("berth::_d2d_copy"), 1);
  EXPECT_EQ(direct.calls("et_copy::_h2d_copy"), 1);
}

TEST(CompileDevices, PortableSendsAModelsOwnCopyThroughTheHostToo) {
  const CompiledProgram portable(R"(
    delegate @a "CudaBackend" {target_device = "cuda:0"} = hex"0102"
    delegate @b "CudaBackend" {target_device = "cuda:1"} = hex"0304"
    method forward(%x: f32[4]@cuda:0) {
      %y: f32[4]@cuda:0 = berth::delegate([%x]) @a
      %d: f32[4]@cuda:1 = berth::_d2d_copy(%y)
      %z: f32[4]@cuda:1 = berth::delegate([%d]) @b
      return %z
    })",
                                 target("portable"));
  EXPECT_EQ(portable.calls("berth::_d2d_copy"), 0);
  EXPECT_EQ(portable.calls("et_copy::_h2d_copy"), 1);
  EXPECT_EQ(portable.calls("et_copy::_d2h_copy"), 1);
}

TEST(CompileDevices, PortableRefusesCopiesWithinADevice) {
  const std::string text = R"(
    delegate @a "CudaBackend" {target_device = "cuda:0"} = hex"0102"
    method forward(%x: f32[4]@cuda:0) {
      %y: f32[4]@cuda:0 = berth::delegate([%x]) @a
      return %y, %y
    })";
  const auto refused = compile(parsed(text), target("portable"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Error::kNotSupported);
  EXPECT_NE(refused.error().text().find("ExecuTorch's library has no such operator"), std::string::npos);
  EXPECT_EQ(CompiledProgram(text, target("portable,cpu")).calls("berth::_d2d_copy"), 1);
}

}  // namespace
}  // namespace berth
