// Plug-ins in C++: classes over the C interface of plugin/plugin.h, in this header alone. A plug-in links nothing of Berth:
//
//     class MyTarget final : public berth::plugin::Target { … };       // which nodes, and what they are compiled to
//     class MyAllocator final : public berth::plugin::Allocator { … }; // the memory of the device
//     class MyBackend final : public berth::plugin::Backend { … };     // loads and runs what MyTarget compiled
//
//     BERTH_PLUGIN(plugin) {
//       plugin.set_name("mine");
//       plugin.add_device_type("mine", 101);
//       plugin.add(std::make_unique<MyTarget>());
//       plugin.add(std::make_unique<MyAllocator>());
//       plugin.add(std::make_unique<MyBackend>());
//       return berth::plugin::Status();
//     }
//
// It is compiled by `c++ -std=c++17 -shared -fPIC -I INSTALLED/include/berth`. examples/plugin is a whole one. What a function promises, and who owns what, stands in plugin/plugin.h. Views (Value,
// Argument, Node, Graph, Specs, Source) are valid during the call that got them. Exceptions that leave a function of
// these classes become the error Internal.
#pragma once

#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/call_plugin.h"
#include "plugin/plugin.h"

namespace berth::plugin {

/// Success, or a code of plugin/plugin.h with a sentence for the user.
struct Status {
  int32_t code = BERTH_OK;
  std::string message;

  Status() = default;
  Status(int32_t error, std::string sentence) : code(error), message(std::move(sentence)) {}
  bool ok() const { return code == BERTH_OK; }
};
/// What Target::takes() says to a node that it leaves to the next target.
inline Status refuse(std::string reason) { return {BERTH_NOT_SUPPORTED, std::move(reason)}; }

// ---- Compiling ------------------------------------------------------------------------------------------------------

/// A tensor of the graph, or a single number.
class Value {
 public:
  Value(const berth_value* value, int32_t index) : value_(value), index_(index) {}

  int32_t index() const { return index_; }  // in the graph: equal for the same value
  const char* name() const { return value_->name; }
  int32_t dtype() const { return value_->dtype; }
  bool is_tensor() const { return value_->rank >= 0; }
  bool is_constant() const { return value_->from == BERTH_FROM_CONSTANT; }
  bool is_static() const {
    for (int32_t d = 0; d < value_->rank; ++d) {
      if (value_->min_sizes[d] != value_->max_sizes[d]) return false;
    }
    return is_tensor();
  }
  int rank() const { return value_->rank; }
  /// The largest that dimension `d` can be.
  int64_t size(int d) const { return value_->max_sizes[d]; }
  std::vector<int64_t> sizes() const { return {value_->max_sizes, value_->max_sizes + (is_tensor() ? rank() : 0)}; }
  /// Elements with the largest sizes.
  int64_t numel() const {
    int64_t count = 1;
    for (int32_t d = 0; d < value_->rank; ++d) count *= value_->max_sizes[d];
    return count;
  }
  /// Whether the elements lie in row-major order of the dimensions.
  bool is_contiguous() const {
    for (int32_t d = 0; d < value_->rank; ++d) {
      if (value_->dim_order[d] != d) return false;
    }
    return true;
  }
  int users() const { return value_->users; }
  /// The elements of a constant; empty otherwise.
  berth_bytes constant() const { return value_->constant; }

 private:
  const berth_value* value_;
  int32_t index_;
};

class Argument {
 public:
  Argument(const berth_graph* graph, const berth_argument* argument) : graph_(graph), argument_(argument) {}

  int32_t kind() const { return argument_ == nullptr ? BERTH_ARG_NONE : argument_->kind; }
  bool is_none() const { return kind() == BERTH_ARG_NONE; }
  size_t size() const { return argument_ == nullptr ? 0 : argument_->count; }
  /// REQUIRES: kind() is BERTH_ARG_VALUE, or BERTH_ARG_VALUES with a value at `i`.
  Value value(size_t i = 0) const { return {&graph_->values[argument_->values[i]], argument_->values[i]}; }
  /// The number at `i`, an integer as well; `otherwise` if there is none.
  double number(double otherwise = 0, size_t i = 0) const {
    if (i >= size()) return otherwise;
    if (kind() == BERTH_ARG_DOUBLES) return argument_->doubles[i];
    return has_ints() ? static_cast<double>(argument_->ints[i]) : otherwise;
  }
  int64_t integer(int64_t otherwise = 0, size_t i = 0) const {
    return i < size() && has_ints() ? argument_->ints[i] : otherwise;
  }
  std::string_view text() const { return kind() == BERTH_ARG_TEXT ? argument_->text : ""; }

 private:
  bool has_ints() const { return kind() == BERTH_ARG_INTS || kind() == BERTH_ARG_BOOLS || kind() == BERTH_ARG_DTYPE; }

