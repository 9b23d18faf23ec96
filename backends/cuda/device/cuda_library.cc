#include "backends/cuda/device/cuda_library.h"

#include <cstdlib>
#include <string>

#include "runtime/log.h"

namespace berth::cuda {

SharedLibrary open_library(const char* name, const char* folder, const char* consequence) {
  const char* variable = std::getenv("BERTH_CUDA_LIBRARY_PATH");
  std::string folders = variable == nullptr ? "" : variable;
  if (folder[0] != '\0') folders += std::string(folders.empty() ? "" : ":") + folder;
  SharedLibrary library(name);
  for (size_t begin = 0; begin < folders.size() && !library.is_open();) {
    const size_t end = folders.find(':', begin) == std::string::npos ? folders.size() : folders.find(':', begin);
    const std::string path = folders.substr(begin, end - begin) + "/" + name;
    if (end > begin) library = SharedLibrary(path.c_str());
    begin = end + 1;
  }
  if (!library.is_open()) {
    log_message(LogLevel::kWarning,
                "cuda: %s is neither where the loader looks nor in %s (BERTH_CUDA_LIBRARY_PATH); %s", name,
                folders.empty() ? "any other folder" : folders.c_str(), consequence);
  }
  return library;
}

}  // namespace berth::cuda
