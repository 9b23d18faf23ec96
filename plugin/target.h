// Plug-ins in C++: classes over the C interface of plugin/plugin.h, in headers alone. A plug-in links nothing of Berth:
//
//     class MyTarget final : public berth::plugin::Target { … };       // which nodes, and what they are compiled to
//     class MyAllocator final : public berth::plugin::Allocator { … }; // the memory of the device
//     class MyBackend final : public berth::plugin::Backend { … };     // loads and runs what MyTarget compiled
//     class MyGain final : public berth::plugin::Operator { … };       // an operator of its own (plugin/operator.h)
//
//     BERTH_PLUGIN(plugin) {
//       plugin.set_name("mine");
//       plugin.add_device_type("mine", 101);
//       plugin.add(std::make_unique<MyTarget>());
//       plugin.add(std::make_unique<MyAllocator>());
//       plugin.add(std::make_unique<MyBackend>());
//       plugin.add(std::make_unique<MyGain>());
//       return berth::plugin::Status();
//     }
//
// It is compiled by `c++ -std=c++17 -shared -fPIC -I INSTALLED/include/berth`. examples/plugin is a whole one. What a
// function promises, and who owns what, stands in plugin/plugin.h. Views (Value, Argument, Node, Graph, Specs, Source)
// are valid during the call that got them. Exceptions that leave a function of these classes become the error Internal.
#pragma once

#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/call_plugin.h"
#include "plugin/graph.h"
#include "plugin/operator.h"
#include "plugin/plugin.h"

namespace berth::plugin {

// ---- Compiling ------------------------------------------------------------------------------------------------------

/// The compile specs of a delegate.
class Specs {
 public:
  Specs(const berth_spec* specs, size_t size) : specs_(specs), size_(size) {}

  size_t size() const { return size_; }
  const berth_spec& operator[](size_t i) const { return specs_[i]; }
  /// The value of `key`, or `otherwise`.
  std::string get(std::string_view key, std::string otherwise = "") const {
    for (size_t i = 0; i < size_; ++i) {
      if (key != specs_[i].key) continue;
      return specs_[i].value.size == 0
                 ? std::string()
                 : std::string(static_cast<const char*>(specs_[i].value.data), specs_[i].value.size);
    }
    return otherwise;
  }

 private:
  const berth_spec* specs_;
  size_t size_;
};

namespace internal {

inline std::string blob_key(const char* space, uint64_t number) {
  return std::string(space) + "." + std::to_string(number);
}

}  // namespace internal

/// What a target compiles a region to. Everything is copied.
class Output {
 public:
  explicit Output(const berth_sink* sink) : sink_(sink) {}

  /// Appends to the payload.
  void payload(const void* data, size_t size) { sink_->payload(sink_->self, data, size); }
  void spec(const char* key, std::string_view value) { sink_->spec(sink_->self, key, value.data(), value.size()); }
  void named_data(const char* key, const void* data, size_t size) { sink_->named_data(sink_->self, key, data, size); }
  /// Named data that are found by their contents: the number that Source::blob() takes. Delegates that have the same
  /// bytes share them. `space` is what the keys begin with, the plug-in's own. That two blobs get one number is as good
  /// as impossible, and would be an error of the compilation.
  uint64_t blob(const char* space, berth_bytes bytes) {
    uint64_t number = 14695981039346656037u;  // FNV-1a
    for (size_t i = 0; i < bytes.size; ++i) {
      number = (number ^ static_cast<const unsigned char*>(bytes.data)[i]) * 1099511628211u;
    }
    named_data(internal::blob_key(space, number).c_str(), bytes.data, bytes.size);
    return number;
  }
  void scratch(size_t bytes) { sink_->scratch(sink_->self, bytes); }
  /// Bytes that the delegate keeps from one call to the next (plugin/plugin.h); zeros at first if `initial` is null.
  /// NotSupported in an older Berth.
  Status state(const char* name, size_t bytes, const void* initial = nullptr) {
    if (sink_->size < offsetof(berth_sink, state) + sizeof sink_->state) {
      return {BERTH_NOT_SUPPORTED, "state takes a later version of Berth"};
    }
    sink_->state(sink_->self, name, bytes, initial);
    return {};
  }
  /// Where the device's memory has banks (`--bank`): the inputs of this delegate, or the one of this number, lie in the
  /// bank of this name; "sram?" says that they should, where they fit. A `--spec` of the same key goes before it.
  void input_bank(std::string_view bank, int input = -1) { this->bank("berth.input_bank", bank, input); }
  void output_bank(std::string_view bank, int output = -1) { this->bank("berth.output_bank", bank, output); }
  void scratch_bank(std::string_view bank) { this->bank("berth.scratch_bank", bank, -1); }
  /// All state of the device.
  void state_bank(std::string_view bank) { this->bank("berth.state_bank", bank, -1); }

