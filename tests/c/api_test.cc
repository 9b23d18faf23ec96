// The C API from the model to the numbers, by libberth.so as an application has it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/c/api_testing.h"

namespace berth {
namespace {

using testing::CError;
using testing::compiled;
using testing::floats;
using testing::kModel;
using testing::sized;
using testing::source_of;

constexpr int32_t kSizes[] = {4};

/// Closes what it has opened.
struct Loaded {
  explicit Loaded(const std::vector<uint8_t>& file, const berth_load_options* load = nullptr,
                  const berth_method_options* options = nullptr) {
    const berth_source source = source_of(file);
    EXPECT_EQ(berth_program_open(&source, load, &program, error), BERTH_OK) << error.text();
    if (program == nullptr) return;
    EXPECT_EQ(berth_method_load(program, "forward", options, &method, error), BERTH_OK) << error.text();
  }
  ~Loaded() {
    EXPECT_EQ(berth_method_close(method, error), BERTH_OK) << error.text();
    EXPECT_EQ(berth_program_close(program, error), BERTH_OK) << error.text();
  }

  std::vector<float> output(size_t index = 0) {
    auto array = sized<berth_array>();
    EXPECT_EQ(berth_method_output(method, index, &array, error), BERTH_OK) << error.text();
    const float* const first = static_cast<const float*>(array.data);
    return std::vector<float>(first, first + array.bytes / sizeof(float));
  }

  CError error;
  berth_program* program = nullptr;
  berth_method* method = nullptr;
};

using Floats = std::vector<float>;

TEST(CApi, ComputesWhatTheModelSays) {
  for (const char* target : {"portable", "cpu", "sim:0"}) {
    const auto file = compiled(kModel, {{"target", target}});
    Loaded loaded(file);
    float x[] = {0, 1, 2, 3};
    const berth_array input = floats(x, 4, kSizes, 1);
    ASSERT_EQ(berth_method_set_input(loaded.method, 0, &input, loaded.error), BERTH_OK) << loaded.error.text();
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
    EXPECT_EQ(loaded.output(), (Floats{0, 1, 3, 5})) << target;
  }
}

TEST(CApi, WhatIsBoundOnceIsReadAndWrittenInEachRun) {
  const auto file = compiled(kModel);
  Loaded loaded(file);
  float x[4] = {};
  float y[4] = {};
  const berth_array input = floats(x, 4, kSizes, 1);
  const berth_array output = floats(y, 4, kSizes, 1);
  const int64_t in = berth_method_find_input(loaded.method, "x");
  ASSERT_EQ(in, 0);
  ASSERT_EQ(berth_method_find_input(loaded.method, "z"), -1);
  ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
  ASSERT_EQ(berth_method_bind_output(loaded.method, 0, &output, loaded.error), BERTH_OK);
  for (float turn = 0; turn < 3; ++turn) {
    for (float& element : x) element = turn;
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
    EXPECT_EQ(y[3], turn == 0 ? 0 : turn * 2 - 1);
  }
}

TEST(CApi, InputsAndOutputsInTheCallersMemoryAreNotCopied) {
  const auto file = compiled(kModel, {{"device-io", "x=cpu"}, {"device-io", "y=cpu"}});
  Loaded loaded(file);
  float x[4] = {1, 1, 1, 1};
  float y[4] = {};
  auto port = sized<berth_port>();
  ASSERT_EQ(berth_program_input(loaded.program, "forward", 0, &port, loaded.error), BERTH_OK);
  EXPECT_EQ(port.is_planned, 0);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.sizes[0], 4);
  const berth_array input = floats(x, 4, kSizes, 1);
  const berth_array output = floats(y, 4, kSizes, 1);
  ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
  ASSERT_EQ(berth_method_bind_output(loaded.method, 0, &output, loaded.error), BERTH_OK) << loaded.error.text();
  ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
  auto array = sized<berth_array>();
  ASSERT_EQ(berth_method_output(loaded.method, 0, &array, loaded.error), BERTH_OK);
  EXPECT_EQ(array.data, y);
  EXPECT_EQ(y[0], 1);
}

TEST(CApi, ItsSizesAreEnoughAndAByteLessIsRefused) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  const berth_source source = source_of(file);
  CError error;
  berth_program* program = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_OK) << error.text();
  auto needed = sized<berth_memory_needed>();
  auto arena = sized<berth_arena>();
  ASSERT_EQ(berth_program_memory(program, "forward", nullptr, {}, &needed, error), BERTH_OK) << error.text();
  ASSERT_EQ(berth_program_arena(program, "forward", 0, &arena, error), BERTH_OK);
  const auto block = [](uint64_t bytes) {
    const size_t size = (bytes + 63) / 64 * 64;
    return berth_block{std::aligned_alloc(64, std::max<size_t>(size, 64)), bytes};
  };
  const berth_block method_memory = block(needed.method_bytes);
  const berth_block temp = block(needed.temp_bytes);
  const berth_block arena_memory = block(arena.bytes);
  for (const size_t missing : {1, 0}) {
    auto memory = sized<berth_memory>();
    memory.method = {method_memory.data, method_memory.size - missing};
    memory.temp = temp;
    memory.arenas = &arena_memory;
    memory.num_arenas = 1;
    auto options = sized<berth_method_options>();
    options.memory = &memory;
    berth_method* method = nullptr;
    const int32_t code = berth_method_load(program, "forward", &options, &method, error);
    if (missing > 0) {
      EXPECT_EQ(code, BERTH_MEMORY_ALLOCATION_FAILED) << error.text();
      EXPECT_EQ(method, nullptr);
      continue;
    }
    ASSERT_EQ(code, BERTH_OK) << error.text();
    float x[] = {0, 1, 2, 3};
    const berth_array input = floats(x, 4, kSizes, 1);
    ASSERT_EQ(berth_method_bind_input(method, 0, &input, error), BERTH_OK);
    ASSERT_EQ(berth_method_run(method, error), BERTH_OK) << error.text();
    auto array = sized<berth_array>();
    ASSERT_EQ(berth_method_output(method, 0, &array, error), BERTH_OK);
    EXPECT_EQ(static_cast<float*>(array.data)[3], 5);
    const auto* const first = static_cast<const char*>(arena_memory.data);
    EXPECT_TRUE(static_cast<const char*>(array.data) >= first &&
                static_cast<const char*>(array.data) < first + arena_memory.size);
    EXPECT_EQ(berth_method_close(method, error), BERTH_OK);
  }
  EXPECT_EQ(berth_program_close(program, error), BERTH_OK);
  std::free(method_memory.data);
  std::free(temp.data);
  std::free(arena_memory.data);
}

