// NestedDelegate::run: a delegate whose backend records is recorded the second time that it is called with the same
// addresses and sizes, or before the first run, with the planned ones, by warm_up(). Later calls replay the recording.
//
// A recording is all that the kernels queued: with the same arguments they would queue the same again, since a nested
// program reads no elements on the host (check_nested.h).

#include "backends/nested/nested_delegate.h"
#include "runtime/log.h"

namespace berth {

void NestedDelegate::reserve_recordings(Span<EValue* const> args) {
  planned_args.assign(args.begin(), args.end());
  size_t words = 0;
  size_t sizes = 0;
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const size_t rank = inner_port(i).rank();
    words += i < inputs ? 1 + rank : 1;
    if (i >= inputs) sizes += rank;
  }
  words += 1;  // the scratch
  arguments.reserve(words);
  recordings.reserve(words, sizes);
}

void NestedDelegate::read_arguments() {
  arguments.clear();
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& port = inner_port(i);
    arguments.push_back(reinterpret_cast<uintptr_t>(port.raw()));
    if (i >= inputs) continue;
    for (const int32_t size : port.sizes()) arguments.push_back(static_cast<uint32_t>(size));
  }
  // It may move where no input changes: what lies below it in the arena around has other sizes.
  arguments.push_back(reinterpret_cast<uintptr_t>(moved_scratch));
}

Error NestedDelegate::run(KernelContext& context, Span<EValue* const> args) {
  if (!backend.records() || !recordable || context.observer() != nullptr) return run_plainly(context, args);
  read_arguments();
  Recordings::Entry* entry = recordings.find(arguments);
  if (entry == nullptr) {
    entry = &recordings.oldest();
    discard(entry);
    recordings.add(*entry, arguments);
    if (!backend.records_at_once()) return run_plainly(context, args);
  }
  if (entry->recording != nullptr) return replay(context, *entry, args);
  switch (record(entry)) {
    case Recorded::kYes: return replay(context, *entry, args);
    case Recorded::kNotByDevice: recordable = false; break;
    case Recorded::kRunFailed: break;
  }
  return run_plainly(context, args);
}

NestedDelegate::Recorded NestedDelegate::record(Recordings::Entry* entry) {
  Error error = Error::kOk;
  if (backend.begin_recording(session) == Error::kOk) {
    method->set_observer(nullptr);
    error = method->execute();
    const Result<void*> recording = backend.end_recording(session);
    if (recording.ok()) entry->recording = *recording;
  }
  if (error != Error::kOk) {
    discard(entry);
    return Recorded::kRunFailed;
  }
  if (entry->recording == nullptr) {
    log_message(LogLevel::kWarning, "%s: a delegate runs without recordings", backend.name());
    return Recorded::kNotByDevice;
  }
  entry->sizes.clear();
  for (size_t i = inputs; i < inputs + outputs; ++i) {
    const Span<const int32_t> sizes = inner_port(i).sizes();
    entry->sizes.insert(entry->sizes.end(), sizes.begin(), sizes.end());
  }
  return Recorded::kYes;
}

Error NestedDelegate::replay(KernelContext& context, const Recordings::Entry& entry, Span<EValue* const> args) {
  const Error error = backend.replay(session, entry.recording);
  if (error != Error::kOk) return fail(context, error, "the device did not take the recorded run");
  size_t begin = 0;
  for (size_t i = 0; i < outputs; ++i) {
    const size_t rank = inner_port(inputs + i).rank();
    BERTH_RETURN_IF_ERROR(set_sizes(context, args, i, {entry.sizes.data() + begin, rank}));
    begin += rank;
  }
  return Error::kOk;
}

void NestedDelegate::discard(Recordings::Entry* entry) {
  if (entry->recording == nullptr) return;
  backend.discard(session, entry->recording);
  entry->recording = nullptr;
}

// With the arguments as they are at load: planned ones have their final addresses, and the sizes are the largest.
// Nothing is reported; the first run comes to the same errors.
void NestedDelegate::record_planned() {
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& tensor = planned_args[i]->tensor();
    if (tensor.raw() == nullptr && tensor.numel() > 0) return;
  }
  KernelContext context({}, nullptr);
  if (bind(context, planned_args) != Error::kOk || backend.begin(session, context) != Error::kOk) return;
  read_arguments();
  if (recordings.find(arguments) == nullptr) {
    Recordings::Entry& entry = recordings.oldest();
    discard(&entry);
    recordings.add(entry, arguments);
    recordable = record(&entry) != Recorded::kNotByDevice;
  }
  static_cast<void>(backend.end(session, context, Error::kOk));
  method->reset_execution();
}

}  // namespace berth
