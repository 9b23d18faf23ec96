// The handles of programs and arenas.
#pragma once

#include <memory>
#include <optional>

#include "c/handles.h"
#include "c/machine.h"
#include "c/observer.h"
#include "c/source.h"
#include "runtime/host/host_method.h"
#include "runtime/program.h"

struct berth_program : berth::c::Handle {
  berth_program() : Handle(Kind::kProgram) {}

  bool in_callers_memory = false;
  std::unique_ptr<berth_machine> own_machine;
  const berth_machine* machine = nullptr;
  berth::c::Use uses_machine;
  std::optional<berth::c::CallersObserver> observer;
  std::unique_ptr<berth::ObservedDevices> devices;  // with an observer
  berth::c::SourceLoader source;
  berth::c::DataSet data;
  std::optional<berth::Program> program;

  /// Null: there is no observer.
  berth::EventObserver* events() { return observer.has_value() ? &*observer : nullptr; }
};

namespace berth::c {

/// What the program says about a method; NotFound, with the names of those that it has.
Expected<MethodMeta> meta_of(const berth_program* program, const char* method);

}  // namespace berth::c

struct berth_arenas : berth::c::Handle {
  explicit berth_arenas(const berth_program* of, berth::HostArenas made)
      : Handle(Kind::kArenas), program(of), uses_program(of), arenas(std::move(made)) {}

  const berth_program* program;
  berth::c::Use uses_program;
  berth::HostArenas arenas;
};
