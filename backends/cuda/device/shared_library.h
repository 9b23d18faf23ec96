// SharedLibrary: a library that is opened when it is first wanted, so that a program does without it where it is not.
#pragma once

#include <dlfcn.h>

namespace berth::cuda {

/// Stays open to the end of the process: what it has made may be used until then.
class SharedLibrary {
 public:
  /// The first of the names (null-terminated; null for none) that opens.
  explicit SharedLibrary(const char* first, const char* second = nullptr) {
    handle_ = dlopen(first, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr && second != nullptr) handle_ = dlopen(second, RTLD_NOW | RTLD_LOCAL);
  }

  bool is_open() const { return handle_ != nullptr; }

  /// Sets `*function` to the one of this name. False when it is not there.
  template <typename Function>
  bool find(const char* name, Function** function) const {
    *function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    return *function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace berth::cuda
