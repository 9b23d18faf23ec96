// Arenas: memory for the arenas of a program's methods, shared by them or the caller's.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "python/arrays.h"
#include "python/casters.h"
#include "python/program.h"
#include "python/turn.h"
#include "runtime/host/host_method.h"

namespace berth::python {

/// Kept by the methods that use it.
class Arenas {
 public:
  /// Of all methods, as HostArenas::make.
  explicit Arenas(std::shared_ptr<LoadedProgram> program);
  /// The caller's memory: `arrays[i]` is arena i + 1 of a method on the host. None: Berth takes it.
  Arenas(std::shared_ptr<LoadedProgram> program, const nanobind::list& arrays);
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  /// For a method of the program: what HostOptions take. Raises InvalidArgument where the caller's memory is too small,
  /// misaligned, or not on the host.
  HostArenas::View view(const MethodMeta& meta);

  /// What has to be this thread's for a method that was given `view`.
  InUseList in_use(const HostArenas::View& view) const;
  /// Raises InvalidState with `place` where a method with states has run: another one would set them to what they are
  /// at first.
  void check_loading(const std::string& place) const;
  void set_has_states() { has_states_ = true; }
  void set_has_run() { has_run_ = true; }

  uint64_t bytes() const;

 private:
  std::shared_ptr<LoadedProgram> program_;
  HostArenas shared_;
  bool is_shared_ = false;
  std::shared_ptr<InUse> in_use_ = std::make_shared<InUse>();  // of shared ones
  bool has_states_ = false;
  bool has_run_ = false;
  std::vector<Borrowed> given_;
  std::vector<bool> is_given_;
  std::vector<HostBuffer> taken_;  // for arenas that were not given
};

void add_arenas(nanobind::module_& module);

}  // namespace berth::python

template <>
struct nanobind::detail::type_caster<std::shared_ptr<berth::python::Arenas>>
    : nanobind::detail::share_caster<berth::python::Arenas> {};