struct Reader {
  std::vector<uint8_t> hidden;  // every byte inverted
  int32_t code = BERTH_OK;
};

int32_t read_hidden(void* self, uint64_t offset, size_t size, void* target, berth_message* message) {
  const Reader& reader = *static_cast<Reader*>(self);
  if (reader.code != BERTH_OK) {
    std::snprintf(message->text, sizeof message->text, "the key is gone");
    return reader.code;
  }
  for (size_t i = 0; i < size; ++i) static_cast<uint8_t*>(target)[i] = static_cast<uint8_t>(~reader.hidden[offset + i]);
  return BERTH_OK;
}

TEST(CApi, AModelThatAFunctionReadsPassesTheSameChecks) {
  auto file = compiled(kModel, {{"target", "cpu"}});
  Reader reader;
  const auto hide = [&] {
    reader.hidden.clear();
    for (const uint8_t byte : file) reader.hidden.push_back(static_cast<uint8_t>(~byte));
  };
  hide();
  auto source = sized<berth_source>();
  source.length = file.size();
  source.self = &reader;
  source.read = read_hidden;
  CError error;
  berth_program* program = nullptr;
  berth_method* method = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_OK) << error.text();
  ASSERT_EQ(berth_method_load(program, "forward", nullptr, &method, error), BERTH_OK) << error.text();
  float x[] = {3, 3, 3, 3};
  const berth_array input = floats(x, 4, kSizes, 1);
  ASSERT_EQ(berth_method_bind_input(method, 0, &input, error), BERTH_OK);
  ASSERT_EQ(berth_method_run(method, error), BERTH_OK) << error.text();
  EXPECT_EQ(berth_method_close(method, error), BERTH_OK);
  EXPECT_EQ(berth_program_close(program, error), BERTH_OK);

  reader.code = BERTH_ACCESS_FAILED;
  EXPECT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_ACCESS_FAILED);
  EXPECT_NE(error.text().find("the key is gone"), std::string::npos) << error.text();
  reader.code = BERTH_OK;
  for (size_t i = 16; i < 128 && i < file.size(); ++i) file[i] = 0xff;
  hide();
  EXPECT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_INVALID_PROGRAM) << error.text();
}