  const berth_graph* graph_;
  const berth_argument* argument_;  // null: there is no argument of that name
};

class Node {
 public:
  Node(const berth_graph* graph, const berth_node* node) : graph_(graph), node_(node) {}

  /// "aten::add.Tensor"
  std::string_view op() const { return node_->op; }
  const char* source() const { return node_->source; }
  size_t arguments_size() const { return node_->num_arguments; }
  Argument argument(size_t i) const { return {graph_, &node_->arguments[i]}; }
  /// By the name in the schema; none if there is no such parameter.
  Argument argument(std::string_view name) const {
    for (size_t i = 0; i < node_->num_arguments; ++i) {
      if (name == node_->arguments[i].name) return argument(i);
    }
    return {graph_, nullptr};
  }
  size_t results_size() const { return node_->num_results; }
  Value result(size_t i = 0) const { return {&graph_->values[node_->results[i]], node_->results[i]}; }

 private:
  const berth_graph* graph_;
  const berth_node* node_;
};

class Graph {
 public:
  explicit Graph(const berth_graph* graph) : graph_(graph) {}

  size_t nodes_size() const { return graph_->num_nodes; }
  Node node(size_t i) const { return {graph_, &graph_->nodes[i]}; }
  size_t values_size() const { return graph_->num_values; }
  Value value(size_t i) const { return {&graph_->values[i], static_cast<int32_t>(i)}; }
  size_t inputs_size() const { return graph_->num_inputs; }
  Value input(size_t i) const { return value(graph_->inputs[i]); }
  size_t outputs_size() const { return graph_->num_outputs; }
  Value output(size_t i) const { return value(graph_->outputs[i]); }

 private:
  const berth_graph* graph_;
};

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

/// What a target compiles a region to. Everything is copied.
class Output {
 public:
  explicit Output(const berth_sink* sink) : sink_(sink) {}

  /// Appends to the payload.
  void payload(const void* data, size_t size) { sink_->payload(sink_->self, data, size); }
  void spec(const char* key, std::string_view value) { sink_->spec(sink_->self, key, value.data(), value.size()); }
  void named_data(const char* key, const void* data, size_t size) { sink_->named_data(sink_->self, key, data, size); }
  void scratch(size_t bytes) { sink_->scratch(sink_->self, bytes); }

 private:
  const berth_sink* sink_;
};

namespace internal {

inline int32_t give(const Status& status, berth_message* message) {
  if (message != nullptr) std::snprintf(message->text, sizeof message->text, "%s", status.message.c_str());
  return status.code;
}

}  // namespace internal

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

  const berth_target* table() const { return &table_; }

 protected:
  /// Limits, alignment, padding and whether calls are pure, to be set in the constructor.
  berth_target table_ = {};
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
  Specs specs() const { return {delegate_->specs, delegate_->num_specs}; }
  int32_t device_type() const { return delegate_->device_type; }
  int32_t device_index() const { return delegate_->device_index; }
  Status named_data(const char* key, berth_bytes* blob) const {
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
  /// Runs it on the inputs, the outputs and, if its target asked for one, the scratch.
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
        const Status status = of(self).load(Source(source), &delegate);
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
  /// `number` is from 100 to 127; programs store it, so it must never change.
  void add_device_type(std::string name, int32_t number) {
    names_.push_back(std::move(name));
    types_.push_back({names_.back().c_str(), number});
  }
  void add(std::unique_ptr<Target> target) { add(std::move(target), &target_owners_, &targets_); }
  void add(std::unique_ptr<Allocator> allocator) { add(std::move(allocator), &allocator_owners_, &allocators_); }
  void add(std::unique_ptr<Backend> backend) { add(std::move(backend), &backend_owners_, &backends_); }

  /// For the entry point.
  static int32_t enter(const berth_host* host, berth_plugin* plugin, Status (*fill)(Parts& parts)) {
    return call_plugin(&plugin->message, [&] {
      if (host->version < BERTH_PLUGIN_VERSION || plugin->size < sizeof(berth_plugin)) {
        return internal::give({BERTH_NOT_SUPPORTED, "is for a later version of Berth"}, &plugin->message);
      }
      auto parts = std::make_unique<Parts>();
      const Status status = fill(*parts);
      if (!status.ok()) return internal::give(status, &plugin->message);
      parts->describe(plugin);
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

  std::string name_;
  std::deque<std::string> names_;
  std::vector<berth_device_type> types_;
  std::vector<std::unique_ptr<Target>> target_owners_;
  std::vector<std::unique_ptr<Allocator>> allocator_owners_;
  std::vector<std::unique_ptr<Backend>> backend_owners_;
  std::vector<const berth_target*> targets_;
  std::vector<const berth_allocator*> allocators_;
  std::vector<const berth_backend*> backends_;
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
