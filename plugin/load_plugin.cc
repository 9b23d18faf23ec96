#include "plugin/load_plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/backend_facts.h"
#include "base/device.h"
#include "base/operator_name.h"
#include "base/version.h"

namespace berth {
namespace {

// Keeps numbers that a plug-in sets from making lists of no end.
constexpr size_t kMostParts = 64;
constexpr size_t kMostOperators = 1024;
constexpr size_t kMostAlignment = 4096;
constexpr size_t kMostPadding = size_t{1} << 20;
constexpr size_t kLongestBackendName = 120;

bool is_name(const char* name) {
  if (name == nullptr || name[0] < 'a' || name[0] > 'z') return false;
  const size_t size = std::strlen(name);
  return size <= 32 && std::all_of(name, name + size,
                                   [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

// What an older or newer header says of a structure, as this one knows it.
template <typename T>
T known_part(const T& from) {
  T known = {};
  std::memcpy(&known, &from, std::min(from.size, sizeof known));
  known.size = sizeof known;
  return known;
}

// The fields up to and including `last` must be there.
template <typename T, typename Field>
bool reaches(const T& part, const Field& last) {
  const size_t end = reinterpret_cast<const char*>(&last) - reinterpret_cast<const char*>(&part) + sizeof(Field);
  return part.size >= end;
}

bool is_empty(const char* text) { return text == nullptr || text[0] == '\0'; }

bool is_long(const char* backend) { return strnlen(backend, kLongestBackendName + 1) > kLongestBackendName; }

std::string long_name() {
  return "the name of its backend has more than " + std::to_string(kLongestBackendName) + " characters";
}

// A name that may be wrong, as messages show it.
std::string shown(const char* name) {
  constexpr size_t kMost = 64;
  if (name == nullptr) return "";
  const size_t size = strnlen(name, kMost + 1);
  return std::string(name, std::min(size, kMost)) + (size > kMost ? "…" : "");
}

// What is wrong with how the target makes delegates; "" when nothing is.
std::string wrong_delegates(const berth_target& target) {
  const std::string prefix = kNestedPrefix;
  if (is_empty(target.backend)) {
    const bool plain = target.preprocess == nullptr && target.device_type == 0;
    return plain ? "" : "names no backend, so it makes no delegates: it can have neither preprocess nor a device";
  }
  if (is_long(target.backend)) return long_name();
  const std::string its = std::string("its backend is ") + target.backend + ", and ";
  if (target.preprocess == nullptr) {
    if (runs_nested_programs(target.backend)) return "";
    return its + "without preprocess its delegates are nested programs, whose backends have names that begin with " +
           prefix;
  }
  if (target.takes == nullptr) return "takes is missing";
  if (!runs_nested_programs(target.backend)) return "";
  return its + "names that begin with " + prefix + " are those of backends for nested programs";
}

// Never destroyed, as programs and delegates may refer to what plug-ins gave until the process ends.
struct Loaded {
  std::mutex mutex;
  std::list<Plugin> plugins;
  std::map<berth_plugin_entry, const Plugin*> by_entry;
};
Loaded& loaded() {
  static Loaded* const all = new Loaded;
  return *all;
}

void spaces_for_controls(char* begin, char* end) {
  std::replace_if(
      begin, end, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
}

// A library that was copied halfway: the loader maps what its headers say, and reading behind the file's end is a fault
// that ends the process.
bool is_cut_off(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  const auto read = [&](uint64_t offset, auto* out) {
    return file.seekg(static_cast<std::streamoff>(offset)).read(reinterpret_cast<char*>(out), sizeof *out).good();
  };
  ElfW(Ehdr) header;
  if (!read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;  // the loader says what it is
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read(header.e_phoff + i * header.e_phentsize, &segment)) return true;
    const bool inside = segment.p_filesz <= size && segment.p_offset <= size - segment.p_filesz;
    if (segment.p_type == PT_LOAD && !inside) return true;
  }
  return false;
}

Failure cannot_load(const std::string& path) {
  const char* why = dlerror();
  const bool there = access(path.c_str(), F_OK) == 0;
  return Failure{
      there ? Error::kAccessFailed : Error::kNotFound, "plug-in " + path,
      there ? std::string("cannot be loaded: ") + (why == nullptr ? "no reason given" : why) : "there is no such file"};
}

}  // namespace

const char* one_line(berth_message* message) {
  message->text[sizeof message->text - 1] = '\0';
  spaces_for_controls(message->text, message->text + std::strlen(message->text));
  return message->text;
}

std::string text_of(const berth_message& message) {
  std::string text(message.text, std::find(message.text, message.text + sizeof message.text, '\0'));
  spaces_for_controls(text.data(), text.data() + text.size());
  return text;
}

Error plugin_error(int32_t code) {
  const Error error = static_cast<Error>(code);
  return std::strcmp(to_string(error), "Unknown") == 0 ? Error::kInternal : error;
}

Failure Plugin::wrong(const std::string& what, const std::string& message) const {
  return Failure{Error::kInvalidArgument, "plug-in " + place_ + (what.empty() ? "" : ": " + what), message};
}

Status Plugin::read_device_types(const berth_plugin& plugin) const {
  for (size_t i = 0; i < plugin.num_device_types; ++i) {
    const berth_device_type& type = plugin.device_types[i];
    const std::string what = "device type '" + shown(type.name) + "' with the number " + std::to_string(type.number);
    switch (register_device_type(type.name, type.number)) {
      case Error::kOk: break;
      case Error::kRegistrationAlreadyRegistered:
        return wrong(what,
                     std::string("the name or the number belongs to another type; there are ") + device_type_names());
      case Error::kOutOfResources:
        return wrong(what, "there is room for " + std::to_string(kMostRegisteredDeviceTypes) + " types only");
      default:
        return wrong(what, "expected a number from 100 to 127, and at most " + std::to_string(kLongestDeviceTypeName) +
                               " lower-case letters, digits and underscores");
    }
  }
  return Done{};
}

Status Plugin::read_targets(const berth_plugin& plugin) {
  for (size_t i = 0; i < plugin.num_targets; ++i) {
    const std::string number = "target " + std::to_string(i);
    if (plugin.targets[i] == nullptr) return wrong(number, "is null");
    if (!reaches(*plugin.targets[i], plugin.targets[i]->preprocess)) return wrong(number, "its size is too small");
    const berth_target target = known_part(*plugin.targets[i]);
    if (!is_name(target.name)) {
      return wrong(number,
                   "its name is not 1 to 32 lower-case letters, digits and underscores that begin with a letter");
    }
    const std::string what = "target " + std::string(target.name);
    const auto same = [&](const berth_target& other) { return std::strcmp(other.name, target.name) == 0; };
    if (std::any_of(targets_.begin(), targets_.end(), same)) return wrong(what, "stands twice");
    if (const std::string problem = wrong_delegates(target); !problem.empty()) return wrong(what, problem);
    if (to_string(static_cast<DeviceType>(target.device_type)) == nullptr || target.device_type > INT8_MAX ||
        target.device_type < 0) {
      return wrong(what, "its device type " + std::to_string(target.device_type) +
                             " does not exist, neither here nor among the plug-in's; there are " + device_type_names());
    }
    if ((target.alignment & (target.alignment - 1)) != 0 || target.alignment > kMostAlignment) {
      return wrong(what, "its alignment of " + std::to_string(target.alignment) +
                             " bytes is not a power of two up to " + std::to_string(kMostAlignment));
    }
    if (target.padding > kMostPadding) {
      return wrong(what, "its padding of " + std::to_string(target.padding) + " bytes is more than " +
                             std::to_string(kMostPadding));
    }
    targets_.push_back(target);
  }
  return Done{};
}

Status Plugin::read_allocators(const berth_plugin& plugin) {
  for (size_t i = 0; i < plugin.num_allocators; ++i) {
    const std::string what = "allocator " + std::to_string(i);
    if (plugin.allocators[i] == nullptr) return wrong(what, "is null");
    if (!reaches(*plugin.allocators[i], plugin.allocators[i]->copy_device_to_device)) {
      return wrong(what, "its size is too small");
    }
    const berth_allocator a = known_part(*plugin.allocators[i]);
    const bool is_type = a.device_type > 0 && a.device_type <= INT8_MAX;
    if (!is_type || to_string(static_cast<DeviceType>(a.device_type)) == nullptr) {
      return wrong(what, "its device type " + std::to_string(a.device_type) + " is not one that has memory of its own");
    }
    if (a.allocate == nullptr || a.deallocate == nullptr || a.copy_host_to_device == nullptr ||
        a.copy_device_to_host == nullptr || a.copy_device_to_device == nullptr) {
      return wrong(what, "one of allocate, deallocate and the three copies is missing");
    }
    const int streams = (a.create_stream != nullptr) + (a.destroy_stream != nullptr) + (a.synchronize != nullptr) +
                        (a.record != nullptr) + (a.wait != nullptr);
    if (streams != 0 && streams != 5) return wrong(what, "some functions of streams are missing; expected all or none");
    allocators_.push_back(a);
  }
  return Done{};
}

Status Plugin::read_backends(const berth_plugin& plugin) {
  for (size_t i = 0; i < plugin.num_backends; ++i) {
    const std::string what = "backend " + std::to_string(i);
    if (plugin.backends[i] == nullptr) return wrong(what, "is null");
    if (!reaches(*plugin.backends[i], plugin.backends[i]->unload)) return wrong(what, "its size is too small");
    const berth_backend backend = known_part(*plugin.backends[i]);
    if (is_empty(backend.name)) return wrong(what, "has no name");
    if (is_long(backend.name)) return wrong(what, long_name());
    if (runs_nested_programs(backend.name)) {
      return wrong(what, std::string("is called ") + backend.name + ", and names that begin with " + kNestedPrefix +
                             " are those of backends for nested programs");
    }
    if (backend.serves == nullptr || backend.load == nullptr || backend.execute == nullptr ||
        backend.unload == nullptr) {
      return wrong(what, "one of serves, load, execute and unload is missing");
    }
    backends_.push_back(backend);
  }
  return Done{};
}

Status Plugin::read_operators(const berth_plugin& plugin) {
  for (size_t i = 0; i < plugin.num_operators; ++i) {
    const std::string number = "operator " + std::to_string(i);
    if (plugin.operators[i] == nullptr) return wrong(number, "is null");
    if (!reaches(*plugin.operators[i], plugin.operators[i]->compute)) return wrong(number, "its size is too small");
    const berth_operator op = known_part(*plugin.operators[i]);
    const std::string name = op.name == nullptr ? "" : op.name;
    if (const std::string problem = own_operator_problem(name); !problem.empty()) {
      return wrong(number + " '" + shown(op.name) + "'", problem);
    }
    const auto same = [&](const berth_operator& other) { return name == other.name; };
    if (std::any_of(operators_.begin(), operators_.end(), same)) return wrong("operator " + name, "stands twice");
    if (op.schema == nullptr || op.schema[0] == '\0') return wrong("operator " + name, "has no schema");
    if (op.infer == nullptr && op.compute == nullptr) {
      return wrong("operator " + name, "has neither a shape rule nor a kernel");
    }
    operators_.push_back(op);
  }
  return Done{};
}

Expected<Plugin> Plugin::read(const Fill& fill, const std::string& place) {
  Plugin out;
  out.place_ = place;
  const berth_host host = {sizeof(berth_host), BERTH_PLUGIN_VERSION, BERTH_VERSION};
  berth_plugin plugin = {};
  plugin.size = sizeof plugin;
  const int32_t code = call_plugin(&plugin.message, [&] { return fill(&host, &plugin); });
  if (code != BERTH_OK) {
    const std::string why = text_of(plugin.message);
    return Failure{plugin_error(code), "plug-in " + place,
                   why.empty() ? std::string("refuses to be used: ") + to_string(plugin_error(code)) : why};
  }
  struct List {
    size_t count;
    const void* items;
    size_t most;
  };
  for (const List& list : {List{plugin.num_device_types, plugin.device_types, kMostParts},
                           List{plugin.num_targets, plugin.targets, kMostParts},
                           List{plugin.num_allocators, plugin.allocators, kMostParts},
                           List{plugin.num_backends, plugin.backends, kMostParts},
                           List{plugin.num_operators, plugin.operators, kMostOperators}}) {
    if (list.count > list.most) {
      return out.wrong("", "says that it has " + std::to_string(list.count) + " parts of a kind; expected at most " +
                               std::to_string(list.most));
    }
    if (list.count > 0 && list.items == nullptr) return out.wrong("", "one of its lists is null but not empty");
  }
  if (plugin.name != nullptr) out.name_ = plugin.name;
  BERTH_TRY(out.read_device_types(plugin));
  BERTH_TRY(out.read_targets(plugin));
  BERTH_TRY(out.read_allocators(plugin));
  BERTH_TRY(out.read_backends(plugin));
  BERTH_TRY(out.read_operators(plugin));
  return out;
}

Expected<const Plugin*> Plugin::adopt(berth_plugin_entry entry, const std::string& place) {
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  const Plugin*& known = all.by_entry[entry];
  if (known == nullptr) {
    BERTH_ASSIGN_OR_RETURN(Plugin plugin, read(entry, place));
    all.plugins.push_back(std::move(plugin));
    known = &all.plugins.back();
  }
  return known;
}

Expected<const Plugin*> Plugin::make(const Fill& fill, const std::string& place) {
  BERTH_ASSIGN_OR_RETURN(Plugin plugin, read(fill, place));
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  all.plugins.push_back(std::move(plugin));
  return &all.plugins.back();
}

Expected<const Plugin*> Plugin::open(const std::string& path) {
  // Without a slash the loader would look in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (is_cut_off(file)) {
    return Failure{Error::kAccessFailed, "plug-in " + path, "cannot be loaded: the file ends before the library does"};
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return cannot_load(path);
  void* symbol = dlsym(library, BERTH_PLUGIN_ENTRY);
  if (symbol == nullptr) {
    dlclose(library);
    return Failure{Error::kInvalidArgument, "plug-in " + path,
                   "is not a plug-in of version " + std::to_string(BERTH_PLUGIN_VERSION) + ": it has no function " +
                       BERTH_PLUGIN_ENTRY};
  }
  return adopt(reinterpret_cast<berth_plugin_entry>(symbol), path);
}

}  // namespace berth
