#include "c/program.h"

#include "kernels/portable/portable.h"

namespace berth::c {
namespace {

constexpr size_t kHandleAlignment = 64;

Expected<std::vector<DeviceMapping>> mappings_of(const berth_load_options& options) {
  std::vector<DeviceMapping> mappings;
  if (options.num_devices > 0 && options.devices == nullptr) return is_null("berth_load_options.devices");
  for (size_t i = 0; i < options.num_devices; ++i) {
    BERTH_ASSIGN_OR_RETURN(const Device from, device_of(options.devices[i].from));
    BERTH_ASSIGN_OR_RETURN(const Device to, device_of(options.devices[i].to));
    mappings.push_back({from, to, options.devices[i].method});
  }
  return mappings;
}

struct CloseProgram {
  void operator()(berth_program* program) const {
    if (program->in_callers_memory) {
      program->~berth_program();
    } else {
      delete program;
    }
  }
};
using OwnedProgram = std::unique_ptr<berth_program, CloseProgram>;

Expected<OwnedProgram> make_handle(const berth_block& memory) {
  if (memory.data == nullptr) return OwnedProgram(new berth_program);
  if (memory.size < sizeof(berth_program) || reinterpret_cast<uintptr_t>(memory.data) % kHandleAlignment != 0) {
    return Failure{Error::kInvalidArgument, "berth_load_options.memory",
                   "expected " + std::to_string(sizeof(berth_program)) + " bytes at a multiple of 64, found " +
                       std::to_string(memory.size) + " bytes"};
  }
  OwnedProgram made(new (memory.data) berth_program);
  made->in_callers_memory = true;
  return made;
}

Status take_machine(const berth_machine* given, berth_program& program) {
  BERTH_TRY(check_if_given(given, Handle::Kind::kMachine));
  program.machine = given;
  program.uses_machine = Use(given);
  if (given != nullptr) return Done{};
  BERTH_ASSIGN_OR_RETURN(program.own_machine, make_machine(nullptr));
  program.machine = program.own_machine.get();
  return Done{};
}

Status take_observer(const berth_observer* given, berth_program& program) {
  if (given == nullptr) return Done{};
  BERTH_ASSIGN_OR_RETURN(const berth_observer observer,
                         known_part(given, "berth_observer", BERTH_SIZE_UP_TO(berth_observer, event)));
  if (observer.event == nullptr) return is_null("berth_observer.event");
  program.observer.emplace(observer);
  program.devices = std::make_unique<ObservedDevices>(program.machine->machine.registry(), &*program.observer);
  return Done{};
}

Status load(const berth_load_options& options, berth_program& program) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<DeviceMapping> mappings, mappings_of(options));
  format::Report report;
  LoadOptions load;
  load.verification = options.trusted != 0 ? Verification::kMinimal : Verification::kFull;
  load.registry = program.devices == nullptr ? &program.machine->machine.registry() : &program.devices->registry();
  load.backends = program.machine->machine.backends();
  load.devices = Span<const DeviceMapping>(mappings.data(), mappings.size());
  load.external = &program.data;
  load.report = &report;
  const KernelTable tables[] = {program.machine->kernels.table(), portable::kernels()};
  EventScope scope(program.events(), Event::Kind::kLoad, "", "program");
  auto loaded = Program::load(program.source.loader(), tables, load);
  if (!loaded.ok()) return program.source.failure(scope.ends_with(loaded.error()), report);
  program.program.emplace(std::move(loaded).value());
  if (options.num_data > 0) return program.data.open(*program.program, options.data, options.num_data);
  return program.data.open_beside(*program.program, program.source.place());
}

int32_t kind_of(Tag tag) {
  switch (tag) {
    case Tag::kTensor: return BERTH_IS_TENSOR;
    case Tag::kInt: return BERTH_IS_INT;
    case Tag::kDouble: return BERTH_IS_DOUBLE;
    case Tag::kBool: return BERTH_IS_BOOL;
    default: return BERTH_IS_OTHER;
  }
}

Status describe_port(const berth_program* program, const char* method, bool input, size_t index, berth_port* port) {
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, method));
  const auto tag = input ? meta.input_tag(index) : meta.output_tag(index);
  if (!tag.ok()) {
    const size_t count = input ? meta.num_inputs() : meta.num_outputs();
    return Failure{tag.error(), std::string(input ? "inputs[" : "outputs[") + std::to_string(index) + "]",
                   "the method has " + std::to_string(count) + " of them"};
  }
  const ValueNames names = input ? meta.input_names(index) : meta.output_names(index);
  berth_port filled = {};
  filled.name = names.name;
  filled.node = names.node;
  filled.kind = kind_of(*tag);
  const auto info = input ? meta.input_tensor_meta(index) : meta.output_tensor_meta(index);
  if (info.ok()) {
    filled.dtype = static_cast<int32_t>(info->dtype);
    filled.rank = static_cast<int32_t>(info->sizes.size());
    filled.is_dynamic = info->dynamism == ShapeDynamism::kStatic ? 0 : 1;
    filled.sizes = info->sizes.data();
    filled.dim_order = info->dim_order.data();
    filled.device = device_of(info->device);
    filled.is_planned = info->is_memory_planned ? 1 : 0;
    filled.bytes = info->nbytes;
  }
  return fill(port, "berth_port", filled);
}

}  // namespace

