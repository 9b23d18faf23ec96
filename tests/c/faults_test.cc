// What goes wrong through the C API ends in a code and a sentence: allocations that fail, one after another, without a
// byte lost; null pointers, wrong types, sizes and indices; handles closed twice.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>

#include "tests/c/api_testing.h"
#include "tests/c/failing_allocations_testing.h"

namespace berth {
namespace {

using testing::CError;
using testing::compiled;
using testing::fail_each;
using testing::floats;
using testing::kModel;
using testing::sized;
using testing::source_of;

constexpr int32_t kSizes[] = {4};

/// The first error of several calls.
struct First {
  int32_t code = BERTH_OK;
  bool operator()(int32_t next) {
    if (code == BERTH_OK) code = next;
    return code == BERTH_OK;
  }
};

int32_t open_load_and_run(const berth_source& source, const berth_machine* machine, int32_t num_threads,
                          berth_error* error) {
  First first;
  berth_program* program = nullptr;
  berth_method* method = nullptr;
  berth_threads* threads = nullptr;
  auto load = sized<berth_load_options>();
  load.machine = machine;
  float x[4] = {1, 2, 3, 4};
  const berth_array input = floats(x, 4, kSizes, 1);
  if (num_threads > 1) first(berth_threads_create(num_threads, &threads, error));
  auto options = sized<berth_method_options>();
  options.threads = threads;
  if (first.code == BERTH_OK) first(berth_program_open(&source, &load, &program, error));
  if (first.code == BERTH_OK) first(berth_method_load(program, "forward", &options, &method, error));
  if (first.code == BERTH_OK) first(berth_method_bind_input(method, 0, &input, error));
  if (first.code == BERTH_OK) first(berth_method_run(method, error));
  EXPECT_EQ(berth_method_close(method, nullptr), BERTH_OK);
  EXPECT_EQ(berth_program_close(program, nullptr), BERTH_OK);
  EXPECT_EQ(berth_threads_close(threads, nullptr), BERTH_OK);
  return first.code;
}

TEST(CFaults, EveryAllocationOfARunFailsAndNothingIsLost) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  fail_each("bytes", [&](berth_error* error) { return open_load_and_run(source_of(file), nullptr, 1, error); });
  fail_each("threads", [&](berth_error* error) { return open_load_and_run(source_of(file), nullptr, 3, error); });
}

TEST(CFaults, EveryAllocationOfAReadProgramFailsAndNothingIsLost) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  auto source = sized<berth_source>();
  source.length = file.size();
  source.self = const_cast<std::vector<uint8_t>*>(&file);
  source.read = [](void* self, uint64_t offset, size_t size, void* target, berth_message*) {
    std::memcpy(target, static_cast<std::vector<uint8_t>*>(self)->data() + offset, size);
    return int32_t{BERTH_OK};
  };
  fail_each("reader", [&](berth_error* error) { return open_load_and_run(source, nullptr, 1, error); });
}

TEST(CFaults, EveryAllocationOfAMachineFailsAndNothingIsLost) {
  fail_each("machine", [&](berth_error* error) {
    berth_machine* machine = nullptr;
    const int32_t code = berth_machine_create(nullptr, &machine, error);
    EXPECT_EQ(berth_machine_close(machine, nullptr), BERTH_OK);
    return code;
  });
}

