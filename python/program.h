// LoadedProgram: a program file with all that it needs to be run, as Python's berth.Program holds it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "python/casters.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"
#include "tools/data_files.h"
#include "tools/machine.h"

namespace berth::python {

struct LoadRequest {
  /// Plug-ins, data files (.ptd), and other devices than the file's, {"cuda:0", "sim:0"}.
  std::vector<const Plugin*> plugins;
  std::vector<std::string> data;
  std::vector<std::pair<std::string, std::string>> devices;
  bool full_verification = true;
};

/// Immutable once made, and shared by its methods. Used by several threads.
class LoadedProgram {
 public:
  /// Maps the file.
  static std::unique_ptr<LoadedProgram> open(const std::string& path, const LoadRequest& request);
  /// Of bytes that it keeps. `place` is for messages.
  static std::unique_ptr<LoadedProgram> adopt(std::vector<uint8_t> bytes, const LoadRequest& request,
                                              const std::string& place);
  /// Of an object with the buffer protocol: in place if it is read-only and aligned, and copied otherwise.
  static std::unique_ptr<LoadedProgram> borrow(nanobind::handle object, const LoadRequest& request);

  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const Program& program() const { return *program_; }
  const tool::Machine& machine() const { return *machine_; }
  /// The file's path, or "program bytes".
  const std::string& place() const { return place_; }
  Span<const uint8_t> bytes() const { return bytes_; }

 private:
  LoadedProgram() = default;
  void load(const LoadRequest& request);

  std::string place_;
  bool has_path_ = false;
  // What the bytes are of.
  std::shared_ptr<const MappedFile> file_;
  std::vector<uint8_t> own_;
  Py_buffer buffer_ = {};
  bool has_buffer_ = false;
  Span<const uint8_t> bytes_;

  std::unique_ptr<tool::Machine> machine_;
  PluginKernels kernels_;
  std::unique_ptr<BufferLoader> loader_;
  tool::DataFiles data_;
  std::unique_ptr<Program> program_;
};

/// The classes _berth.Program and _berth.Arenas, and load().
void add_program(nanobind::module_& module);

/// Of Python's keyword arguments for load() and compile().
LoadRequest load_request(const nanobind::dict& options);

/// `json` as Python's lists and dictionaries.
nanobind::object from_json(const std::string& text);

}  // namespace berth::python

template <>
struct nanobind::detail::type_caster<std::shared_ptr<berth::python::LoadedProgram>>
    : nanobind::detail::share_caster<berth::python::LoadedProgram> {};