Expected<MethodMeta> meta_of(const berth_program* program, const char* method) {
  BERTH_TRY(check(program, Handle::Kind::kProgram));
  if (method == nullptr) return is_null("method");
  const auto meta = program->program->method_meta(method);
  if (meta.ok()) return *meta;
  std::string names;
  for (size_t i = 0; i < program->program->num_methods() && i < 16; ++i) {
    names += std::string(i == 0 ? "" : ", ") + program->program->method_name(i);
  }
  return Failure{meta.error(), "method " + std::string(method).substr(0, 64),
                 "the program has no such method; it has " + names};
}

}  // namespace berth::c

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

size_t berth_program_bytes() { return sizeof(berth_program); }

int32_t berth_program_open(const berth_source* source, const berth_load_options* given, berth_program** program,
                           berth_error* error) {
  return guarded(error, [&]() -> Status {
    if (source == nullptr || program == nullptr) return is_null(source == nullptr ? "berth_source" : "program");
    BERTH_ASSIGN_OR_RETURN(const berth_load_options options, known_part(given, "berth_load_options"));
    BERTH_ASSIGN_OR_RETURN(const berth_source known,
                           known_part(source, "berth_source", BERTH_SIZE_UP_TO(berth_source, path)));
    BERTH_ASSIGN_OR_RETURN(OwnedProgram made, make_handle(options.memory));
    BERTH_TRY(take_machine(options.machine, *made));
    BERTH_TRY(take_observer(options.observer, *made));
    BERTH_TRY(made->source.open(known));
    BERTH_TRY(load(options, *made));
    add_open(made.get());
    *program = made.release();
    return Done{};
  });
}

int32_t berth_program_close(berth_program* program, berth_error* error) {
  if (program == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(program, Handle::Kind::kProgram));
    CloseProgram()(program);
    return Done{};
  });
}

int32_t berth_program_set_data(berth_program* program, const berth_source* data, size_t num_data, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(program, Handle::Kind::kProgram));
    if (program->users > 0) {
      return Failure{Error::kInvalidState, "berth_program",
                     "has loaded methods, which read its data files; close these first"};
    }
    return program->data.open(*program->program, data, num_data);
  });
}

size_t berth_program_num_methods(const berth_program* program) {
  return check(program, Handle::Kind::kProgram).ok() ? program->program->num_methods() : 0;
}

const char* berth_program_method_name(const berth_program* program, size_t index) {
  return check(program, Handle::Kind::kProgram).ok() ? program->program->method_name(index) : nullptr;
}

int32_t berth_program_method(const berth_program* program, const char* method, berth_method_info* info,
                             berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, method));
    berth_method_info filled = {};
    filled.num_inputs = meta.num_inputs();
    filled.num_outputs = meta.num_outputs();
    filled.num_arenas = meta.num_memory_planned_buffers();
    filled.num_instructions = meta.num_instructions();
    filled.num_delegates = meta.num_delegates();
    return fill(info, "berth_method_info", filled);
  });
}

const char* berth_program_delegate(const berth_program* program, const char* method, size_t index) {
  const char* id = nullptr;
  guarded(nullptr, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, method));
    id = meta.delegate_id(index);
    return Done{};
  });
  return id;
}

int32_t berth_program_input(const berth_program* program, const char* method, size_t index, berth_port* port,
                            berth_error* error) {
  return guarded(error, [&] { return describe_port(program, method, true, index, port); });
}

int32_t berth_program_output(const berth_program* program, const char* method, size_t index, berth_port* port,
                             berth_error* error) {
  return guarded(error, [&] { return describe_port(program, method, false, index, port); });
}

int32_t berth_program_arena(const berth_program* program, const char* method, size_t index, berth_arena* arena,
                            berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, meta_of(program, method));
    const auto bytes = meta.memory_planned_buffer_size(index);
    const auto device = meta.memory_planned_buffer_device(index);
    if (!bytes.ok() || !device.ok()) {
      return Failure{Error::kInvalidArgument, "arenas[" + std::to_string(index) + "]",
                     "the method has " + std::to_string(meta.num_memory_planned_buffers()) + " of them"};
    }
    berth_arena filled = {};
    filled.bytes = *bytes;
    filled.alignment = meta.memory_planned_buffer_alignment(index);
    filled.device = device_of(*device);
    return fill(arena, "berth_arena", filled);
  });
}

int32_t berth_arenas_create(const berth_program* program, berth_arenas** arenas, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(program, Handle::Kind::kProgram));
    if (arenas == nullptr) return is_null("arenas");
    format::Report report;
    auto made = HostArenas::make(*program->program, &report);
    if (!made.ok()) return failure_of(made.error(), report, program->source.place());
    auto handle = std::make_unique<berth_arenas>(program, std::move(made).value());
    add_open(handle.get());
    *arenas = handle.release();
    return Done{};
  });
}

int32_t berth_arenas_close(berth_arenas* arenas, berth_error* error) {
  if (arenas == nullptr) return BERTH_OK;
  return guarded(error, [&]() -> Status {
    BERTH_TRY(remove_open(arenas, Handle::Kind::kArenas));
    delete arenas;
    return Done{};
  });
}