TEST(CFaults, InTheCallersMemoryNothingIsAllocated) {
  if (!testing::allocations_can_fail()) GTEST_SKIP() << "allocations cannot be counted in this build";
  const auto file = compiled(kModel);
  alignas(64) static uint8_t handle[8192], method_memory[65536], temp[4096], arena[4096];
  CError error;
  berth_machine* machine = nullptr;
  ASSERT_EQ(berth_machine_create(nullptr, &machine, error), BERTH_OK);
  ASSERT_LE(berth_program_bytes(), sizeof handle);
  auto load = sized<berth_load_options>();
  load.machine = machine;
  load.memory = {handle, sizeof handle};
  const berth_block arenas[] = {{arena, sizeof arena}};
  auto memory = sized<berth_memory>();
  memory.method = {method_memory, sizeof method_memory};
  memory.temp = {temp, sizeof temp};
  memory.arenas = arenas;
  memory.num_arenas = 1;
  auto options = sized<berth_method_options>();
  options.memory = &memory;
  float x[4] = {1, 2, 3, 4};
  float y[4] = {};
  const berth_array input = floats(x, 4, kSizes, 1);
  const berth_array output = floats(y, 4, kSizes, 1);
  const berth_source source = source_of(file);
  First first;
  berth_program* program = nullptr;
  berth_method* method = nullptr;
  auto needed = sized<berth_memory_needed>();
  const testing::Allocations seen = testing::with_failing(0, [&] {
    first(berth_program_open(&source, &load, &program, error)) &&
        first(
            berth_program_memory(program, "forward", nullptr, {method_memory, sizeof method_memory}, &needed, error)) &&
        first(berth_method_load(program, "forward", &options, &method, error)) &&
        first(berth_method_bind_input(method, 0, &input, error)) &&
        first(berth_method_bind_output(method, 0, &output, error)) && first(berth_method_run(method, error)) &&
        first(berth_method_run(method, error)) && first(berth_method_close(method, error)) &&
        first(berth_program_close(program, error));
  });
  EXPECT_EQ(first.code, BERTH_OK) << error.text();
  EXPECT_FALSE(seen.failed);
  EXPECT_EQ(y[3], 7);
  EXPECT_LE(needed.temp_bytes, sizeof temp);
  EXPECT_EQ(berth_machine_close(machine, error), BERTH_OK);
}

class CFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const berth_source source = source_of(file_);
    ASSERT_EQ(berth_program_open(&source, nullptr, &program_, error_), BERTH_OK) << error_.text();
    ASSERT_EQ(berth_method_load(program_, "forward", nullptr, &method_, error_), BERTH_OK) << error_.text();
  }
  void TearDown() override {
    EXPECT_EQ(berth_method_close(method_, error_), BERTH_OK);
    EXPECT_EQ(berth_program_close(program_, error_), BERTH_OK);
  }
  /// Expects this code of a call, and a sentence with these words.
  void refused(int32_t code, int32_t expected, const char* words) {
    EXPECT_EQ(code, expected) << error_.text();
    EXPECT_EQ(code, error_.code);
    EXPECT_NE(error_.text().find(words), std::string::npos) << error_.text();
    error_ = CError();
  }
  void refused(int32_t code, const char* words) { refused(code, BERTH_INVALID_ARGUMENT, words); }

  const std::vector<uint8_t> file_ = compiled(kModel);
  CError error_;
  berth_program* program_ = nullptr;
  berth_method* method_ = nullptr;
};

TEST_F(CFaultsTest, NullPointersAreNamed) {
  const berth_source source = source_of(file_);
  const berth_source nothing = sized<berth_source>();
  berth_program* program = nullptr;
  refused(berth_program_open(nullptr, nullptr, &program, error_), "berth_source: is null");
  refused(berth_program_open(&source, nullptr, nullptr, error_), "program: is null");
  refused(berth_program_open(&nothing, nullptr, &program, error_), "neither a path nor bytes");
  refused(berth_program_set_data(program_, nullptr, 1, error_), BERTH_INVALID_STATE, "loaded methods");
  refused(berth_program_method(nullptr, "forward", nullptr, error_), "berth_program: is null");
  refused(berth_program_method(program_, nullptr, nullptr, error_), "method: is null");
  refused(berth_program_method(program_, "forward", nullptr, error_), "berth_method_info: is null");
  refused(berth_program_input(program_, "forward", 0, nullptr, error_), "berth_port: is null");
  refused(berth_program_memory(program_, "forward", nullptr, {}, nullptr, error_), "berth_memory_needed: is null");
  refused(berth_program_arena(program_, "forward", 0, nullptr, error_), "berth_arena: is null");
  refused(berth_method_load(program_, "forward", nullptr, nullptr, error_), "loaded: is null");
  refused(berth_method_set_input(nullptr, 0, nullptr, error_), "berth_method: is null");
  refused(berth_method_set_input(method_, 0, nullptr, error_), "berth_array: is null");
  refused(berth_method_output(method_, 0, nullptr, error_), "berth_array: is null");
  refused(berth_method_run(nullptr, error_), "berth_method: is null");
  refused(berth_method_step(method_, nullptr, error_), "done: is null");
  refused(berth_machine_create(nullptr, nullptr, error_), "machine: is null");
  refused(berth_threads_create(1, nullptr, error_), "threads: is null");
  refused(berth_arenas_create(program_, nullptr, error_), "arenas: is null");
  refused(berth_compile(nullptr, 1, nullptr, nullptr, nullptr, error_), "program: is null");
  refused(berth_inspect(nullptr, nullptr, 0, nullptr, error_), "text: is null");
  refused(berth_verify(nullptr, nullptr, 0, nullptr, error_), "berth_source: is null");
  refused(berth_verify(&source, nullptr, 1, nullptr, error_), "berth_option: is null");
  EXPECT_EQ(berth_program_num_methods(nullptr), 0u);
  EXPECT_EQ(berth_program_method_name(program_, 1), nullptr);
  EXPECT_EQ(berth_program_delegate(program_, "forward", 0), nullptr);
  EXPECT_EQ(berth_method_find_input(nullptr, "x"), -1);
  EXPECT_EQ(berth_method_find_input(method_, nullptr), -1);
  EXPECT_EQ(berth_blob_bytes(nullptr).size, 0u);
  EXPECT_EQ(berth_method_close(nullptr, nullptr), BERTH_OK);
  EXPECT_NE(berth_program_open(nullptr, nullptr, nullptr, nullptr), BERTH_OK);
}