// A file that goes when the test ends.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name) : path("c_api_" + std::to_string(getpid()) + "_" + name) {}
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path;
};

TEST(CApi, ADataFileIsSwappedBetweenTwoRuns) {
  CError error;
  const auto program_with = [&](const char* weight, const TemporaryFile& program, const TemporaryFile& data) {
    std::string text = kModel;
    text.replace(text.find("<2>"), 3, weight);
    auto model = sized<berth_source>();
    model.bytes = {text.data(), text.size()};
    const berth_option options[] = {{"external-constants", data.path.c_str()}};
    auto how = sized<berth_compile_options>();
    how.options = options;
    how.num_options = 1;
    how.output = program.path.c_str();
    ASSERT_EQ(berth_compile(&model, 1, &how, nullptr, nullptr, error), BERTH_OK) << error.text();
  };
  const TemporaryFile twice("twice.pte"), twice_data("twice.ptd"), thrice("thrice.pte"), thrice_data("thrice.ptd");
  program_with("<2>", twice, twice_data);
  program_with("<3>", thrice, thrice_data);
  const berth_source source = source_of(twice.path);
  const berth_source other = source_of(thrice_data.path);
  const std::string nothing = "c_api_no_such.ptd";
  const berth_source missing = source_of(nothing);
  berth_program* program = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_OK) << error.text();
  float x[] = {1, 1, 1, 1};
  const berth_array input = floats(x, 4, kSizes, 1);
  for (const float expected : {1.f, 2.f, 2.f}) {
    berth_method* method = nullptr;
    ASSERT_EQ(berth_method_load(program, "forward", nullptr, &method, error), BERTH_OK) << error.text();
    ASSERT_EQ(berth_method_bind_input(method, 0, &input, error), BERTH_OK);
    ASSERT_EQ(berth_method_run(method, error), BERTH_OK);
    auto array = sized<berth_array>();
    ASSERT_EQ(berth_method_output(method, 0, &array, error), BERTH_OK);
    EXPECT_EQ(static_cast<float*>(array.data)[0], expected);
    EXPECT_EQ(berth_program_set_data(program, &other, 1, error), BERTH_INVALID_STATE);
    ASSERT_EQ(berth_method_close(method, error), BERTH_OK);
    if (expected == 1) {
      ASSERT_EQ(berth_program_set_data(program, &other, 1, error), BERTH_OK) << error.text();
    } else {
      EXPECT_EQ(berth_program_set_data(program, &missing, 1, error), BERTH_NOT_FOUND) << error.text();
    }
  }
  ASSERT_EQ(berth_program_close(program, error), BERTH_OK);
}

TEST(CApi, ThreadsAreBerthsOrTheCallers) {
  const char* const wide = R"(
    method forward(%x: f32[400000]) {
      %y: f32[400000] = aten::gelu(%x)
      return %y
    })";
  const auto file = compiled(wide, {{"target", "cpu"}});
  CError error;
  struct Pool {
    static void run(void* self, int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
      ++*static_cast<int*>(self);
      const int64_t half = std::max(count / 2, std::min(grain, count));
      std::thread other([&] { body(context, 0, half); });
      if (half < count) body(context, half, count);
      other.join();
    }
  };
  int calls = 0;
  auto pool = sized<berth_thread_pool>();
  pool.self = &calls;
  pool.threads = 2;
  pool.run = Pool::run;
  const int32_t sizes[] = {400000};
  Floats x(400000, 1.f);
  const berth_array input = floats(x.data(), x.size(), sizes, 1);
  std::vector<Floats> results;
  for (const bool callers : {true, false}) {
    berth_threads* threads = nullptr;
    ASSERT_EQ(callers ? berth_threads_of_pool(&pool, &threads, error) : berth_threads_create(2, &threads, error),
              BERTH_OK);
    {
      auto options = sized<berth_method_options>();
      options.threads = threads;
      options.resident = 1;
      Loaded loaded(file, nullptr, &options);
      EXPECT_EQ(berth_threads_close(threads, error), BERTH_INVALID_STATE);
      ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK) << loaded.error.text();
      ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
      results.push_back(loaded.output());
    }
    EXPECT_EQ(berth_threads_close(threads, error), BERTH_OK);
  }
  EXPECT_GT(calls, 0);
  EXPECT_EQ(results[0], results[1]);
}

