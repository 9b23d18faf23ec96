// Samples: arrays for all inputs of a model, several times over. From files, or random.
//
// A folder holds either one folder for each sample, in the order of their names, with X.npy for each input X; or, of
// one sample, these files themselves; or, for a model with one input, any .npy files, a sample each. Where the names of
// inputs are not known, or are not names of files, in0.npy, in1.npy… stand for the inputs in order.
#pragma once

#include <CLI/CLI.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/failure.h"
#include "tools/npy.h"

namespace berth::tool {

/// An input or output: a tensor whose sizes are between `lower` and `upper`.
struct Port {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> lower;
  std::vector<int64_t> upper;
};

/// "f32[1..8,10]".
std::string type_text(const Port& port);

/// Random numbers in ranges that suit most models: floats from -1 to 1, integers from 0 to 9, booleans. Zeros for types
/// that are not numbers.
Array random_array(DType dtype, const std::vector<int64_t>& shape, std::mt19937& random);

/// Whether `array` is for `port`; elements that NumPy does not have, stored as integers of the same size, become the
/// port's. InvalidArgument with `place` for another type or size.
Status fit(Array& array, const Port& port, const std::string& place);

struct SampleRequest {
  std::string folder;              // empty: `files`
  std::vector<std::string> files;  // of one sample: "X.npy" in order, or "NAME=X.npy"; empty: random
  int random = 1;                  // so many random samples, of the largest sizes
  uint32_t seed = 0;
};

/// Adds --inputs, --input, --runs and --seed.
void add_samples(CLI::App& command, SampleRequest& samples);

class Samples {
 public:
  /// Finds the files of all samples for `inputs`. NotFound, InvalidArgument with the folder or file as place.
  static Expected<Samples> find(const SampleRequest& request, const std::vector<Port>& inputs);

  size_t size() const { return names_.size(); }
  /// The folder or file, or "random 3".
  const std::string& name(size_t sample) const { return names_[sample]; }
  /// Reads, or makes up, the arrays of a sample, one for each input; each fits its port.
  Expected<std::vector<Array>> read(size_t sample) const;
  /// All files.
  std::vector<std::string> files() const;

 private:
  Status find_in_folder(const std::string& folder);
  bool take_named(const std::string& folder, std::vector<std::string>* files) const;
  Status assign(const std::vector<std::string>& texts);

  std::vector<Port> inputs_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> files_;  // of each sample; empty: random
  uint32_t seed_ = 0;
};

}  // namespace berth::tool