TEST_F(CFaultsTest, WrongArraysAreRefusedWithASentence) {
  float x[8] = {};
  const berth_array good = floats(x, 4, kSizes, 1);
  const auto set = [&](const std::function<void(berth_array&)>& change, size_t index = 0) {
    berth_array bad = good;
    change(bad);
    return berth_method_set_input(method_, index, &bad, error_);
  };
  const int32_t five[] = {5};
  const int32_t negative[] = {-4};
  const int32_t huge[] = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
  refused(set([](berth_array& a) { a.size = 3; }), "its size is 3");
  refused(set([](berth_array& a) { a.dtype = 99; }), "element type 99");
  refused(set([](berth_array& a) { a.dtype = -1; }), "element type -1");
  refused(set([](berth_array& a) { a.dtype = BERTH_I32; }), "inputs[0]");
  refused(set([](berth_array& a) { a.rank = -1; }), "rank");
  refused(set([](berth_array& a) { a.rank = 17; }), "rank");
  refused(set([](berth_array& a) { a.rank = 0; }), "inputs[0]");
  refused(set([](berth_array& a) { a.sizes = nullptr; }), "sizes are null");
  refused(set([&](berth_array& a) { a.sizes = negative; }), "negative");
  refused(set([&](berth_array& a) {
            a.sizes = five;
            a.bytes = 20;
          }),
          "inputs[0]");
  refused(set([&](berth_array& a) {
            a.sizes = huge;
            a.rank = 4;
          }),
          "too large");
  refused(set([](berth_array& a) { a.bytes = 15; }), "has 15 bytes; its type and sizes need 16");
  refused(set([](berth_array& a) { a.data = nullptr; }), "data is null");
  refused(set([](berth_array& a) { a.device = {100, 0}; }), BERTH_NOT_SUPPORTED, "");
  refused(set([](berth_array& a) { a.device = {1000, 0}; }), "type 1000");
  refused(set([](berth_array&) {}, 1), "the method has 1 of them");
  refused(berth_method_output(method_, 7, nullptr, error_), "the method has 1 of them");
  refused(berth_method_bind_output(method_, 7, &good, error_), "the method has 1 of them");
  auto small = floats(x, 3, kSizes, 1);
  refused(berth_method_bind_output(method_, 0, &small, error_), "has 12 bytes; the output needs 16");
  refused(berth_method_run(method_, error_), BERTH_INVALID_STATE, "");
  refused(berth_method_set_arena(method_, 0, {x, 16}, error_), BERTH_INVALID_STATE, "");
  refused(berth_method_set_arena(method_, 9, {x, 16}, error_), "");
  ASSERT_EQ(berth_method_set_input(method_, 0, &good, error_), BERTH_OK) << error_.text();
  EXPECT_EQ(berth_method_run(method_, error_), BERTH_OK) << "a refused array leaves the method usable";
}