 private:
  void bank(std::string key, std::string_view bank, int index) {
    if (index >= 0) key += "." + std::to_string(index);
    spec(key.c_str(), bank);
  }

  const berth_sink* sink_;
};

/// What a target says about nodes that belong together. Numbers are those of Graph::node().
class Sets {
 public:
  explicit Sets(const berth_sets* sets) : sets_(sets) {}

  /// These nodes are in one delegate, or none of them is in one.
  void together(const std::vector<int32_t>& nodes) { sets_->together(sets_->self, nodes.data(), nodes.size()); }
  /// The target does not want these after all.
  void leave(const std::vector<int32_t>& nodes) { sets_->leave(sets_->self, nodes.data(), nodes.size()); }

 private:
  const berth_sets* sets_;
};

class Target {
 public:
  /// `device_type` 0 is the host.
  Target(const char* name, const char* backend, int32_t device_type) {
    table_.size = sizeof table_;
    table_.self = this;
    table_.name = name;
    table_.backend = backend;
    table_.device_type = device_type;
    table_.takes = [](void* self, const berth_graph* node, const berth_spec* specs, size_t n, berth_message* message) {
      return call_plugin(message, [&] {
        return internal::give(static_cast<Target*>(self)->takes(Graph(node).node(0), Specs(specs, n)), message);
      });
    };
    table_.preprocess = [](void* self, const berth_graph* region, const berth_spec* specs, size_t n,
                           const berth_sink* sink, berth_message* message) {
      return call_plugin(message, [&] {
        Output output(sink);
        return internal::give(static_cast<Target*>(self)->preprocess(Graph(region), Specs(specs, n), output), message);
      });
    };
  }
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// Success: the node may be in a delegate of this target. refuse("why"): it may not.
  virtual Status takes(const Node& node, const Specs& specs) = 0;
  virtual Status preprocess(const Graph& region, const Specs& specs, Output& output) = 0;
  /// Which of the nodes that it takes belong together; asked where the constructor calls see_all().
  virtual Status together(const Graph&, const Specs&, Sets&) { return {}; }

  const berth_target* table() const { return &table_; }

 protected:
  void see_all() {
    table_.together = [](void* self, const berth_graph* taken, const berth_spec* specs, size_t n,
                         const berth_sets* sets, berth_message* message) {
      return call_plugin(message, [&] {
        Sets given(sets);
        return internal::give(static_cast<Target*>(self)->together(Graph(taken), Specs(specs, n), given), message);
      });
    };
  }

  /// Limits, alignment, padding, whether calls are pure, and what fusion may do, to be set in the constructor.
  berth_target table_ = {};
};

/// A target whose delegates are nested programs, compiled by Berth for a backend derived from NestedBackend
/// (backends/nested/nested_backend.h), of which the application has one. It takes every node, unless takes() is
/// overridden and the constructor does not call take_all().
class NestedTarget : public Target {
 public:
  /// The backend's name begins with "berth.".
  NestedTarget(const char* name, const char* backend, int32_t device_type) : Target(name, backend, device_type) {
    table_.preprocess = nullptr;
  }

