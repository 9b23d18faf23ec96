// Plugin: a loaded plug-in (plugin/plugin.h), for applications and the tool.
//
//     BERTH_ASSIGN_OR_RETURN(const Plugin* mine, Plugin::open("./libmine.so"));
//     CompileOptions options;
//     options.plugins = {mine};                  // --target mine:0 is known now
//     PluginDevices devices({&mine, 1});         // runtime/host/plugin_devices.h: allocators and backends, to run
//
// The parts of a plug-in that is linked into the application are the same: Plugin::adopt(berth_plugin_v1).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "plugin/call_plugin.h"
#include "plugin/plugin.h"

namespace berth {

/// What a plug-in brings, checked. Structures of an older version of the header are complete here, with zeros for what
/// it did not know.
class Plugin {
 public:
  /// Loads the shared library at `path`, asks it for its parts and registers its device types. A library that was
  /// opened before is not loaded twice. Plug-ins are never unloaded; the result is valid until the process ends.
  /// Thread-safe.
  ///
  /// NotFound or AccessFailed when there is no such library, or it cannot be loaded; InvalidArgument when it is not a
  /// plug-in, or what it says is wrong: a target or an operator without a name, an operator with a name of Berth's, a
  /// missing function, an alignment that is not a power of two, a device type that does not exist; NotSupported when it
  /// is of another version; its own error when it refuses. A failed plug-in leaves nothing behind but registered device
  /// types.
  static Expected<const Plugin*> open(const std::string& path);

  /// The same for a plug-in that is linked into the application. `place` is for messages.
  static Expected<const Plugin*> adopt(berth_plugin_entry entry, const std::string& place);

  /// The same for parts that are made while the application runs, such as Python's: each call makes a plug-in, which
  /// stays until the process ends. `fill` does what an entry point does, and is called once.
  using Fill = std::function<int32_t(const berth_host* host, berth_plugin* plugin)>;
  static Expected<const Plugin*> make(const Fill& fill, const std::string& place);

  /// The file, or `place`.
  const std::string& place() const { return place_; }
  /// What the plug-in calls itself; may be empty.
  const std::string& name() const { return name_; }
  const std::vector<berth_target>& targets() const { return targets_; }
  const std::vector<berth_allocator>& allocators() const { return allocators_; }
  const std::vector<berth_backend>& backends() const { return backends_; }
  /// Their shape rules are for the compiler (compiler/targets/plugin_operators.h), their kernels for programs
  /// (runtime/host/plugin_kernels.h), which check the schemas.
  const std::vector<berth_operator>& operators() const { return operators_; }

 private:
  Plugin() = default;
  static Expected<Plugin> read(const Fill& fill, const std::string& place);

  Status read_device_types(const berth_plugin& plugin) const;
  Status read_targets(const berth_plugin& plugin);
  Status read_allocators(const berth_plugin& plugin);
  Status read_backends(const berth_plugin& plugin);
  Status read_operators(const berth_plugin& plugin);
  Failure wrong(const std::string& what, const std::string& message) const;

  std::string place_;
  std::string name_;
  std::vector<berth_target> targets_;
  std::vector<berth_allocator> allocators_;
  std::vector<berth_backend> backends_;
  std::vector<berth_operator> operators_;
};

/// The sentence in `message`, which may lack its final zero or hold anything; "" when there is none.
std::string text_of(const berth_message& message);
/// The same in its place, without the heap: ended by a zero, and control characters are spaces.
const char* one_line(berth_message* message);

/// `code` as an Error; kInternal for a number that is not a code.
Error plugin_error(int32_t code);

}  // namespace berth
