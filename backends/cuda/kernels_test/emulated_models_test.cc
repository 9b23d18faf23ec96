// The models that the repository holds, compiled for cuda:0 and run by this room's kernels as plain C++, against
// PyTorch's outputs.
#include "backends/cuda/kernels_test/emulated_backend.h"
#include "backends/cuda/kernels_test/suite_models.h"
#include "tests/device/loaded_model.h"

namespace berth {
namespace {

class CudaModels : public testing::TestWithParam<const char*> {};

TEST_P(CudaModels, MatchPyTorch) {
  const cuda::ModelOfSuite model(GetParam());
  const std::vector<uint8_t> file = model.compiled();
  SimAllocator sim;
  cuda::EmulatedBackend backend(&sim);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(DeviceType::kCuda, &sim), Error::kOk);
  device_tests::LoadedModel loaded(file, backend, registry, false);
  ASSERT_TRUE(loaded.ok());
  model.expect_pytorchs_output(loaded.method());
  EXPECT_EQ(backend.fault(), cuda::kNoFault);
  EXPECT_GE(sim.counts().host_to_device.count, 1u) << "nothing ran on the device";
}

INSTANTIATE_TEST_SUITE_P(Repository, CudaModels, testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

}  // namespace
}  // namespace berth
