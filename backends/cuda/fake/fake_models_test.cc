// The suite's models on the room's own allocator, streams and backend, with the fake runtime and the fake libraries
// (fake_runtime.h), against PyTorch's outputs. The fears: a graph that is made anew in each run, work outside of
// graphs, more launches than a model needs, since small models wait for launches and not for arithmetic.
#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#include "backends/cuda/fake/fake_runtime.h"
#include "backends/cuda/kernels_test/suite_models.h"
#include "tests/device/loaded_model.h"

namespace berth::cuda {
namespace {

struct Counted {
  const char* name;
  uint64_t most;  // launches a run
};
void PrintTo(const Counted& counted, std::ostream* to) { *to << counted.name; }

class FakeCudaModels : public testing::TestWithParam<Counted> {};

TEST_P(FakeCudaModels, AreOneGraphARunOfFewLaunches) {
  const ModelOfSuite model(GetParam().name);
  ASSERT_TRUE(model.exists() || std::getenv("BERTH_TEST_SUITE") == nullptr) << "it is not in the suite's folder";
  if (!model.exists()) GTEST_SKIP() << "not made here: ./dev nightly cuda-launches makes it";
  const std::vector<uint8_t> file = model.compiled();
  fake::reset(1);
  {
    CudaAllocator allocator;
    CudaBackend backend;
    DeviceAllocatorRegistry registry;
    ASSERT_EQ(registry.register_allocator(&allocator), Error::kOk);
    device_tests::LoadedModel loaded(file, backend, registry, true);  // which makes graphs
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(backend.counts().graphs, 1u);
    const uint64_t allocations = device_allocations();
    for (uint64_t turn = 1; turn <= 2; ++turn) {
      model.expect_pytorchs_output(loaded.method());
      EXPECT_EQ(backend.counts().submissions, turn) << "one delegate, and one graph a run";
      EXPECT_EQ(backend.replays(), turn);
    }
    EXPECT_EQ(fake::counts().launches, 0) << "what is not in a graph";
    EXPECT_EQ(backend.counts().graphs, 1u);
    EXPECT_EQ(backend.counts().fallbacks, 0u);
    EXPECT_EQ(device_allocations(), allocations);
    const uint64_t launches = backend.counts().dispatches / 2;
    EXPECT_LE(launches, GetParam().most);
    std::printf("%s: %d launches a run, %d of them calls of libraries\n", GetParam().name, static_cast<int>(launches),
                static_cast<int>(backend.counts().library_calls / 2));
  }
  EXPECT_EQ(fake::live(), 0);
}

INSTANTIATE_TEST_SUITE_P(Suite, FakeCudaModels,
                         testing::Values(Counted{"dscnn_kws", 12}, Counted{"lstm_tagger", 4}, Counted{"randwire", 89},
                                         Counted{"mobilenet_v2", 60}, Counted{"resnet50", 60}, Counted{"vit_small", 50},
                                         Counted{"gpt_small", 50}, Counted{"unet", 30}, Counted{"squeezenet1_1", 31},
                                         Counted{"resnet18", 23}, Counted{"shufflenet_v2", 88},
                                         Counted{"mobilenet_v3_small", 73}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace berth::cuda
