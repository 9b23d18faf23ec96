#include "runtime/host/host_method.h"

#include <algorithm>
#include <cstring>

#include "base/mapped_file.h"
#include "base/math.h"
#include "format/tensor_facts.h"

namespace berth {
namespace {

// Clears large state without touching it at load: a cache is as large as the longest text needs, a language model has
// two of them for each layer, and a file may declare any size.
class LazyState {
 public:
  static constexpr size_t kLeastBytes = size_t{1} << 20;

  MemoryZeroer zeroer() { return {&LazyState::zero, this}; }

  // Makes the rest of `arena` resident.
  void make_others_resident(Span<uint8_t> arena) {
    std::sort(lazy_.begin(), lazy_.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
    uint8_t* at = arena.data();
    uint8_t* const end = arena.data() + arena.size();
    for (const Span<uint8_t>& lazy : lazy_) {
      if (lazy.data() < at || lazy.data() >= end) continue;
      make_resident({at, static_cast<size_t>(lazy.data() - at)});
      at = lazy.data() + lazy.size();
    }
    make_resident({at, static_cast<size_t>(end - at)});
  }

 private:
  static void zero(void* self, Span<uint8_t> memory) {
    if (memory.size() < kLeastBytes) {
      if (!memory.empty()) std::memset(memory.data(), 0, memory.size());
      return;
    }
    give_zero_pages(memory);
    static_cast<LazyState*>(self)->lazy_.push_back(memory);
  }

  std::vector<Span<uint8_t>> lazy_;
};

// The bytes of each arena up to the end of its last tensor; a file may declare it much larger.
std::vector<size_t> used_bytes(const Program& program, const char* name, size_t arenas) {
  std::vector<size_t> used(arenas, 0);
  const format::ProgramView view = program.view();
  const fb::ExecutionPlan& plan = view.method(view.find_method(name));
  for (int64_t i = 0; i < static_cast<int64_t>(format::length(plan.values())); ++i) {
    const fb::Tensor* tensor = format::tensor_at(plan, i);
    uint64_t end = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || !format::tensor_nbytes(*tensor, &end)) continue;
    const fb::AllocationDetails& place = *tensor->allocation_info();
    const size_t arena = size_t{place.memory_id()} - 1;
    if (arena >= arenas || !checked_add(end, format::planned_offset(place), &end)) continue;
    used[arena] = std::max(used[arena], static_cast<size_t>(end));
  }
  return used;
}

// Whether the method has other places for the arena's tensors at other sizes.
bool follows(const Method& method, size_t arena) {
  const fb::MethodMeta* names = method.meta().names();
  if (!method.follows_sizes() || names == nullptr) return false;
  for (uint32_t i = 0; i < format::length(names->stacks()); ++i) {
    if (names->stacks()->Get(i)->memory_id() == arena + 1) return true;
  }
  return false;
}

// The host's arenas up to their last tensors, but for large state that begins as zeros and for arenas that follow the
// sizes.
void make_arenas_resident(const Program& program, const char* name, const Method& method,
                          const HostArenas::View& arenas, LazyState* lazy) {
  const std::vector<size_t> used = used_bytes(program, name, arenas.spans.size());
  for (size_t i = 0; i < arenas.spans.size(); ++i) {
    const Span<uint8_t> arena = arenas.spans[i];
    if (!arenas.devices[i].is_cpu() || follows(method, i)) continue;
    lazy->make_others_resident(arena.subspan(0, std::min(used[i], arena.size())));
  }
}

void tell_memory(EventObserver* observer, const char* method, const char* what, size_t bytes, size_t index = 0) {
  Event event;
  event.kind = Event::Kind::kMemory;
  event.method = method;
  event.name = what;
  event.bytes = bytes;
  event.index = index;
  tell(observer, event);
}

}  // namespace

void HostMethod::Keeper::follow(void* keeper, size_t arena, uint64_t bytes) {
  constexpr int kChanges = 32;
  constexpr uint64_t kLeastBytes = 2 << 20;  // a large page, below which HostBuffer takes no pages of its own
  Kept& kept = static_cast<Keeper*>(keeper)->arenas_[arena];
  if (kept.memory.size() < kLeastBytes) return;
  kept.used = std::max(kept.used, bytes);
  kept.recent = std::max(kept.recent, bytes);
  const bool counted = ++kept.changes == kChanges;
  if (!counted && bytes >= kept.used / 4) return;
  const uint64_t keep = counted ? kept.recent : bytes;
  if (keep + kLeastBytes < kept.used) {
    give_zero_pages(kept.memory.subspan(keep, kept.used - keep));
    kept.used = keep;
  }
  kept.recent = bytes;
  kept.changes = 0;
}

Result<Span<uint8_t>> SharedTemp::at_least(size_t bytes) {
  for (HostBuffer& buffer : buffers_) {
    if (buffer.bytes().size() >= bytes) return buffer.bytes();
  }
  BERTH_ASSIGN_OR_RETURN(HostBuffer made, HostBuffer::make(bytes));
  buffers_.push_back(std::move(made));
  return buffers_.back().bytes();
}

Result<HostMethod> HostMethod::load(const Program& program, const char* name, const HostOptions& options) {
  Report* report = options.report;
  Report own;
  if (report == nullptr) report = &own;
  *report = Report();
  EventScope scope(options.events, Event::Kind::kLoad, name, "method");
  Result<HostMethod> loaded = load_all(program, name, options, report);
  if (!loaded.ok()) static_cast<void>(scope.ends_with(loaded.error()));
  return loaded;
}

Result<Span<uint8_t>> HostMethod::State::take_memory(const Program& program, const char* name,
                                                     const HostOptions& options, Report* report) {
  BERTH_ASSIGN_OR_RETURN(const MemoryNeeded least, program.memory_needed(name, {}, 1, report));
  Result<HostBuffer> scratch = HostBuffer::make(least.method_bytes);
  if (!scratch.ok()) {
    return format::fail(report, scratch.error(), "method memory", "%zu bytes cannot be allocated", least.method_bytes);
  }
  method_bytes = std::move(*scratch);
  tell_memory(options.events, name, "method", least.method_bytes);
  const int threads = options.pool == nullptr ? 1 : options.pool->size();
  BERTH_ASSIGN_OR_RETURN(needed, program.memory_needed(name, method_bytes.bytes(), threads, report));
  SharedTemp& temps = options.temp == nullptr ? own_temp : *options.temp;
  const Result<Span<uint8_t>> temp = temps.at_least(needed.temp_bytes);
  if (!temp.ok()) {
    return format::fail(report, temp.error(), "temp memory", "%zu bytes cannot be allocated", needed.temp_bytes);
  }
  tell_memory(options.events, name, "temp", needed.temp_bytes);
  if (options.resident) make_resident(*temp);
  return *temp;
}

Result<HostArenas::View> HostMethod::State::take_arenas(const Program& program, const char* name,
                                                        const HostOptions& options, Report* report) {
  if (options.callers != nullptr) return *options.callers;
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(name));
  if (options.arenas != nullptr) return options.arenas->view(meta);
  BERTH_ASSIGN_OR_RETURN(arenas, HostArenas::make(program, name, report));
  HostArenas::View view = arenas.view(meta);
  for (size_t i = 0; i < view.spans.size(); ++i) {
    // Those of devices are told of by their allocators.
    if (view.devices[i].is_cpu()) tell_memory(options.events, name, "arena", view.spans[i].size(), i + 1);
  }
  return view;
}

