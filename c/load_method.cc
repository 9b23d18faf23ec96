// Loading methods: into memory of the caller's, or of the heap and the devices.
#include "base/mapped_file.h"
#include "base/math.h"
#include "c/method.h"

namespace berth::c {
namespace {

constexpr size_t kBlockAlignment = 64;

size_t up_to_block(size_t bytes) { return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment; }

template <typename T>
Span<T> make_list(void* handle, size_t offset, size_t count) {
  T* const first = reinterpret_cast<T*>(static_cast<char*>(handle) + offset);
  for (size_t i = 0; i < count; ++i) new (first + i) T();
  return {first, count};
}

berth_method* make_handle(void* memory, berth_program* program, const MethodMeta& meta) {
  auto* const method = new (memory) berth_method(program);
  const HandleLayout layout(meta);
  method->inputs = make_list<Bound>(memory, layout.inputs, meta.num_inputs());
  method->outputs = make_list<Bound>(memory, layout.outputs, meta.num_outputs());
  method->numbers = make_list<int64_t>(memory, layout.numbers, meta.num_outputs());
  method->arenas = make_list<Span<uint8_t>>(memory, layout.arenas, meta.num_memory_planned_buffers());
  method->devices = make_list<Device>(memory, layout.devices, meta.num_memory_planned_buffers());
  return method;
}

struct CloseMethod {
  void operator()(berth_method* method) const {
    const bool callers = method->in_callers_memory;
    method->~berth_method();
    if (!callers) ::operator delete(method);
  }
};
using OwnedMethod = std::unique_ptr<berth_method, CloseMethod>;

ThreadPool* pool_of(const berth_threads* threads) { return threads == nullptr ? nullptr : threads->pool.get(); }

// A number or text was compiled into the program: it is its own input.
Status set_what_is_compiled_in(berth_method& method) {
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    const auto tag = method.method().meta().input_tag(i);
    if (tag.ok() && *tag == Tag::kTensor) continue;
    const Error error = method.method().set_input(i, method.method().get_input(i));
    if (error != Error::kOk) return failure_of(error, method.method().last_report());
  }
  return Done{};
}

Failure too_little(const char* what, size_t found, size_t needed) {
  return Failure{Error::kMemoryAllocationFailed, what,
                 "expected " + std::to_string(needed) + " bytes at a multiple of 64, found " + std::to_string(found)};
}

bool is_block(const berth_block& block) { return reinterpret_cast<uintptr_t>(block.data) % kBlockAlignment == 0; }

Status load_there(berth_method& method, const char* name, const berth_memory& memory, ThreadPool* pool, size_t used) {
  const Program& program = *method.program->program;
  for (size_t i = 0; i < method.arenas.size(); ++i) {
    method.arenas[i] = {static_cast<uint8_t*>(memory.arenas[i].data), memory.arenas[i].size};
    method.devices[i] = *program.method_meta(name)->memory_planned_buffer_device(i);
  }
  MemoryAllocator allocator({static_cast<uint8_t*>(memory.method.data) + used, memory.method.size - used});
  const HierarchicalAllocator planned(method.arenas, method.devices);
  const MemoryManager manager(allocator, planned, {static_cast<uint8_t*>(memory.temp.data), memory.temp.size});
  format::Report report;
  MethodOptions options{pool, &report, nullptr};
  options.fetch.call = [](void*, Span<const uint8_t> from, void* to) { return MappedFile::read(from, to); };
  EventScope scope(method.program->events(), Event::Kind::kLoad, name, "method");
  auto loaded = program.load_method(name, manager, options);
  if (!loaded.ok()) return failure_of(scope.ends_with(loaded.error()), report, method.program->source.place());
  method.own.emplace(std::move(loaded).value());
  if (method.program->events() == nullptr) return Done{};
  method.instructions.emplace(method.program->events());
  method.own->set_observer(&*method.instructions);
  return Done{};
}

Expected<OwnedMethod> load_into(berth_program* program, const char* name, const MethodMeta& meta,
                                const berth_method_options& options) {
  BERTH_ASSIGN_OR_RETURN(const berth_memory memory,
                         known_part(options.memory, "berth_memory", BERTH_SIZE_UP_TO(berth_memory, num_arenas)));
  if (options.arenas != nullptr || options.resident != 0) {
    return Failure{Error::kInvalidArgument, "berth_method_options",
                   "memory of the caller's goes neither together with arenas nor with resident"};
  }
  const size_t arenas = meta.num_memory_planned_buffers();
  if (memory.num_arenas != arenas || (arenas > 0 && memory.arenas == nullptr)) {
    return Failure{Error::kInvalidArgument, "berth_memory.arenas",
                   "expected " + std::to_string(arenas) + ", found " + std::to_string(memory.num_arenas)};
  }
  const size_t used = HandleLayout(meta).bytes;
  if (memory.method.data == nullptr || memory.method.size < used || !is_block(memory.method)) {
    const auto needed = program->program->memory_needed(name);
    return too_little("berth_memory.method", memory.method.size, used + (needed.ok() ? needed->method_bytes : 0));
  }
  if (!is_block(memory.temp)) return too_little("berth_memory.temp", memory.temp.size, memory.temp.size);
  OwnedMethod method(make_handle(memory.method.data, program, meta));
  method->in_callers_memory = true;
  BERTH_TRY(load_there(*method, name, memory, pool_of(options.threads), used));
  return method;
}

Expected<OwnedMethod> load_on_heap(berth_program* program, const char* name, const MethodMeta& meta,
                                   const berth_method_options& options) {
  OwnedMethod method(make_handle(::operator new(HandleLayout(meta).bytes), program, meta));
  format::Report report;
  HostOptions host;
  host.pool = pool_of(options.threads);
  host.arenas = options.arenas == nullptr ? nullptr : &options.arenas->arenas;
  host.temp = options.threads == nullptr ? nullptr : &options.threads->temp;
  host.events = program->events();
  host.report = &report;
  host.resident = options.resident != 0;
  auto loaded = HostMethod::load(*program->program, name, host);
  if (!loaded.ok()) return failure_of(loaded.error(), report, program->source.place());
  method->host.emplace(std::move(loaded).value());
  method->uses_arenas = Use(options.arenas);
  return method;
}

Status measure(const berth_program& program, const char* name, const MethodMeta& meta, const berth_threads* threads,
               const berth_block& given, berth_memory_needed* needed) {
  format::Report report;
  const auto least = program.program->memory_needed(name, {}, 1, &report);
  if (!least.ok()) return failure_of(least.error(), report, program.source.place());
  berth_memory_needed filled = {};
  filled.method_bytes = HandleLayout(meta).bytes + least->method_bytes;
  filled.arena_bytes = least->arena_bytes;
  HostBuffer heap;
  Span<uint8_t> scratch(static_cast<uint8_t*>(given.data), given.size);
  if (given.data == nullptr) {
    auto made = HostBuffer::make(least->method_bytes);
    if (!made.ok()) return too_little("scratch", 0, least->method_bytes);
    heap = std::move(made).value();
    scratch = heap.bytes();
  } else if (given.size < least->method_bytes || !is_block(given)) {
    BERTH_TRY(fill(needed, "berth_memory_needed", filled));
    return too_little("scratch", given.size, least->method_bytes);
  }
  ThreadPool* const pool = pool_of(threads);
  const auto all = program.program->memory_needed(name, scratch, pool == nullptr ? 1 : pool->size(), &report);
  if (!all.ok()) return failure_of(all.error(), report, program.source.place());
  filled.temp_bytes = all->temp_bytes;
  return fill(needed, "berth_memory_needed", filled);
}

}  // namespace

