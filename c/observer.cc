#include "c/observer.h"

#include "c/blob.h"
#include "c/machine.h"

namespace berth::c {
namespace {

static_assert(static_cast<int>(Event::Kind::kLoad) == BERTH_EVENT_LOAD &&
              static_cast<int>(Event::Kind::kMemory) == BERTH_EVENT_MEMORY);

// An event of C as the trace keeps it.
void keep(void* self, const berth_event* told) {
  Event event;
  event.kind = static_cast<Event::Kind>(told->kind);
  event.phase = told->is_end != 0 ? Event::Phase::kEnd : Event::Phase::kBegin;
  event.method = told->method;
  event.name = told->name;
  event.index = told->index;
  event.bytes = told->bytes;
  event.device = Device(static_cast<DeviceType>(told->device.type), static_cast<DeviceIndex>(told->device.index));
  event.source = Device(static_cast<DeviceType>(told->source.type), static_cast<DeviceIndex>(told->source.index));
  event.result = static_cast<Error>(told->code);
  event.nanoseconds = told->nanoseconds;
  static_cast<ChromeTrace*>(self)->event(event);
}

}  // namespace

void CallersObserver::event(const Event& event) {
  berth_event told = {};
  told.size = sizeof told;
  told.kind = static_cast<int32_t>(event.kind);
  told.is_end = event.phase == Event::Phase::kEnd ? 1 : 0;
  told.method = event.method;
  told.name = event.name;
  told.index = event.index;
  told.bytes = event.bytes;
  told.device = device_of(event.device);
  told.source = device_of(event.source);
  told.code = static_cast<int32_t>(event.result);
  told.nanoseconds = event.nanoseconds;
  observer_.event(observer_.self, &told);
}

}  // namespace berth::c

berth_trace::berth_trace() : Handle(Kind::kTrace) {
  observer.size = sizeof observer;
  observer.self = &trace;
  observer.event = berth::c::keep;
}

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

int32_t berth_trace_create(berth_trace** trace, berth_error* error) {
  return guarded(error, [&]() -> Status {
    if (trace == nullptr) return is_null("trace");
    auto made = std::make_unique<berth_trace>();
    add_open(made.get());
    *trace = made.release();
    return Done{};
  });
}

const berth_observer* berth_trace_observer(const berth_trace* trace) {
  return check(trace, Handle::Kind::kTrace).ok() ? &trace->observer : nullptr;
}

int32_t berth_trace_json(const berth_trace* trace, berth_blob** json, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(trace, Handle::Kind::kTrace));
    if (json == nullptr) return is_null("json");
    auto made = std::make_unique<berth_blob>(trace->trace.json());
    add_open(made.get());
    *json = made.release();
    return Done{};
  });
}

int32_t berth_trace_close(berth_trace* trace, berth_error* error) {
  if (trace == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(trace, Handle::Kind::kTrace));
    delete trace;
    return Done{};
  });
}
