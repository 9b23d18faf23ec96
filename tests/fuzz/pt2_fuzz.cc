// Imports any bytes as an archive of torch.export: as the whole file when they begin as a ZIP does, else as the model's
// JSON in an archive that holds a few weights. What imports must be sound IR: the verifier is the judge.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "compiler/import/pt2/import_pt2.h"
#include "compiler/import/pt2/zip_testing.h"
#include "compiler/ir/verify.h"

namespace {

// Weights "w" [2, 2] and "b" [2], and a constant "c" of two integers: what the corpus asks for.
constexpr char kWeights[] =
    R"({"config":{"w":{"path_name":"weight_0","use_pickle":false,"tensor_meta":{"dtype":7,"sizes":[{"as_int":2},{"as_int":2}],)"
    R"("strides":[{"as_int":1},{"as_int":2}],"storage_offset":{"as_int":0},"layout":7}},)"
    R"("b":{"path_name":"weight_0","use_pickle":false,"tensor_meta":{"dtype":7,"sizes":[{"as_int":2}],)"
    R"("strides":[{"as_int":1}],"storage_offset":{"as_int":1},"layout":7}}}})";
constexpr char kConstants[] =
    R"({"config":{"c":{"path_name":"tensor_0","use_pickle":false,"tensor_meta":{"dtype":5,"sizes":[{"as_int":2}],)"
    R"("strides":[{"as_int":1}],"storage_offset":{"as_int":0},"layout":7}}}})";

std::string archive_of(const std::string& json) {
  berth::pt2::TestArchive archive;
  archive.add("m/models/model.json", json);
  archive.add("m/data/weights/model_weights_config.json", kWeights);
  archive.add("m/data/weights/weight_0", std::string(16, '\0'));
  archive.add("m/data/constants/model_constants_config.json", kConstants);
  archive.add("m/data/constants/tensor_0", std::string(16, '\0'));
  return archive.bytes();
}

void import(const uint8_t* data, size_t size) {
  berth::ImportOptions options;
  options.input_shapes = {{"x", "1..4x3"}};  // the corpus has an input of this name without a bound
  for (const bool with_shapes : {false, true}) {
    auto module =
        berth::import_pt2(berth::Span<const uint8_t>(data, size), with_shapes ? options : berth::ImportOptions());
    if (module.ok()) {
      BERTH_CHECK(berth::ir::verify(*module).ok());
    } else {
      BERTH_CHECK(!module.error().message.empty());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
    import(data, size);
  } else {
    const std::string archive = archive_of(std::string(reinterpret_cast<const char*>(data), size));
    import(reinterpret_cast<const uint8_t*>(archive.data()), archive.size());
  }
  return 0;
}