TEST(CApi, DevicesAreMappedAndTheirMemoryIsTheCallers) {
  const auto file = compiled(kModel, {{"target", "sim:0"}, {"device-io", "x=sim:0"}, {"device-io", "y=sim:0"}});
  CError error;
  berth_machine* machine = nullptr;
  ASSERT_EQ(berth_machine_create(nullptr, &machine, error), BERTH_OK) << error.text();
  const berth_device host = {0, 0};
  const berth_device there = {100, 1};
  const berth_device_mapping mapping = {{100, 0}, there, nullptr};
  auto load = sized<berth_load_options>();
  load.machine = machine;
  load.devices = &mapping;
  load.num_devices = 1;
  void* x = nullptr;
  void* y = nullptr;
  ASSERT_EQ(berth_machine_allocate(machine, there, 16, 16, &x, error), BERTH_OK) << error.text();
  ASSERT_EQ(berth_machine_allocate(machine, there, 16, 16, &y, error), BERTH_OK);
  const float numbers[] = {1, 2, 3, 4};
  float result[4] = {};
  ASSERT_EQ(berth_machine_copy(machine, there, x, host, numbers, 16, error), BERTH_OK) << error.text();
  {
    Loaded loaded(file, &load);
    berth_array input = floats(static_cast<float*>(x), 4, kSizes, 1);
    berth_array output = floats(static_cast<float*>(y), 4, kSizes, 1);
    EXPECT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_NOT_SUPPORTED);
    input.device = output.device = there;
    ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK) << loaded.error.text();
    ASSERT_EQ(berth_method_bind_output(loaded.method, 0, &output, loaded.error), BERTH_OK) << loaded.error.text();
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
    EXPECT_EQ(berth_machine_close(machine, error), BERTH_INVALID_STATE) << "a program uses it";
  }
  ASSERT_EQ(berth_machine_copy(machine, host, result, there, y, 16, error), BERTH_OK);
  EXPECT_EQ(result[3], 7);
  EXPECT_EQ(berth_machine_free(machine, there, x, error), BERTH_OK);
  EXPECT_EQ(berth_machine_free(machine, there, y, error), BERTH_OK);
  EXPECT_EQ(berth_machine_close(machine, error), BERTH_OK) << error.text();
}

// An operator of the caller's own, in C's structures.
int32_t infer_same(void*, const berth_graph* call, const berth_types* types, berth_message*) {
  const berth_value& self = call->values[call->nodes[0].arguments[0].values[0]];
  const int64_t size = types->dim(types->self, call->nodes[0].arguments[0].values[0], 0);
  types->result(types->self, self.dtype, &size, 1);
  return BERTH_OK;
}
int32_t compute_negated(void*, const berth_call_argument* arguments, size_t, berth_message*) {
  const auto* const from = static_cast<const float*>(arguments[0].tensors[0].data);
  auto* const to = static_cast<float*>(arguments[1].tensors[0].data);
  for (size_t i = 0; i < arguments[0].tensors[0].bytes / sizeof(float); ++i) to[i] = -from[i];
  return BERTH_OK;
}
int32_t own_parts(const berth_host*, berth_plugin* plugin) {
  static berth_operator negated = {};
  negated.size = sizeof negated;
  negated.name = "my::negated";
  negated.schema = "Tensor self -> Tensor out";
  negated.infer = infer_same;
  negated.compute = compute_negated;
  static const berth_operator* const operators[] = {&negated};
  plugin->name = "a test's";
  plugin->operators = operators;
  plugin->num_operators = 1;
  return BERTH_OK;
}

