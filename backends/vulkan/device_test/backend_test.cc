// The backend on what driver there is: what a run costs, hazards that the layers see, and every call of Vulkan's that
// can fail, failing. The conformance suite has the rest (tests/device/vulkan_test.cc).

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "backends/nested/nested_programs_testing.h"
#include "backends/vulkan/first_runs.h"
#include "backends/vulkan/vulkan_backend.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth::vulkan {
namespace {

VulkanOptions validated() {
  VulkanOptions options;
  options.validation = true;
  return options;
}

// A device, and a program with one delegate of two kernels, the second of which reads what the first writes.
class VulkanRuns : public ::testing::Test {
 protected:
  explicit VulkanRuns(const VulkanOptions& options = validated()) : vulkan_(options) {}
  void SetUp() override {
    if (vulkan_.device_count() == 0) GTEST_SKIP() << vulkan_.describe();
    ASSERT_EQ(registry_.register_allocator(&vulkan_), Error::kOk);
    file_ = format::testing::bytes_of(
        testing::program_with_delegate({Device(DeviceType::kVulkan, 0), "berth.vulkan", 400, false}));
    loader_ = std::make_unique<BufferLoader>(Span<const uint8_t>(file_));
  }

  Error load() {
    program_.reset();
    Backend* const backends[] = {&backend_};
    LoadOptions options;
    options.registry = &registry_;
    options.backends = backends;
    options.report = &report_;
    Result<Program> program = Program::load(*loader_, portable::kernels(), options);
    if (!program.ok()) return program.error();
    program_ = std::make_unique<Program>(std::move(*program));
    HostOptions host;
    host.resident = true;
    host.report = &report_;
    Result<HostMethod> method = HostMethod::load(*program_, "forward", host);
    if (!method.ok()) return method.error();
    method_ = std::make_unique<HostMethod>(std::move(*method));
    return Error::kOk;
  }

  Error run() {
    std::vector<float> x(400);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 9) - 4;
    const int32_t sizes[] = {400};
    Method& method = method_->method();
    BERTH_RETURN_IF_ERROR(method.set_input(0, x.data(), sizes, DType::kF32));
    BERTH_RETURN_IF_ERROR(method.execute());
    constexpr float kWeight[4] = {-1, 2, -3, 4};
    const float* y = method.get_output(0).tensor().data<float>();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::max(x[i] + kWeight[i % 4], 0.0f)) << i;
    return Error::kOk;
  }

  void unload() {
    method_.reset();
    program_.reset();
  }

  VulkanAllocator vulkan_;
  VulkanBackend backend_{&vulkan_};
  DeviceAllocatorRegistry registry_;
  std::vector<uint8_t> file_;
  std::unique_ptr<BufferLoader> loader_;
  Report report_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<HostMethod> method_;
};

TEST_F(VulkanRuns, AreOneSubmissionAndMakeNothing) {
  ASSERT_EQ(load(), Error::kOk) << report_.message;
  for (int i = 0; i < 3; ++i) {
    const VulkanCounts before = vulkan_.counts();
    ASSERT_EQ(run(), Error::kOk) << method_->method().last_report().message;
    const VulkanCounts after = vulkan_.counts();
    EXPECT_EQ(after.submissions - before.submissions, 1u);
    EXPECT_EQ(after.dispatches - before.dispatches, 2u);
    EXPECT_EQ(after.barriers - before.barriers, 2u) << "one between the kernels, one before the host reads";
    EXPECT_EQ(after.pipelines, before.pipelines);
    EXPECT_EQ(after.allocations, before.allocations);
  }
  EXPECT_EQ(vulkan_.messages(), 0u);
}

TEST_F(VulkanRuns, WithoutABarrierAreReportedByTheLayers) {
  backend_.skip_barrier(0);
  ASSERT_EQ(load(), Error::kOk) << report_.message;
  EXPECT_GT(vulkan_.messages(), 0u) << "so their silence would mean nothing";
}

// Calls of Vulkan's that fail: the n-th from now on, and where `for_good` all behind it, give `failure` and do nothing.
const Api* real_api = nullptr;
int until_failure = 0;
bool for_good = false;
VkResult failure = VK_SUCCESS;

template <auto kMember>
struct Failing;
template <typename... A, VkResult (VKAPI_PTR* Api::*kMember)(A...)>
struct Failing<kMember> {
  static VkResult VKAPI_PTR call(A... arguments) {
    const int left = --until_failure;
    return left == 0 || (for_good && left < 0) ? failure : (real_api->*kMember)(arguments...);
  }
  static void plant(Api* api) { api->*kMember = call; }
};