  Status takes(const Node&, const Specs&) override { return {}; }
  Status preprocess(const Graph&, const Specs&, Output&) final { return {BERTH_NOT_SUPPORTED, "is not called"}; }

 protected:
  /// Saves the asking.
  void take_all() { table_.takes = nullptr; }
};

// ---- Running --------------------------------------------------------------------------------------------------------

/// The memory of one device type; a device without streams overrides the first five functions.
class Allocator {
 public:
  explicit Allocator(int32_t device_type, bool has_streams = false) {
    table_.size = sizeof table_;
    table_.self = this;
    table_.device_type = device_type;
    table_.allocate = [](void* self, size_t bytes, int32_t index, size_t alignment, void** address) {
      return call_plugin(nullptr, [&] { return of(self).allocate(bytes, index, alignment, address); });
    };
    table_.deallocate = [](void* self, void* address, int32_t index) {
      call_plugin(nullptr, [&] { return of(self).deallocate(address, index), BERTH_OK; });
    };
    table_.copy_host_to_device = [](void* self, void* to, const void* from, size_t bytes, int32_t index,
                                    berth_stream stream) {
      return call_plugin(nullptr, [&] { return of(self).copy_host_to_device(to, from, bytes, index, stream); });
    };
    table_.copy_device_to_host = [](void* self, void* to, const void* from, size_t bytes, int32_t index,
                                    berth_stream stream) {
      return call_plugin(nullptr, [&] { return of(self).copy_device_to_host(to, from, bytes, index, stream); });
    };
    table_.copy_device_to_device = [](void* self, void* to, int32_t to_index, const void* from, int32_t from_index,
                                      size_t bytes, berth_stream stream) {
      return call_plugin(nullptr,
                         [&] { return of(self).copy_device_to_device(to, to_index, from, from_index, bytes, stream); });
    };
    table_.device_count = [](void* self) { return call_plugin(nullptr, [&] { return of(self).device_count(); }); };
    if (!has_streams) return;
    table_.create_stream = [](void* self, int32_t index, berth_stream* stream) {
      return call_plugin(nullptr, [&] { return of(self).create_stream(index, stream); });
    };
    table_.destroy_stream = [](void* self, berth_stream stream, int32_t index) {
      call_plugin(nullptr, [&] { return of(self).destroy_stream(stream, index), BERTH_OK; });
    };
    table_.synchronize = [](void* self, berth_stream stream, int32_t index) {
      return call_plugin(nullptr, [&] { return of(self).synchronize(stream, index); });
    };
    table_.record = [](void* self, berth_stream stream, int32_t index) {
      return call_plugin(nullptr, [&] { return of(self).record(stream, index); });
    };
    table_.wait = [](void* self, berth_stream stream, int32_t index, berth_stream other, int32_t other_index) {
      return call_plugin(nullptr, [&] { return of(self).wait(stream, index, other, other_index); });
    };
  }
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // All but deallocate() and device_count() return a code. Copies never have 0 bytes.
  virtual int32_t allocate(size_t bytes, int32_t index, size_t alignment, void** address) = 0;
  virtual void deallocate(void* address, int32_t index) = 0;
  virtual int32_t copy_host_to_device(void* to, const void* from, size_t bytes, int32_t index, berth_stream) = 0;
  virtual int32_t copy_device_to_host(void* to, const void* from, size_t bytes, int32_t index, berth_stream) = 0;
  virtual int32_t copy_device_to_device(void* to, int32_t to_index, const void* from, int32_t from_index, size_t bytes,
                                        berth_stream) = 0;
  virtual int32_t device_count() { return 1; }
  virtual int32_t create_stream(int32_t, berth_stream*) { return BERTH_NOT_SUPPORTED; }
  virtual void destroy_stream(berth_stream, int32_t) {}
  virtual int32_t synchronize(berth_stream, int32_t) { return BERTH_NOT_SUPPORTED; }
  virtual int32_t record(berth_stream, int32_t) { return BERTH_NOT_SUPPORTED; }
  virtual int32_t wait(berth_stream, int32_t, berth_stream, int32_t) { return BERTH_NOT_SUPPORTED; }