TEST(CApi, OperatorsOfTheCallersOwnAreCompiledAndRun) {
  const char* const model = R"(
    method forward(%x: f32[4]) {
      %y: f32[4] = my::negated(%x)
      return %y
    })";
  CError error;
  const berth_plugin_entry entries[] = {own_parts};
  auto options = sized<berth_machine_options>();
  options.entries = entries;
  options.num_entries = 1;
  berth_machine* machine = nullptr;
  ASSERT_EQ(berth_machine_create(&options, &machine, error), BERTH_OK) << error.text();
  const auto file = compiled(model, {}, machine);
  {
    auto load = sized<berth_load_options>();
    load.machine = machine;
    Loaded loaded(file, &load);
    float x[] = {1, 2, 3, 4};
    const berth_array input = floats(x, 4, kSizes, 1);
    ASSERT_EQ(berth_method_set_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK) << loaded.error.text();
    EXPECT_EQ(loaded.output()[3], -4);
  }
  const berth_source source = source_of(file);
  berth_program* program = nullptr;
  berth_method* method = nullptr;
  ASSERT_EQ(berth_program_open(&source, nullptr, &program, error), BERTH_OK);
  EXPECT_EQ(berth_method_load(program, "forward", nullptr, &method, error), BERTH_OPERATOR_MISSING);
  EXPECT_NE(error.text().find("my::negated"), std::string::npos) << error.text();
  EXPECT_EQ(berth_program_close(program, error), BERTH_OK);
  EXPECT_EQ(berth_machine_close(machine, error), BERTH_OK) << error.text();
}

TEST(CApi, StepsAreTheRun) {
  const auto file = compiled(kModel);
  Loaded loaded(file);
  float x[] = {2, 2, 2, 2};
  const berth_array input = floats(x, 4, kSizes, 1);
  ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
  auto info = sized<berth_method_info>();
  ASSERT_EQ(berth_program_method(loaded.program, "forward", &info, loaded.error), BERTH_OK);
  EXPECT_EQ(info.num_inputs, 1u);
  for (int turn = 0; turn < 2; ++turn) {
    size_t steps = 0;
    for (int32_t done = 0; done == 0; ++steps) {
      ASSERT_EQ(berth_method_step(loaded.method, &done, loaded.error), BERTH_OK) << loaded.error.text();
      if (steps == 0 && done == 0) {
        EXPECT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_INVALID_STATE);
      }
    }
    EXPECT_EQ(steps, info.num_instructions + 1);
    EXPECT_EQ(loaded.output()[0], 3);
  }
}

TEST(CApi, TellsWhatTheToolTells) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  const berth_source source = source_of(file);
  CError error;
  berth_blob* text = nullptr;
  const berth_option json[] = {{"json", nullptr}};
  ASSERT_EQ(berth_inspect(&source, json, 1, &text, error), BERTH_OK) << error.text();
  const std::string said = static_cast<const char*>(berth_blob_bytes(text).data);
  EXPECT_EQ(said.size(), berth_blob_bytes(text).size);
  EXPECT_NE(said.find("\"arenas\":[{"), std::string::npos) << said;
  EXPECT_EQ(said.find("/proc/"), std::string::npos) << said;
  EXPECT_EQ(berth_blob_close(text, error), BERTH_OK);
  ASSERT_EQ(berth_verify(&source, nullptr, 0, &text, error), BERTH_OK) << error.text();
  EXPECT_EQ(berth_blob_close(text, error), BERTH_OK);
  berth_blob* replanned = nullptr;
  ASSERT_EQ(berth_replan(&source, nullptr, &replanned, &text, error), BERTH_OK) << error.text();
  EXPECT_GT(berth_blob_bytes(replanned).size, 0u);
  EXPECT_EQ(berth_blob_close(replanned, error), BERTH_OK);
  EXPECT_EQ(berth_blob_close(text, error), BERTH_OK);
  auto damaged = file;
  for (size_t i = 16; i < 128; ++i) damaged[i] = 0xff;
  const berth_source bad = source_of(damaged);
  EXPECT_NE(berth_verify(&bad, nullptr, 0, nullptr, error), BERTH_OK);
  EXPECT_EQ(error.text().find("/proc/"), std::string::npos) << error.text();
}

struct ToldEvents {
  std::vector<berth_event> events;
  std::vector<int32_t> open;
  static void keep(void* self, const berth_event* event) {
    auto& told = *static_cast<ToldEvents*>(self);
    told.events.push_back(*event);
    if (event->kind == BERTH_EVENT_MEMORY) return;
    if (event->is_end == 0) {
      told.open.push_back(event->kind);
    } else {
      ASSERT_FALSE(told.open.empty());
      EXPECT_EQ(told.open.back(), event->kind);
      told.open.pop_back();
    }
  }
  size_t ends(int32_t kind) const {
    size_t count = 0;
    for (const berth_event& event : events) count += event.kind == kind && event.is_end != 0 ? 1 : 0;
    return count;
  }
};

