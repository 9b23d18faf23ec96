#include "tools/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "compiler/ir/builder.h"
#include "tools/arrays.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

namespace fs = std::filesystem;

// What is in a folder, in the order of the names; of numbers in them, 2 before 10.
Expected<std::vector<fs::path>> listed(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) return Failure{Error::kNotFound, folder, "cannot be read as a folder: " + error.message()};
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    return strverscmp(x.c_str(), y.c_str()) < 0;
  });
  return paths;
}

}  // namespace

std::string type_text(const Port& port) {
  std::string text = std::string(to_string(port.dtype)) + "[";
  for (size_t d = 0; d < port.upper.size(); ++d) {
    text += d == 0 ? "" : ",";
    if (port.lower[d] != port.upper[d]) text += std::to_string(port.lower[d]) + "..";
    text += std::to_string(port.upper[d]);
  }
  return text + "]";
}

Array random_array(DType dtype, const std::vector<int64_t>& shape, std::mt19937& random) {
  Array array;
  array.dtype = dtype;
  array.shape = shape;
  const size_t element = element_size(dtype);
  size_t bytes = element;
  for (const int64_t size : shape) bytes *= size;
  array.bytes.resize(bytes);
  if (!is_real(dtype) && !is_narrow(dtype)) return array;
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> whole(0, dtype == DType::kBool ? 1 : 9);
  for (size_t i = 0; i + element <= bytes; i += element) {
    const double number = is_floating(dtype) || is_narrow_float(dtype) ? real(random) : whole(random);
    const std::vector<uint8_t> one = ir::element_bytes(dtype, number);
    std::memcpy(&array.bytes[i], one.data(), element);
  }
  return array;
}

Status fit(Array& array, const Port& port, const std::string& place) {
  const bool unknown_to_numpy = port.dtype == DType::kBF16 || is_complex(port.dtype) || port.dtype > DType::kBF16;
  const bool same_bits = array.dtype != port.dtype && !is_floating(array.dtype) && unknown_to_numpy &&
                         element_size(array.dtype) == element_size(port.dtype);
  if (same_bits) array.dtype = port.dtype;
  bool fits = array.dtype == port.dtype && array.shape.size() == port.upper.size();
  for (size_t d = 0; fits && d < array.shape.size(); ++d) {
    fits = array.shape[d] >= port.lower[d] && array.shape[d] <= port.upper[d];
  }
  if (fits) return Done{};
  return Failure{
      Error::kInvalidArgument, place,
      fmt::format("is {}, but input {} is {}", type_text(array.dtype, array.shape), port.name, type_text(port))};
}

bool Samples::take_named(const std::string& folder, std::vector<std::string>* files) const {
  files->clear();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::string path = fmt::format("{}/{}.npy", folder, inputs_[i].name);
    if (!fs::exists(path)) path = fmt::format("{}/in{}.npy", folder, i);
    if (!fs::exists(path)) return false;
    files->push_back(path);
  }
  return !files->empty();
}

Status Samples::find_in_folder(const std::string& folder) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<fs::path> paths, listed(folder));
  std::vector<std::string> files;
  std::vector<std::string> arrays;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      if (path.extension() == ".npy") arrays.push_back(path.string());
      continue;
    }
    if (take_named(path.string(), &files)) {
      names_.push_back(path.string());
      files_.push_back(files);
      continue;
    }
    std::string wanted;
    for (const Port& input : inputs_) wanted += (wanted.empty() ? "" : ", ") + input.name + ".npy";
    return Failure{Error::kNotFound, path.string(), "a sample's folder holds an array for each input: " + wanted};
  }
  if (!names_.empty() && !arrays.empty()) {
    return Failure{Error::kInvalidArgument, folder, "holds both folders and .npy files; a sample is one or the other"};
  }
  if (names_.empty() && take_named(folder, &files)) {
    // With more files than inputs it cannot be one sample of a model with one input.
    if (inputs_.size() > 1 || arrays.size() == 1) {
      names_.push_back(folder);
      files_.push_back(files);
      return Done{};
    }
  }
  if (inputs_.size() == 1) {
    for (const std::string& array : arrays) {
      names_.push_back(array);
      files_.push_back({array});
    }
  }
  if (!names_.empty()) return Done{};
  return Failure{Error::kNotFound, folder,
                 inputs_.size() == 1
                     ? "holds neither .npy files nor folders with them"
                     : fmt::format("holds no samples: a folder for each is expected, with an array for each of the {} "
                                   "inputs",
                                   inputs_.size())};
}

// Of one sample: "X.npy" in order, or "NAME=X.npy".
Status Samples::assign(const std::vector<std::string>& texts) {
  std::vector<std::string> files(inputs_.size());
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    size_t at = 0;
    while (at < files.size() &&
           (equals == std::string::npos ? !files[at].empty() : inputs_[at].name != text.substr(0, equals))) {
      ++at;
    }
    if (at >= files.size()) {
      return Failure{Error::kInvalidArgument, "--input " + text,
                     equals != std::string::npos
                         ? "the method has no input of that name; berth inspect lists them"
                         : "the method has only " + counted(static_cast<int64_t>(files.size()), "input")};
    }
    files[at] = text.substr(equals == std::string::npos ? 0 : equals + 1);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) {
      return Failure{Error::kInvalidArgument, "input " + inputs_[i].name, "is not given; --input gives it"};
    }
  }
  names_.push_back("--input");
  files_.push_back(std::move(files));
  return Done{};
}

Expected<Samples> Samples::find(const SampleRequest& request, const std::vector<Port>& inputs) {
  Samples samples;
  samples.inputs_ = inputs;
  samples.seed_ = request.seed;
  if (!request.folder.empty()) {
    BERTH_TRY(samples.find_in_folder(request.folder));
  } else if (!request.files.empty()) {
    BERTH_TRY(samples.assign(request.files));
  } else {
    for (int i = 0; i < request.random; ++i) samples.names_.push_back("random " + std::to_string(i));
    samples.files_.resize(samples.names_.size());
  }
  return samples;
}

Expected<std::vector<Array>> Samples::read(size_t sample) const {
  const std::vector<std::string>& files = files_[sample];
  std::vector<Array> arrays(inputs_.size());
  std::mt19937 random(seed_ + static_cast<uint32_t>(sample));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (files.empty()) {
      double bytes = static_cast<double>(element_size(inputs_[i].dtype));
      for (const int64_t size : inputs_[i].upper) bytes *= static_cast<double>(size);
      if (bytes > 4e9) {
        return Failure{Error::kOutOfResources, "input " + inputs_[i].name,
                       "is too large for random numbers, " + type_text(inputs_[i]) + "; --input-shape bounds it"};
      }
      arrays[i] = random_array(inputs_[i].dtype, inputs_[i].upper, random);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(arrays[i], read_npy(files[i]));
    BERTH_TRY(fit(arrays[i], inputs_[i], files[i]));
  }
  return arrays;
}

std::vector<std::string> Samples::files() const {
  std::vector<std::string> all;
  for (const std::vector<std::string>& files : files_) all.insert(all.end(), files.begin(), files.end());
  return all;
}

void add_samples(CLI::App& command, SampleRequest& samples) {
  command.add_option("--inputs", samples.folder,
                     "a folder of samples: a folder for each with X.npy for each input X; or, of a model with one "
                     "input, an .npy file for each");
  command.add_option("--input", samples.files, "one sample: X.npy in order, or NAME=X.npy")->allow_extra_args(false);
  command.add_option("--runs", samples.random, "without inputs: so many random samples")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--seed", samples.seed, "of the random samples; default: 0, with which run begins too");
}

}  // namespace berth::tool