  /// Called in the constructor of a class whose devices are GPUs.
  void set_gpu() { table_.is_gpu = 1; }

  const berth_allocator* table() const { return &table_; }

 private:
  static Allocator& of(void* self) { return *static_cast<Allocator*>(self); }

  berth_allocator table_ = {};
};

/// A delegate as the file has it.
class Source {
 public:
  explicit Source(const berth_delegate* delegate) : delegate_(delegate) {}

  berth_bytes payload() const { return delegate_->payload; }
  /// The T at `offset` of the payload; false when it ends before. T is plain data.
  template <typename T>
  bool read(size_t offset, T* out) const {
    if (offset > payload().size || sizeof(T) > payload().size - offset) return false;
    std::memcpy(out, static_cast<const char*>(payload().data) + offset, sizeof(T));
    return true;
  }
  /// All from `offset` to the end; false when that is not a whole number of Ts.
  template <typename T>
  bool read_rest(size_t offset, std::vector<T>* out) const {
    if (offset > payload().size || (payload().size - offset) % sizeof(T) != 0) return false;
    out->resize((payload().size - offset) / sizeof(T));
    if (!out->empty()) {
      std::memcpy(out->data(), static_cast<const char*>(payload().data) + offset, out->size() * sizeof(T));
    }
    return true;
  }
  /// What Output::blob() gave `number`.
  Status blob(const char* space, uint64_t number, berth_bytes* bytes) const {
    return named_data(internal::blob_key(space, number).c_str(), bytes);
  }
  Specs specs() const { return {delegate_->specs, delegate_->num_specs}; }
  int32_t device_type() const { return delegate_->device_type; }
  int32_t device_index() const { return delegate_->device_index; }
  Status named_data(const char* key, berth_bytes* blob) const {
    if (key == nullptr) key = "";
    const int32_t code = delegate_->named_data(delegate_->files, key, blob);
    return code == BERTH_OK ? Status() : Status(code, std::string("there is no named data '") + key + "'");
  }

 private:
  const berth_delegate* delegate_;
};

/// A loaded delegate.
class Delegate {
 public:
  virtual ~Delegate() = default;
  /// Runs it on the inputs, the state, the outputs and the scratch; state and scratch if its target asked for them.
  virtual Status run(const berth_tensor* arguments, size_t size, berth_stream stream) = 0;
};

class Backend {
 public:
  explicit Backend(const char* name) {
    table_.size = sizeof table_;
    table_.self = this;
    table_.name = name;
    table_.serves = [](void* self, int32_t type) -> int32_t {
      return call_plugin(nullptr, [&] { return of(self).serves(type) ? 1 : 0; }) == 1;
    };
    table_.load = [](void* self, const berth_delegate* source, void** handle, berth_message* message) {
      return call_plugin(message, [&] {
        std::unique_ptr<Delegate> delegate;
        Status status = of(self).load(Source(source), &delegate);
        if (status.ok() && delegate == nullptr) status = {BERTH_INTERNAL, "load() gives no delegate"};
        *handle = delegate.release();
        return internal::give(status, message);
      });
    };
    table_.execute = [](void*, void* handle, const berth_tensor* arguments, size_t size, berth_stream stream,
                        berth_message* message) {
      return call_plugin(message, [&] {
        return internal::give(static_cast<Delegate*>(handle)->run(arguments, size, stream), message);
      });
    };
    table_.unload = [](void*, void* handle) { delete static_cast<Delegate*>(handle); };
  }
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual bool serves(int32_t device_type) const = 0;
  /// Checks the payload, which may be damaged, and makes what runs it.
  virtual Status load(const Source& source, std::unique_ptr<Delegate>* delegate) = 0;

  const berth_backend* table() const { return &table_; }

 private:
  static Backend& of(void* self) { return *static_cast<Backend*>(self); }