struct Fault {
  const char* call;
  void (*plant)(Api*);
  VkResult result;
};

#define FAULT(name, result) \
  { #name, Failing < &Api::name> ::plant, result }
const Fault kFaults[] = {
    FAULT(vkAllocateMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    FAULT(vkAllocateDescriptorSets, VK_ERROR_OUT_OF_POOL_MEMORY),
    FAULT(vkAllocateCommandBuffers, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkBeginCommandBuffer, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkBindBufferMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    FAULT(vkCreateBuffer, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkCreateBufferView, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    FAULT(vkCreateCommandPool, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkCreateComputePipelines, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    FAULT(vkCreateDescriptorPool, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    FAULT(vkCreateDescriptorSetLayout, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkCreatePipelineLayout, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkCreateSemaphore, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkCreateShaderModule, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkEndCommandBuffer, VK_ERROR_OUT_OF_HOST_MEMORY),
    FAULT(vkMapMemory, VK_ERROR_MEMORY_MAP_FAILED),
    FAULT(vkQueueSubmit, VK_ERROR_DEVICE_LOST),
    FAULT(vkWaitSemaphores, VK_ERROR_DEVICE_LOST),
};
#undef FAULT

// In memory that the host shares with the device, and with copies through stages, as of a card's own.
class VulkanFaults : public VulkanRuns, public ::testing::WithParamInterface<std::tuple<Fault, bool>> {
 protected:
  VulkanFaults() : VulkanRuns(options()) {}
  static VulkanOptions options() {
    VulkanOptions options = validated();
    options.staged = std::get<bool>(GetParam());
    return options;
  }
  static const Fault& fault() { return std::get<Fault>(GetParam()); }
  int try_every_call();
};

// Each n-th call fails, in load, warm-up and run, until there are no more of them.
TEST_P(VulkanFaults, EveryFailedCallIsAnErrorAndNothingLeaks) {
  Gpu& gpu = *vulkan_.gpu(0);
  const bool views = std::string(fault().call) == "vkCreateBufferView";
  if (views && !gpu.reads_texels()) GTEST_SKIP() << "this device's kernels read no texels";
  const Api real = gpu.api;
  real_api = &real;
  failure = fault().result;
  fault().plant(&gpu.api);
  int errors = 0;
  for (const bool all : {true, false}) {
    for_good = all;
    errors += try_every_call();
  }
  for_good = false;
  until_failure = 0;
  EXPECT_GT(errors, 0) << "a call that always fails is an error";
  ASSERT_EQ(load(), Error::kOk) << "nothing fails any more: " << report_.message;
  EXPECT_EQ(run(), Error::kOk);
  unload();
  gpu.api = real;
  EXPECT_EQ(vulkan_.messages(), 0u);
}

// The errors that there were.
int VulkanFaults::try_every_call() {
  int errors = 0;
  for (int n = 1; n < 200; ++n) {
    until_failure = n;
    Error error = load();
    if (error == Error::kOk) error = run();
    const bool failed = until_failure <= 0;
    unload();
    EXPECT_EQ(vulkan_.live_blocks(), 0u) << fault().call << " " << n;
    EXPECT_EQ(vulkan_.live_streams(), 0u) << fault().call << " " << n;
    EXPECT_EQ(backend_.constants().blobs(), 0u) << fault().call << " " << n;
    if (error != Error::kOk) ++errors;
    if (!failed) break;
  }
  return errors;
}

INSTANTIATE_TEST_SUITE_P(Calls, VulkanFaults, ::testing::Combine(::testing::ValuesIn(kFaults), ::testing::Bool()),
                         [](const auto& one) {
                           const std::string call = std::get<Fault>(one.param).call;
                           return call + (std::get<bool>(one.param) ? "OfStages" : "");
                         });

// A stream that waits for another, and cannot, gives up what it was to bring to the host: the caller may have freed the
// target by the time that the stream ends.
TEST(VulkanStages, ACopyThatCouldNotBeWaitedForNeverArrives) {
  VulkanOptions options = validated();
  options.staged = true;
  VulkanAllocator vulkan(options);
  if (vulkan.device_count() == 0) GTEST_SKIP() << vulkan.describe();
  constexpr size_t kBytes = 256;
  const auto memory = vulkan.allocate(kBytes, 0, 16), elsewhere = vulkan.allocate(kBytes, 0, 16);
  const auto stream = vulkan.create_stream(0), other = vulkan.create_stream(0);
  ASSERT_TRUE(memory.ok() && elsewhere.ok() && stream.ok() && other.ok());
  const std::vector<uint8_t> bytes(kBytes, 7);
  std::vector<uint8_t> target(kBytes, 1);
  ASSERT_EQ(vulkan.copy_host_to_device(*memory, bytes.data(), kBytes, 0, *stream), Error::kOk);
  const auto begun = vulkan.begin_copy_to_host(target.data(), *memory, kBytes, 0, *stream);
  ASSERT_TRUE(begun.ok());
  EXPECT_NE(*begun, 0u);
  ASSERT_EQ(vulkan.copy_host_to_device(*elsewhere, bytes.data(), kBytes, 0, *other), Error::kOk);
  ASSERT_EQ(vulkan.record(*other, 0), Error::kOk);
  ASSERT_EQ(vulkan.wait(*stream, 0, *other, 0), Error::kOk);
  Gpu& gpu = *vulkan.gpu(0);
  const Api real = gpu.api;
  real_api = &real;
  failure = VK_ERROR_DEVICE_LOST;
  until_failure = 1;
  Failing<&Api::vkWaitSemaphores>::plant(&gpu.api);
  EXPECT_NE(vulkan.synchronize(*stream, 0), Error::kOk);
  gpu.api = real;
  target.assign(kBytes, 1);
  vulkan.destroy_stream(*stream, 0);
  EXPECT_EQ(target, std::vector<uint8_t>(kBytes, 1));
  vulkan.destroy_stream(*other, 0);
  vulkan.deallocate(*memory, 0);
  vulkan.deallocate(*elsewhere, 0);
  EXPECT_EQ(vulkan.messages(), 0u);
}

TEST(VulkanAllocator, WithoutADriverSaysSo) {
  const char* const before = std::getenv("VK_ICD_FILENAMES");
  const std::string kept = before == nullptr ? "" : before;
  setenv("VK_ICD_FILENAMES", "/nowhere.json", 1);
  {
    const VulkanOptions options;
    VulkanAllocator none(options);
    EXPECT_EQ(none.device_count(), 0);
    EXPECT_NE(none.describe(), "");
    EXPECT_EQ(none.allocate(16, 0).error(), Error::kInvalidArgument);
    EXPECT_EQ(none.create_stream(0).error(), Error::kInvalidArgument);
  }
  before == nullptr ? unsetenv("VK_ICD_FILENAMES") : setenv("VK_ICD_FILENAMES", kept.c_str(), 1);
}

// What one process has compiled is in the file for the next, which reads it, and which works without it too.
TEST_F(VulkanRuns, KernelsAreKeptInAFile) {
  const std::string path = ::testing::TempDir() + "/kernels_of_runs_" + std::to_string(getpid());
  const auto run_with_file = [&](uint64_t expected_bytes) {
    VulkanOptions options = validated();
    options.pipeline_cache = path;
    VulkanAllocator allocator(options);
    ASSERT_NE(allocator.gpu(0), nullptr);
    const uint32_t constants[] = {1, 0, 0, 0};
    EXPECT_EQ(allocator.gpu(0)->cached_bytes() > 0, expected_bytes > 0);
    FirstRuns runs(allocator.gpu(0));
    EXPECT_TRUE(allocator.gpu(0)->pipeline(ShaderId::elementwise_4, constants, {}, &runs).ok());
    EXPECT_EQ(allocator.messages(), 0u);
  };
  run_with_file(0);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  ASSERT_TRUE(file.good());
  EXPECT_GT(file.tellg(), 40);
  run_with_file(1);
  std::ofstream(path, std::ios::binary | std::ios::in).seekp(30).put('x');
  run_with_file(0);
  run_with_file(1);
  std::remove(path.c_str());
}

TEST_F(VulkanRuns, AddressesAreNeverUsedAgain) {
  const Result<void*> first = vulkan_.allocate(64, 0);
  ASSERT_TRUE(first.ok());
  vulkan_.deallocate(*first, 0);
  const Result<void*> second = vulkan_.allocate(64, 0);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*first, *second) << "a recording of the first would be taken for one of the second";
  uint8_t host[4] = {};
  EXPECT_EQ(vulkan_.copy_host_to_device(*first, host, 4, 0), Error::kInvalidArgument);
  vulkan_.deallocate(*second, 0);
}

}  // namespace
}  // namespace berth::vulkan
