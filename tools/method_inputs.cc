#include "tools/method_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "runtime/host/dim_order_copy.h"
#include "tools/largest_sizes.h"
#include "tools/names.h"
#include "tools/samples.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

// The file that "X.npy" or "NAME=X.npy" names.
std::string file_of_input(const std::string& input) { return input.substr(input.find('=') + 1); }

// Assigns files to inputs, by name or in order.
Expected<std::vector<std::string>> assign_files(const LoadRequest& request, const MethodMeta& meta) {
  std::vector<std::string> files(meta.num_inputs());
  size_t next = 0;
  for (const std::string& text : request.inputs) {
    const size_t equals = text.find('=');
    size_t index = meta.num_inputs();
    if (equals != std::string::npos) {
      for (size_t i = 0; i < meta.num_inputs(); ++i) {
        if (port_name(meta.input_names(i).name, true, i) == text.substr(0, equals)) index = i;
      }
    } else {
      while (next < files.size() && !files[next].empty()) ++next;
      index = next;
    }
    if (index >= files.size()) {
      return Failure{Error::kInvalidArgument, "--input " + text,
                     equals != std::string::npos
                         ? "the method has no input of that name; berth inspect lists them"
                         : "the method has only " + counted(static_cast<int64_t>(files.size()), "input")};
    }
    files[index] = file_of_input(text);
  }
  return files;
}

// Copies an input to its device, if its memory is the caller's.
Status upload(LoadedMethod& loaded, size_t index, Device device, const Array& array, const void** data) {
  const DeviceAllocatorRegistry& registry = loaded.program->registry();
  loaded.inputs.resize(std::max(loaded.inputs.size(), index + 1));
  DeviceMemoryBuffer& buffer = loaded.inputs[index];
  const std::string place = "input " + std::to_string(index) + " on " + to_text(device).text;
  if (buffer.size() < array.bytes.size()) {
    auto made = DeviceMemoryBuffer::create(array.bytes.size(), device, DeviceAllocator::kDefaultAlignment, registry);
    if (!made.ok()) return Failure{made.error(), place, "its memory cannot be allocated"};
    buffer = std::move(made).value();
  }
  const Error error = registry.get_allocator(device.type)
                          ->copy_host_to_device(buffer.data(), array.bytes.data(), array.bytes.size(), device.index);
  if (error != Error::kOk) return Failure{error, place, "cannot be copied there"};
  *data = buffer.data();
  return Done{};
}

// Files are row-major; the program may use another dimension order.
void reorder(Array& array, Span<const uint8_t> dim_order) {
  const size_t rank = array.shape.size();
  if (dim_order.size() != rank || same_dim_order({}, dim_order, rank)) return;
  std::vector<int32_t> sizes;
  size_t bytes = element_size(array.dtype);
  for (const int64_t size : array.shape) {
    sizes.push_back(static_cast<int32_t>(size));
    bytes *= size;
  }
  if (bytes != array.bytes.size()) return;
  std::vector<uint8_t> reordered(bytes);
  copy_to_dim_order(array.bytes.data(), {}, reordered.data(), dim_order, sizes, element_size(array.dtype));
  array.bytes = std::move(reordered);
}

}  // namespace

Expected<std::vector<Array>> gather_inputs(const LoadRequest& request, Method& method) {
  const MethodMeta meta = method.meta();
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> files, assign_files(request, meta));
  std::vector<Array> arrays(files.size());
  std::mt19937 random(0);
  const std::vector<std::vector<int32_t>> largest = largest_sizes(meta);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].empty()) {
      BERTH_ASSIGN_OR_RETURN(arrays[i], read_npy(files[i]));
      continue;
    }
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) continue;
    arrays[i] = random_array(info->dtype, {largest[i].begin(), largest[i].end()}, random);
    // If some inputs were given, this one may have been forgotten.
    if (!request.inputs.empty()) {
      fmt::print(stderr, "berth: input {} is not given; using random numbers\n",
                 port_name(meta.input_names(i).name, true, i));
    }
  }
  return arrays;
}

Status set_inputs(LoadedMethod& loaded, std::vector<Array>& arrays) {
  Method& method = loaded.method->method();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const MethodMeta meta = method.meta();
    const auto tag = meta.input_tag(i);
    if (!tag.ok() || *tag != Tag::kTensor) {
      // Numbers and strings are compiled into the program, so its own values are the only valid ones.
      if (method.set_input(i, method.get_input(i)) == Error::kOk) continue;
      return Failure{method.last_report().code, port_name(meta.input_names(i).name, true, i),
                     method.last_report().message};
    }
    std::vector<int32_t> sizes;
    for (int64_t dim : arrays[i].shape) sizes.push_back(static_cast<int32_t>(std::min<int64_t>(dim, INT32_MAX)));
    const auto info = meta.input_tensor_meta(i);
    // Types that NumPy does not have are stored as integers of the same size.
    const bool same_bits = info.ok() && arrays[i].dtype != info->dtype && !is_floating(arrays[i].dtype) &&
                           (info->dtype == DType::kBF16 || is_complex(info->dtype) || info->dtype > DType::kBF16) &&
                           element_size(arrays[i].dtype) == element_size(info->dtype);
    const DType dtype = same_bits ? info->dtype : arrays[i].dtype;
    if (info.ok()) reorder(arrays[i], info->dim_order);
    const void* data = arrays[i].bytes.data();
    const Device device = info.ok() ? info->device : Device();
    if (!device.is_cpu()) BERTH_TRY(upload(loaded, i, device, arrays[i], &data));
    if (method.set_input(i, data, sizes, dtype, device) != Error::kOk) {
      const Report& report = method.last_report();
      return Failure{report.code, "input " + port_name(meta.input_names(i).name, true, i), report.message};
    }
  }
  return Done{};
}

std::vector<std::string> files_read(const LoadRequest& request, const LoadedMethod& loaded) {
  std::vector<std::string> files = loaded.data.files();
  files.push_back(request.program);
  for (const std::string& input : request.inputs) files.push_back(file_of_input(input));
  return files;
}

}  // namespace berth::tool