Result<HostMethod> HostMethod::load_all(const Program& program, const char* name, const HostOptions& options,
                                        Report* report) {
  auto state = std::make_unique<State>();
  BERTH_ASSIGN_OR_RETURN(const Span<uint8_t> temp, state->take_memory(program, name, options, report));
  BERTH_ASSIGN_OR_RETURN(const HostArenas::View arenas, state->take_arenas(program, name, options, report));
  MemoryAllocator allocator(state->method_bytes.bytes());
  const HierarchicalAllocator planned(arenas.spans, arenas.devices);
  const MemoryManager memory(allocator, planned, temp);
  MethodOptions method_options{options.pool, report, options.user};
  if (options.resident) method_options.read.call = [](void*, Span<const uint8_t> bytes) { prefault(bytes); };
  method_options.fetch.call = [](void*, Span<const uint8_t> from, void* to) { return MappedFile::read(from, to); };
  LazyState lazy;
  // The caller's memory may be anything that can be written, such as a mapped file: its pages stay.
  if (options.callers == nullptr) {
    method_options.zero = lazy.zeroer();
    for (size_t i = 0; i < arenas.spans.size(); ++i) {
      arenas.devices[i].is_cpu() ? state->keeper.add(arenas.spans[i]) : state->keeper.skip();
    }
    method_options.follow = state->keeper.follower();
  }
  Result<Method> method = program.load_method(name, memory, method_options);
  if (!method.ok()) return method.error();
  if (options.resident) make_arenas_resident(program, name, *method, arenas, &lazy);
  state->events = options.events;
  if (options.events != nullptr) state->instructions = std::make_unique<InstructionEvents>(options.events);
  HostMethod result(std::move(state), std::move(*method));
  BERTH_RETURN_IF_ERROR(result.bind_outputs(program, report));
  if (options.resident) result.method().warm_up();
  if (options.events != nullptr) result.method().set_observer(result.state_->instructions.get());
  return result;
}

Error HostMethod::bind_outputs(const Program& program, Report* report) {
  const MethodMeta meta = method_->meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned || method_->get_output(i).tensor().raw() != nullptr) continue;
    BERTH_RETURN_IF_ERROR(bind_output(program, i, *info, report));
  }
  return Error::kOk;
}

Error HostMethod::bind_output(const Program& program, size_t index, const TensorInfo& info, Report* report) {
  Error error = Error::kOk;
  Span<uint8_t> bytes;
  if (info.device.is_cpu()) {
    Result<HostBuffer> buffer = HostBuffer::make(info.nbytes);
    if (buffer.ok()) bytes = state_->outputs.emplace_back(std::move(*buffer)).bytes();
    if (!buffer.ok()) error = buffer.error();
  } else {
    Result<DeviceMemoryBuffer> buffer =
        DeviceMemoryBuffer::create(info.nbytes, info.device, DeviceAllocator::kDefaultAlignment, program.registry());
    if (buffer.ok()) bytes = state_->device_outputs.emplace_back(std::move(*buffer)).as_span();
    if (!buffer.ok()) error = buffer.error();
  }
  if (error != Error::kOk) {
    return format::fail(report, error, "outputs", "%zu bytes cannot be allocated on %s for output %zu", info.nbytes,
                        to_text(info.device).text, index);
  }
  // InvalidState: the output is also an input, whose memory is the caller's.
  error = method_->set_output_data_ptr(index, bytes.data(), bytes.size(), info.device);
  return error == Error::kInvalidState ? Error::kOk : error;
}

}  // namespace berth
