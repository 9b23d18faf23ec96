// SharedLibrary: a library that is opened when it is first wanted, so that a program does without it where it is not.
//
// What a file calls of one is a list, from which a struct of pointers and its finding are made:
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

// "libfoo.so." BERTH_TEXT(FOO_MAJOR): a number that is a macro as text.
#define BERTH_TEXT_OF(x) #x
#define BERTH_TEXT(x) BERTH_TEXT_OF(x)

namespace berth {

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

}  // namespace berth