HandleLayout::HandleLayout(const MethodMeta& meta) {
  const auto end = [](size_t begin, size_t count, size_t each) { return up_to_block(begin + count * each); };
  inputs = up_to_block(sizeof(berth_method));
  outputs = end(inputs, meta.num_inputs(), sizeof(Bound));
  numbers = end(outputs, meta.num_outputs(), sizeof(Bound));
  arenas = end(numbers, meta.num_outputs(), sizeof(int64_t));
  devices = end(arenas, meta.num_memory_planned_buffers(), sizeof(Span<uint8_t>));
  bytes = end(devices, meta.num_memory_planned_buffers(), sizeof(Device));
}

}  // namespace berth::c

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

int32_t berth_program_memory(const berth_program* program, const char* method, const berth_threads* threads,
                             berth_block scratch, berth_memory_needed* needed, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, method));
    BERTH_TRY(check_if_given(threads, Handle::Kind::kThreads));
    return measure(*program, method, meta, threads, scratch, needed);
  });
}

int32_t berth_method_load(berth_program* program, const char* name, const berth_method_options* given,
                          berth_method** loaded, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, name));
    if (loaded == nullptr) return is_null("loaded");
    BERTH_ASSIGN_OR_RETURN(const berth_method_options options, known_part(given, "berth_method_options"));
    BERTH_TRY(check_if_given(options.threads, Handle::Kind::kThreads));
    BERTH_TRY(check_if_given(options.arenas, Handle::Kind::kArenas));
    if (options.arenas != nullptr && options.arenas->program != program) {
      return Failure{Error::kInvalidArgument, "berth_method_options.arenas", "are those of another program"};
    }
    const auto load = options.memory != nullptr ? load_into : load_on_heap;
    BERTH_ASSIGN_OR_RETURN(OwnedMethod method, load(program, name, meta, options));
    method->uses_threads = Use(options.threads);
    BERTH_TRY(set_what_is_compiled_in(*method));
    add_open(method.get());
    *loaded = method.release();
    return Done{};
  });
}

int32_t berth_method_close(berth_method* method, berth_error* error) {
  if (method == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(method, Handle::Kind::kMethod));
    CloseMethod()(method);
    return Done{};
  });
}