  berth_backend table_ = {};
};

/// What BERTH_PLUGIN fills in. Its parts live until the process ends.
class Parts {
 public:
  void set_name(std::string name) { name_ = std::move(name); }
  /// `number` is from 101 to 127; programs store it, so it must never change.
  void add_device_type(std::string name, int32_t number) {
    names_.push_back(std::move(name));
    types_.push_back({names_.back().c_str(), number});
  }
  void add(std::unique_ptr<Target> target) { add(std::move(target), &target_owners_, &targets_); }
  void add(std::unique_ptr<Allocator> allocator) { add(std::move(allocator), &allocator_owners_, &allocators_); }
  void add(std::unique_ptr<Backend> backend) { add(std::move(backend), &backend_owners_, &backends_); }
  void add(std::unique_ptr<Operator> op) { add(std::move(op), &operator_owners_, &operators_); }

  /// For the entry point.
  static int32_t enter(const berth_host* host, berth_plugin* plugin, Status (*fill)(Parts& parts)) {
    return call_plugin(&plugin->message, [&] {
      // The first hosts of this version have no operators.
      const bool has_operators = plugin->size >= sizeof(berth_plugin);
      if (host->version < BERTH_PLUGIN_VERSION || plugin->size < offsetof(berth_plugin, operators)) {
        return internal::give({BERTH_NOT_SUPPORTED, "is for a later version of Berth"}, &plugin->message);
      }
      auto parts = std::make_unique<Parts>();
      const Status status = fill(*parts);
      if (!status.ok()) return internal::give(status, &plugin->message);
      if (!has_operators && !parts->operators_.empty()) {
        return internal::give({BERTH_NOT_SUPPORTED, "is for a later version of Berth"}, &plugin->message);
      }
      parts->describe(plugin);
      if (has_operators) parts->describe_operators(plugin);
      // Never destroyed: Berth refers to them until the process ends.
      static auto* const kept = new std::vector<std::unique_ptr<Parts>>;
      kept->push_back(std::move(parts));
      return int32_t{BERTH_OK};
    });
  }

 private:
  template <typename Part, typename Table>
  static void add(std::unique_ptr<Part> part, std::vector<std::unique_ptr<Part>>* owners,
                  std::vector<const Table*>* tables) {
    tables->push_back(part->table());
    owners->push_back(std::move(part));
  }

  void describe(berth_plugin* plugin) const {
    plugin->name = name_.c_str();
    plugin->device_types = types_.data();
    plugin->num_device_types = types_.size();
    plugin->targets = targets_.data();
    plugin->num_targets = targets_.size();
    plugin->allocators = allocators_.data();
    plugin->num_allocators = allocators_.size();
    plugin->backends = backends_.data();
    plugin->num_backends = backends_.size();
  }

  void describe_operators(berth_plugin* plugin) const {
    plugin->operators = operators_.data();
    plugin->num_operators = operators_.size();
  }

  std::string name_;
  std::deque<std::string> names_;
  std::vector<berth_device_type> types_;
  std::vector<std::unique_ptr<Target>> target_owners_;
  std::vector<std::unique_ptr<Allocator>> allocator_owners_;
  std::vector<std::unique_ptr<Backend>> backend_owners_;
  std::vector<std::unique_ptr<Operator>> operator_owners_;
  std::vector<const berth_target*> targets_;
  std::vector<const berth_allocator*> allocators_;
  std::vector<const berth_backend*> backends_;
  std::vector<const berth_operator*> operators_;
};

}  // namespace berth::plugin

/// Defines the plug-in's one function; the body, in braces, gets the Parts by the name `parts` and returns a Status.
#define BERTH_PLUGIN(parts) \
  static berth::plugin::Status berth_fill_plugin(berth::plugin::Parts& parts); \
  extern "C" __attribute__((visibility("default"))) int32_t berth_plugin_v1(const berth_host* host, \
                                                                            berth_plugin* plugin) { \
    return berth::plugin::Parts::enter(host, plugin, berth_fill_plugin); \
  } \
  static berth::plugin::Status berth_fill_plugin(berth::plugin::Parts& parts)
