// SharedLibrary: a library that is opened at run time, so that a program also runs where it is missing.
//
// List the functions that a file calls; the macros make a struct of pointers and the code that looks them up:
//
//   #define FUNCTIONS(X) X(create, fooCreate) X(destroy, fooDestroy)
//   struct Api { FUNCTIONS(BERTH_LIBRARY_MEMBER) };
//   const Api* open_api() {
//     static Api api;
//     static const bool complete = [] {
//       const SharedLibrary library("libfoo.so.1");
//       return true FUNCTIONS(BERTH_LIBRARY_FIND);
//     }();
//     return complete ? &api : nullptr;
//   }
#pragma once

#include <dlfcn.h>

#define BERTH_LIBRARY_MEMBER(member, function) decltype(function)* member;
#define BERTH_LIBRARY_FIND(member, function) &&library.find(#function, &api.member)

// "libfoo.so." BERTH_TEXT(FOO_MAJOR): the value of a macro as text.
#define BERTH_TEXT_OF(x) #x
#define BERTH_TEXT(x) BERTH_TEXT_OF(x)

namespace berth {

/// The library stays open until the process ends, so objects that it created stay valid.
class SharedLibrary {
 public:
  /// Opens `first`, or if that fails `second`, which may be null.
  explicit SharedLibrary(const char* first, const char* second = nullptr) {
    handle_ = dlopen(first, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr && second != nullptr) handle_ = dlopen(second, RTLD_NOW | RTLD_LOCAL);
  }

  bool is_open() const { return handle_ != nullptr; }

  /// Sets `*function` to the function `name`; null, and returns false, when the library does not have it.
  template <typename Function>
  bool find(const char* name, Function** function) const {
    *function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    return *function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace berth
