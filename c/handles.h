// What all functions of the C API stand on: handles, errors, structures of other versions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "base/failure.h"
#include "c/berth.h"
#include "format/report.h"

namespace berth::c {

/// The first bytes of every handle. Open handles are a list, so that closing one twice is known without reading it.
struct Handle {
  enum class Kind : uint32_t { kMachine = 0xb1000001, kThreads, kProgram, kArenas, kMethod, kBlob, kTrace };

  explicit Handle(Kind handle_kind) : kind(handle_kind) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  const Kind kind;
  mutable std::atomic<int> users{0};  // open handles that were made of this one
  Handle* previous = nullptr;
  Handle* next = nullptr;
};

const char* to_string(Handle::Kind kind);

/// Adds a handle to the list of those that are open. Uses no heap.
void add_open(Handle* handle);
/// Takes it out. InvalidArgument when it is not an open handle of this kind, InvalidState when it has users.
Status remove_open(const void* handle, Handle::Kind kind);

/// Counts a user of a handle as long as it lives; of null, nothing.
class Use {
 public:
  Use() = default;
  explicit Use(const Handle* handle) : handle_(handle) {
    if (handle_ != nullptr) ++handle_->users;
  }
  Use(Use&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Use& operator=(Use&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Use() {
    if (handle_ != nullptr) --handle_->users;
  }

 private:
  const Handle* handle_ = nullptr;
};

/// InvalidArgument for null and for what is not such a handle.
Status check(const Handle* handle, Handle::Kind kind);
/// The same for "may be null".
inline Status check_if_given(const Handle* handle, Handle::Kind kind) {
  return handle == nullptr ? Status(Done{}) : check(handle, kind);
}

Failure is_null(const char* what);
/// A failure of the runtime with what it reported; without a report, the code's name.
Failure failure_of(Error code, const format::Report& report, const std::string& place = "");

/// Writes what `error` has room for and returns the code. `error` may be null.
int32_t tell(berth_error* error, Error code, const char* place, const char* message);

/// Runs `call`, which returns a Status; an exception that leaves it becomes an error.
template <typename Call>
int32_t guarded(berth_error* error, Call&& call) {
  try {
    const Status status = call();
    if (status.ok()) return BERTH_OK;
    return tell(error, status.error().code, status.error().place.c_str(), status.error().message.c_str());
  } catch (const std::bad_alloc&) {
    return tell(error, Error::kMemoryAllocationFailed, "", "the heap has too little memory");
  } catch (const std::exception& exception) {
    return tell(error, Error::kInternal, "", exception.what());
  } catch (...) {
    return tell(error, Error::kInternal, "", "an exception of an unknown kind");
  }
}

/// Bytes of a structure up to the end of a field.
#define BERTH_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(type::field))

/// The structure as this version knows it. Null: all zeros. InvalidArgument for a size below `least`: one that was not
/// set, or what is not such a structure.
template <typename T>
Expected<T> known_part(const T* from, const char* name, size_t least = sizeof(size_t)) {
  T known = {};
  if (from == nullptr) return known;
  if (from->size < least) {
    return Failure{Error::kInvalidArgument, name,
                   "its size is " + std::to_string(from->size) + "; expected sizeof(" + name + "), " +
                       std::to_string(sizeof known)};
  }
  std::memcpy(&known, from, std::min(from->size, sizeof known));
  return known;
}

/// Entry `index` of a list of structures, which all have the size of the first.
template <typename T>
const T* entry(const T* list, size_t index) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(list) + index * list->size);
}

/// Fills in a structure of the caller's, as far as it goes.
template <typename T>
Status fill(T* target, const char* name, T filled) {
  if (target == nullptr) return is_null(name);
  if (target->size < sizeof(size_t) + 1) {
    return Failure{Error::kInvalidArgument, name, std::string("its size is not set; expected sizeof(") + name + ")"};
  }
  filled.size = target->size;
  std::memcpy(target, &filled, std::min(target->size, sizeof filled));
  return Done{};
}

}  // namespace berth::c
