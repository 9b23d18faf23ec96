#include "runtime/host/module.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/count_allocations_testing.h"
#include "runtime/device_programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::add_relu;
using format::testing::bytes_of;
using format::testing::tensor;
using testing::kernels;

using Floats = std::vector<float>;

class ProgramFile {
 public:
  explicit ProgramFile(const ProgramDesc& program)
      : path_(std::string(::testing::TempDir()) + "berth_module_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pte") {
    const std::vector<uint8_t> bytes = bytes_of(program);
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~ProgramFile() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

Floats floats_of(const OwnedTensor& tensor) {
  const float* data = tensor.tensor().data<float>();
  return Floats(data, data + tensor.tensor().numel());
}

constexpr int32_t kFour[] = {4};
constexpr float kX[] = {0, 0, 4, 0};

TEST(Module, RunsAProgramByItsPath) {
  const ProgramFile file(add_relu());
  Result<Module> loaded = Module::load(file.path(), kernels());
  ASSERT_TRUE(loaded.ok());
  Module module = std::move(*loaded);
  EXPECT_FALSE(module.is_loaded("forward"));
  const auto out = module.forward({{kX, kFour}});
  ASSERT_TRUE(out.ok()) << module.last_report().message;
  EXPECT_TRUE(module.is_loaded("forward"));
  ASSERT_EQ(out->size(), 1u);
  EXPECT_EQ(floats_of((*out)[0]), (Floats{0, 2, 1, 4}));
  const Module moved = std::move(module);
  EXPECT_STREQ(moved.program().method_name(0), "forward");
}

TEST(Module, OutputsKeepTheirElementsBeyondTheNextRunAndTheModule) {
  const ProgramFile file(add_relu());
  std::vector<OwnedTensor> first;
  {
    Result<Module> module = Module::load(file.path(), kernels());
    first = std::move(module->forward({{kX, kFour}})).value();
    const float other[] = {9, 9, 9, 9};
    EXPECT_EQ(floats_of(module->forward({{other, kFour}}).value()[0]), (Floats{8, 11, 6, 13}));
  }
  EXPECT_EQ(floats_of(first[0]), (Floats{0, 2, 1, 4}));
}

TEST(Module, AnOutputMayBeTheNextInput) {
  const ProgramFile file(add_relu());
  Result<Module> module = Module::load(file.path(), kernels());
  std::vector<OwnedTensor> out = std::move(module->forward({{kX, kFour}})).value();
  const TensorInput again[] = {out[0]};
  ASSERT_EQ(module->run("forward", again, &out), Error::kOk);
  EXPECT_EQ(floats_of(out[0]), (Floats{0, 4, 0, 8}));
}

using ModuleHeapTest = testing::NoHeap;

TEST_F(ModuleHeapTest, TheSecondRunTakesNothing) {
  ProgramDesc desc = add_relu();
  for (size_t value : {0, 3, 4}) std::get<TensorDesc>(desc.methods[0].values[value]).bounded = true;
  const ProgramFile file(desc);
  Result<Module> module = Module::load(file.path(), kernels());
  std::vector<OwnedTensor> out;
  const TensorInput x[] = {{kX, kFour}};
  ASSERT_EQ(module->run("forward", x, &out), Error::kOk);
  const size_t before = testing::allocations;
  Error error = Error::kOk;
  for (int i = 0; i < 3 && error == Error::kOk; ++i) error = module->run("forward", x, &out);
  const size_t after = testing::allocations;
  EXPECT_EQ(error, Error::kOk);
  EXPECT_EQ(after, before);
}

// y = relu(x), of at most 4 x 3.
ProgramDesc bounded_relu() {
  ProgramDesc desc;
  MethodDesc method;
  method.name = "forward";
  TensorDesc x = tensor({4, 3}, 0);
  TensorDesc y = tensor({4, 3}, 48);
  x.bounded = y.bounded = true;
  method.values = {x, y};
  method.inputs = {0};
  method.outputs = {1};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{96, Device()}};
  desc.methods = {method};
  return desc;
}

TEST(Module, OutputsHaveTheSizesOfEachRun) {
  const ProgramFile file(bounded_relu());
  Result<Module> module = Module::load(file.path(), kernels());
  const float x[] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
  std::vector<OwnedTensor> out;
  const void* address = nullptr;
  for (const int32_t rows : {2, 4, 0, 1}) {
    const int32_t sizes[] = {rows, 3};
    const TensorInput input[] = {{x, sizes}};
    ASSERT_EQ(module->run("forward", input, &out), Error::kOk) << module->last_report().message;
    EXPECT_EQ(out[0].tensor().size(0), rows);
    Floats expected(x, x + 3 * rows);
    for (float& value : expected) value = value > 0 ? value : 0;
    EXPECT_EQ(floats_of(out[0]), expected);
    if (address == nullptr) address = out[0].tensor().raw();
    EXPECT_EQ(out[0].tensor().raw(), address) << "the memory is used again";
  }
}

TEST(Module, TensorsOfAnotherTypeOrRankAreReplaced) {
  const ProgramFile file(add_relu());
  Result<Module> module = Module::load(file.path(), kernels());
  const int32_t row[] = {1, 4};
  std::vector<OwnedTensor> out;
  out.push_back(OwnedTensor::make(DType::kI32, kFour).value());
  out.push_back(OwnedTensor::make(DType::kF32, row).value());
  const TensorInput x[] = {{kX, kFour}};
  ASSERT_EQ(module->run("forward", x, &out), Error::kOk);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].tensor().dtype(), DType::kF32);
  EXPECT_EQ(floats_of(out[0]), (Floats{0, 2, 1, 4}));
}