TEST_F(CFaultsTest, WrongNamesIndicesAndOptionsAreRefused) {
  auto info = sized<berth_method_info>();
  auto port = sized<berth_port>();
  auto arena = sized<berth_arena>();
  refused(berth_program_method(program_, "backward", &info, error_), "it has forward");
  refused(berth_program_input(program_, "forward", 5, &port, error_), "the method has 1 of them");
  refused(berth_program_arena(program_, "forward", 5, &arena, error_), "arenas[5]");
  port.size = 0;
  refused(berth_program_input(program_, "forward", 0, &port, error_), "its size is not set");
  berth_threads* threads = nullptr;
  refused(berth_threads_create(0, &threads, error_), "expected 1 to 256");
  refused(berth_threads_create(257, &threads, error_), "expected 1 to 256");
  auto machine_options = sized<berth_machine_options>();
  const char* const plugins[] = {"./no_such_plugin.so"};
  machine_options.plugins = plugins;
  machine_options.num_plugins = 1;
  berth_machine* machine = nullptr;
  refused(berth_machine_create(&machine_options, &machine, error_), BERTH_NOT_FOUND, "no_such_plugin");
  const std::string text = kModel;
  auto model = sized<berth_source>();
  model.bytes = {text.data(), text.size()};
  berth_blob* blob = nullptr;
  const auto compile = [&](const berth_option& option) {
    auto how = sized<berth_compile_options>();
    how.options = &option;
    how.num_options = 1;
    return berth_compile(&model, 1, &how, &blob, nullptr, error_);
  };
  refused(compile({"tarjet", "cpu"}), "there is no option --tarjet");
  refused(compile({"target", "abacus"}), "abacus");
  refused(compile({"--target", "cpu"}), "without dashes");
  refused(compile({"output", "x.pte"}), "argument of its own");
  refused(compile({"help", nullptr}), "no option help");
  refused(compile({"dump-ir", nullptr}), "--dump-ir: expected a value");
  refused(compile({"why", ""}), "--why: expected a value");
  refused(compile({nullptr, nullptr}), "expected the name");
  refused(compile({"planner", "tetris"}), "tetris");
  EXPECT_EQ(blob, nullptr);
  model.bytes = {"not a model", 11};
  const int32_t code = berth_compile(&model, 1, nullptr, &blob, nullptr, error_);
  EXPECT_NE(code, BERTH_OK);
  EXPECT_NE(error_.text().find("the bytes"), std::string::npos) << error_.text();
}

TEST_F(CFaultsTest, WhatIsClosedTwiceOrStillUsedIsSaid) {
  refused(berth_program_close(program_, error_), BERTH_INVALID_STATE, "still used by 1");
  const berth_source source = source_of(file_);
  berth_program* program = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error_), BERTH_OK);
  ASSERT_EQ(berth_program_close(program, error_), BERTH_OK);
  refused(berth_program_close(program, error_), "closed before");
  refused(berth_method_close(reinterpret_cast<berth_method*>(program_), error_), "not open");
  refused(berth_method_run(reinterpret_cast<berth_method*>(program_), error_), "not an open handle of this kind");
  int other = 0;
  refused(berth_threads_close(reinterpret_cast<berth_threads*>(&other), error_), "closed before");
}

TEST_F(CFaultsTest, MisalignedAndDamagedBytesAreRefused) {
  std::vector<uint8_t> moved(file_.size() + 17);
  const size_t by = 17 - reinterpret_cast<uintptr_t>(moved.data()) % 16;
  std::memcpy(moved.data() + by, file_.data(), file_.size());
  auto source = sized<berth_source>();
  source.bytes = {moved.data() + by, file_.size()};
  berth_program* program = nullptr;
  refused(berth_program_open(&source, nullptr, &program, error_), "multiple of 16");
  for (size_t size = 0; size < file_.size(); size += 1 + size / 8) {
    source.bytes = {file_.data(), size};
    EXPECT_NE(berth_program_open(&source, nullptr, &program, error_), BERTH_OK) << size;
    EXPECT_NE(error_.message[0], '\0');
  }
}

TEST_F(CFaultsTest, AnOlderCallersStructuresAreEnough) {
  auto port = sized<berth_port>();
  port.size = offsetof(berth_port, bytes);
  port.bytes = 12345;
  ASSERT_EQ(berth_program_input(program_, "forward", 0, &port, error_), BERTH_OK) << error_.text();
  EXPECT_EQ(port.size, offsetof(berth_port, bytes));
  EXPECT_EQ(port.bytes, 12345u) << "written beyond the caller's structure";
  EXPECT_EQ(port.rank, 1);
  berth_error small = {};
  small.size = offsetof(berth_error, message);
  small.message[0] = '#';
  EXPECT_NE(berth_program_open(nullptr, nullptr, nullptr, &small), BERTH_OK);
  EXPECT_EQ(small.message[0], '#');
  EXPECT_STREQ(small.place, "berth_source");
}

}  // namespace
}  // namespace berth
