#include "c/handles.h"

#include <cstddef>
#include <mutex>

namespace berth::c {
namespace {

struct OpenHandles {
  std::mutex mutex;
  Handle* first = nullptr;
};
OpenHandles open_handles;  // constant-initialised

// At most `room` bytes of `text` with the final zero, never a part of a character.
void copy_text(char* to, size_t room, const char* text) {
  size_t size = strnlen(text, room);
  if (size == room) {
    size = room - 1;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0u) == 0x80u) --size;
  }
  std::memcpy(to, text, size);
  to[size] = '\0';
}

}  // namespace

const char* to_string(Handle::Kind kind) {
  switch (kind) {
    case Handle::Kind::kMachine: return "berth_machine";
    case Handle::Kind::kThreads: return "berth_threads";
    case Handle::Kind::kProgram: return "berth_program";
    case Handle::Kind::kArenas: return "berth_arenas";
    case Handle::Kind::kMethod: return "berth_method";
    case Handle::Kind::kBlob: return "berth_blob";
    case Handle::Kind::kTrace: return "berth_trace";
  }
  return "handle";
}

void add_open(Handle* handle) {
  const std::lock_guard<std::mutex> lock(open_handles.mutex);
  handle->next = open_handles.first;
  if (handle->next != nullptr) handle->next->previous = handle;
  open_handles.first = handle;
}

Status remove_open(const void* handle, Handle::Kind kind) {
  const std::lock_guard<std::mutex> lock(open_handles.mutex);
  Handle* found = open_handles.first;
  while (found != nullptr && found != handle) found = found->next;
  if (found == nullptr || found->kind != kind) {
    return Failure{Error::kInvalidArgument, to_string(kind), "is not open; was it closed before?"};
  }
  if (found->users > 0) {
    return Failure{Error::kInvalidState, to_string(kind),
                   "is still used by " + std::to_string(found->users) + " open handles; close these first"};
  }
  (found->previous == nullptr ? open_handles.first : found->previous->next) = found->next;
  if (found->next != nullptr) found->next->previous = found->previous;
  return Done{};
}

Status check(const Handle* handle, Handle::Kind kind) {
  if (handle == nullptr) return is_null(to_string(kind));
  if (handle->kind == kind) return Done{};
  return Failure{Error::kInvalidArgument, to_string(kind), "is not an open handle of this kind"};
}

Failure is_null(const char* what) { return Failure{Error::kInvalidArgument, what, "is null"}; }

Failure failure_of(Error code, const format::Report& report, const std::string& place) {
  const std::string within = report.place;
  const std::string between = place.empty() || within.empty() ? "" : ": ";
  const std::string where = within.rfind(place, 0) == 0 ? within : place + between + within;
  if (report.code == Error::kOk) return Failure{code, place, berth::to_string(code)};
  return Failure{report.code, where, report.message};
}

int32_t tell(berth_error* error, Error code, const char* place, const char* message) {
  if (error != nullptr && error->size >= BERTH_SIZE_UP_TO(berth_error, code)) {
    error->code = static_cast<int32_t>(code);
    if (error->size >= BERTH_SIZE_UP_TO(berth_error, place)) copy_text(error->place, sizeof error->place, place);
    if (error->size >= sizeof(berth_error)) copy_text(error->message, sizeof error->message, message);
  }
  return static_cast<int32_t>(code);
}

}  // namespace berth::c