TEST(Module, DimensionOrdersAreThoseOfTheCallerAndTheProgram) {
  ProgramDesc desc = bounded_relu();
  for (size_t value : {0, 1}) std::get<TensorDesc>(desc.methods[0].values[value]).dim_order = {1, 0};
  const ProgramFile file(desc);
  Result<Module> module = Module::load(file.path(), kernels());
  const float x[] = {1, 2, 3, 4, 5, 6};
  const int32_t sizes[] = {2, 3};
  Result<HostMethod*> method = module->load_method("forward");
  ASSERT_TRUE(method.ok());
  const auto out = module->forward({{x, sizes}});
  ASSERT_TRUE(out.ok()) << module->last_report().message;
  // In the program the columns come first; the caller sees rows.
  const float* inside = (*method)->method().get_output(0).tensor().data<float>();
  EXPECT_EQ(Floats(inside, inside + 6), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(floats_of((*out)[0]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE((*out)[0].tensor().is_contiguous());
  const uint8_t columns[] = {1, 0};
  OwnedTensor same = OwnedTensor::make(DType::kF32, sizes, Device(), columns).value();
  std::memcpy(same.tensor().raw(), inside, sizeof x);
  EXPECT_EQ(floats_of(module->forward({same}).value()[0]), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Module, WhatIsWrongIsSaidWithItsPlace) {
  Report report;
  ModuleOptions options;
  options.report = &report;
  EXPECT_EQ(Module::load("/nonexistent/model.pte", kernels(), options).error(), Error::kNotFound);
  EXPECT_NE(std::string(report.place).find("/nonexistent/model.pte"), std::string::npos);

  const ProgramFile file(add_relu());
  Result<Module> module = Module::load(file.path(), kernels());
  const auto said = [&] { return std::string(module->last_report().place) + ": " + module->last_report().message; };
  EXPECT_EQ(module->execute("backward", {}).error(), Error::kInvalidArgument);
  EXPECT_EQ(said(), "backward: the program has no such method");
  EXPECT_EQ(module->unload_method("backward"), Error::kInvalidArgument);
  EXPECT_EQ(module->forward({}).error(), Error::kInvalidArgument);
  EXPECT_EQ(said(), "methods[forward].inputs[0]: the method takes more tensors than were given");
  EXPECT_EQ(module->forward({{kX, kFour}, {kX, kFour}}).error(), Error::kInvalidArgument);
  EXPECT_EQ(said(), "methods[forward].inputs[1]: more tensors were given than the method takes");
  EXPECT_EQ(module->forward({{kX, kFour, DType::kI32}}).error(), Error::kInvalidArgument);
  EXPECT_NE(said().find("the element type is f32, found i32"), std::string::npos) << said();
  const int32_t many[] = {1 << 30, 1 << 30, 1 << 30};
  EXPECT_EQ(module->forward({{kX, many}}).error(), Error::kInvalidArgument);
  const int32_t negative[] = {-4};
  EXPECT_EQ(module->forward({{kX, negative}}).error(), Error::kInvalidArgument);
  EXPECT_EQ(module->forward({{static_cast<const float*>(nullptr), kFour}}).error(), Error::kInvalidArgument);
  EXPECT_NE(said().find("null"), std::string::npos) << said();
  EXPECT_EQ(module->forward({{kX, kFour, DType::kF32, Device(DeviceType::kCuda, 0)}}).error(), Error::kNotSupported);
  EXPECT_TRUE(module->forward({{kX, kFour}}).ok());
}

TEST(Module, AFileThatIsDamagedIsAnError) {
  const ProgramFile file(add_relu());
  std::vector<uint8_t> bytes = bytes_of(add_relu());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    std::ofstream(file.path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
    EXPECT_FALSE(Module::load(file.path(), kernels()).ok()) << size;
  }
}

TEST(Module, NumbersAreTensorsWithoutDimensions) {
  ProgramDesc desc = add_relu();
  MethodDesc& method = desc.methods[0];
  method.values.insert(method.values.end(), {int64_t{7}, 0.5, true, std::string("text")});
  method.outputs = {5, 6, 7, 4};
  const ProgramFile file(desc);
  Result<Module> module = Module::load(file.path(), kernels());
  const auto out = module->forward({{kX, kFour}});
  ASSERT_TRUE(out.ok()) << module->last_report().message;
  ASSERT_EQ(out->size(), 4u);
  EXPECT_EQ((*out)[0].tensor().rank(), 0);
  EXPECT_EQ(*(*out)[0].tensor().data<int64_t>(), 7);
  EXPECT_EQ(*(*out)[1].tensor().data<double>(), 0.5);
  EXPECT_EQ(*(*out)[2].tensor().data<bool>(), true);

  method.outputs = {4, 8};
  const ProgramFile with_text(desc);
  Result<Module> other = Module::load(with_text.path(), kernels());
  EXPECT_EQ(other->forward({{kX, kFour}}).error(), Error::kNotSupported);
  EXPECT_STREQ(other->last_report().place, "methods[forward].outputs[1]");
}

TEST(Module, NumbersAmongTheInputsAreNotAskedFor) {
  ProgramDesc desc = add_relu();
  desc.methods[0].inputs = {2, 0};
  const ProgramFile file(desc);
  Result<Module> module = Module::load(file.path(), kernels());
  EXPECT_EQ(floats_of(module->forward({{kX, kFour}}).value()[0]), (Floats{0, 2, 1, 4}));
}

TEST(Module, TensorsAreCopiedToAndFromADevice) {
  const ProgramFile file(testing::device_io_add());
  testing::OnDevices on(testing::device_io_add());
  ModuleOptions options;
  options.registry = &on.registry;
  options.backends = on.backends;
  {
    Result<Module> module = Module::load(file.path(), testing::copy_kernels(), options);
    ASSERT_TRUE(module.ok());
    const int32_t sizes[] = {2, 2};
    const float a[] = {1, 2, 3, 4};
    const float b[] = {10, 20, 30, 40};
    for (int turn = 0; turn < 2; ++turn) {
      const auto out = module->forward({{a, sizes}, {b, sizes}});
      ASSERT_TRUE(out.ok()) << module->last_report().message;
      EXPECT_EQ(floats_of((*out)[0]), (Floats{11, 22, 33, 44}));
      EXPECT_TRUE((*out)[0].tensor().device().is_cpu());
    }
    const auto there = tensor_from(a, DType::kF32, sizes, Device(DeviceType::kCuda, 0), on.registry);
    EXPECT_EQ(floats_of(module->forward({*there, *there}).value()[0]), (Floats{2, 4, 6, 8}));
    on.cuda.fail_copy = on.cuda.copies() + 1;
    EXPECT_EQ(module->forward({{a, sizes}, {b, sizes}}).error(), Error::kInternal);
    EXPECT_STREQ(module->last_report().place, "methods[forward].inputs[0]");
  }
  EXPECT_EQ(on.cuda.live(), 0u);
}

TEST(Module, ConstantsAreFoundInTheFileBesideTheProgram) {
  const std::string corpus = std::string(BERTH_SOURCE_DIR) + "/tests/fuzz/corpus/";
  const std::string program = corpus + "pte_import_fuzz/outside.pte";
  const std::string data = corpus + "data_file_fuzz/tensor";
  Report report;
  ModuleOptions options;
  options.report = &report;
  EXPECT_EQ(Module::load(program.c_str(), kernels(), options).error(), Error::kNotFound);
  EXPECT_NE(std::string(report.place).find("outside.ptd"), std::string::npos) << report.place;
  options.data_files = {data};
  Result<Module> given = Module::load(program.c_str(), kernels(), options);
  ASSERT_TRUE(given.ok()) << report.place << report.message;
  const int32_t sizes[] = {2, 2};
  const auto expected = given->forward({{kX, sizes}});
  ASSERT_TRUE(expected.ok()) << given->last_report().message;

  const std::string folder = std::string(::testing::TempDir()) + "berth_module.beside";
  std::ofstream(folder + ".pte", std::ios::binary) << std::ifstream(program, std::ios::binary).rdbuf();
  std::ofstream(folder + ".ptd", std::ios::binary) << std::ifstream(data, std::ios::binary).rdbuf();
  options.data_files = {};
  Result<Module> beside = Module::load((folder + ".pte").c_str(), kernels(), options);
  ASSERT_TRUE(beside.ok()) << report.place << report.message;
  EXPECT_EQ(floats_of(beside->forward({{kX, sizes}}).value()[0]), floats_of((*expected)[0]));
  options.data_files = {program};
  EXPECT_EQ(Module::load(program.c_str(), kernels(), options).error(), Error::kInvalidExternalData);
  std::remove((folder + ".pte").c_str());
  std::remove((folder + ".ptd").c_str());
}

// "keep": state = x; "give": y = relu(state).
ProgramDesc two_methods() {
  ProgramDesc desc;
  TensorDesc state = tensor({4}, 0);
  state.name = "kept";
  state.data_buffer_idx = 1;
  MethodDesc keep;
  keep.name = "keep";
  keep.values = {state, tensor({4}, 16), false};
  keep.inputs = {1};
  keep.outputs = {0};
  keep.operators = {{"aten::copy_", ""}};
  keep.instructions = {KernelCallDesc{0, {0, 1, 2, 0}}};
  keep.arenas = {{48, Device()}};
  MethodDesc give = keep;
  give.name = "give";
  give.values = {state, tensor({4}, 32)};
  give.inputs = {};
  give.outputs = {1};
  give.operators = {{"aten::relu", "out"}};
  give.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  desc.methods = {keep, give};
  desc.initial_values = {format::Bytes::of(std::vector<uint8_t>(16))};
  return desc;
}

TEST(Module, MethodsShareStateOnlyWithSharedArenas) {
  const ProgramFile file(two_methods());
  const float x[] = {1, 2, 3, 4};
  for (const bool share : {false, true}) {
    ModuleOptions options;
    options.share_arenas = share;
    Report report;
    options.report = &report;
    Result<Module> module = Module::load(file.path(), kernels(), options);
    ASSERT_TRUE(module.ok()) << report.place << ": " << report.message;
    const TensorInput input[] = {{x, kFour}};
    ASSERT_TRUE(module->execute("keep", input).ok()) << module->last_report().message;
    EXPECT_EQ(module->is_loaded("give"), share);
    const auto given = module->execute("give", {});
    ASSERT_TRUE(given.ok()) << module->last_report().message;
    EXPECT_EQ(floats_of((*given)[0]), share ? (Floats{1, 2, 3, 4}) : (Floats{0, 0, 0, 0}));
    EXPECT_EQ(module->unload_method("keep"), share ? Error::kInvalidState : Error::kOk);
    EXPECT_EQ(module->is_loaded("keep"), share);
  }
}

}  // namespace
}  // namespace berth