TEST(CApi, AnObserverIsToldOfLoadsRunsInstructionsCopiesAndMemory) {
  const auto file = compiled(kModel, {{"target", "sim:0"}});
  ToldEvents told;
  auto observer = sized<berth_observer>();
  observer.self = &told;
  observer.event = ToldEvents::keep;
  auto load = sized<berth_load_options>();
  load.observer = &observer;
  float x[] = {0, 1, 2, 3};
  const berth_array input = floats(x, 4, kSizes, 1);
  {
    Loaded loaded(file, &load);
    ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK);
    EXPECT_EQ(loaded.output(), (Floats{0, 1, 3, 5}));
  }
  EXPECT_TRUE(told.open.empty());
  EXPECT_EQ(told.ends(BERTH_EVENT_LOAD), 2u) << "the program and the method";
  EXPECT_EQ(told.ends(BERTH_EVENT_RUN), 3u);
  EXPECT_GE(told.ends(BERTH_EVENT_INSTRUCTION), 9u) << "a copy there, a delegate and what is inside, a copy back";
  EXPECT_GE(told.ends(BERTH_EVENT_COPY), 6u);
  uint64_t taken = 0;
  for (const berth_event& event : told.events) {
    EXPECT_EQ(event.size, sizeof(berth_event));
    EXPECT_EQ(event.code, BERTH_OK);
    if (event.kind == BERTH_EVENT_COPY) {
      EXPECT_NE(event.device.type == 100, event.source.type == 100);
      EXPECT_GT(event.bytes, 0u);
    }
    if (event.kind == BERTH_EVENT_MEMORY && event.device.type == 100 && event.is_end == 0) taken += event.bytes;
  }
  EXPECT_GE(taken, 16u) << "an arena of the device";
}

TEST(CApi, ATraceIsWhatChromesViewerReads) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  CError error;
  berth_trace* trace = nullptr;
  ASSERT_EQ(berth_trace_create(&trace, error), BERTH_OK);
  auto load = sized<berth_load_options>();
  load.observer = berth_trace_observer(trace);
  float x[] = {0, 1, 2, 3};
  const berth_array input = floats(x, 4, kSizes, 1);
  {
    Loaded loaded(file, &load);
    ASSERT_EQ(berth_method_bind_input(loaded.method, 0, &input, loaded.error), BERTH_OK);
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK);
  }
  berth_blob* json = nullptr;
  ASSERT_EQ(berth_trace_json(trace, &json, error), BERTH_OK);
  const std::string text = static_cast<const char*>(berth_blob_bytes(json).data);
  EXPECT_EQ(text.rfind("{\"traceEvents\":[{", 0), 0u) << text;
  EXPECT_NE(text.find("\"name\":\"berth.cpu\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"cat\":\"run\""), std::string::npos) << text;
  EXPECT_EQ(berth_blob_close(json, error), BERTH_OK);
  EXPECT_EQ(berth_trace_close(trace, error), BERTH_OK);
  EXPECT_EQ(berth_trace_close(trace, error), BERTH_INVALID_ARGUMENT);
}

int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word && word != "VmRSS:") continue;
  status >> kilobytes;
  return kilobytes;
}

TEST(CApi, A100000RunsLeaveResidentMemoryFlat) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  Loaded loaded(file);
  float x[] = {2, 2, 2, 2};
  const berth_array input = floats(x, 4, kSizes, 1);
  auto array = sized<berth_array>();
  int64_t before = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (i == 1000) before = resident_kb();
    const bool fails = i % 10 == 9;  // so that errors do not stay either
    const berth_array given = fails ? floats(x, 3, kSizes, 1) : input;
    ASSERT_EQ(berth_method_set_input(loaded.method, 0, &given, loaded.error),
              fails ? BERTH_INVALID_ARGUMENT : BERTH_OK);
    ASSERT_EQ(berth_method_run(loaded.method, loaded.error), BERTH_OK);
    ASSERT_EQ(berth_method_output(loaded.method, 0, &array, loaded.error), BERTH_OK);
  }
  EXPECT_LE(resident_kb(), before + 64);
}

}  // namespace
}  // namespace berth
