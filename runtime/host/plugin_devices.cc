#include "runtime/host/plugin_devices.h"

#include <algorithm>

namespace berth {
namespace {

Error call(const int32_t code) { return code == BERTH_OK ? Error::kOk : plugin_error(code); }

class PluginAllocator final : public DeviceAllocator {
 public:
  explicit PluginAllocator(const berth_allocator& from) : from_(from) {}

  DeviceType device_type() const override { return static_cast<DeviceType>(from_.device_type); }

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    void* address = nullptr;
    const Error error = guarded([&] { return from_.allocate(from_.self, bytes, index, alignment, &address); });
    if (error != Error::kOk) return error;
    return address;
  }
  void deallocate(void* memory, DeviceIndex index) override {
    if (memory == nullptr) return;
    silent([&] { from_.deallocate(from_.self, memory, index); });
  }

  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    if (bytes == 0) return Error::kOk;
    return guarded([&] { return from_.copy_host_to_device(from_.self, target, source, bytes, index, stream); });
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    if (bytes == 0) return Error::kOk;
    return guarded([&] { return from_.copy_device_to_host(from_.self, target, source, bytes, index, stream); });
  }
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream) override {
    if (bytes == 0) return Error::kOk;
    return guarded([&] {
      return from_.copy_device_to_device(from_.self, target, target_index, source, source_index, bytes, stream);
    });
  }

  int device_count() const override {
    int count = 1;
    if (from_.device_count == nullptr) return count;
    silent([&] { count = from_.device_count(from_.self); });
    return std::max(count, 0);
  }

  bool is_gpu() const override { return from_.is_gpu != 0; }

  Result<DeviceStream*> create_stream(DeviceIndex index) override {
    berth_stream stream = nullptr;
    if (from_.create_stream == nullptr) return static_cast<DeviceStream*>(nullptr);
    const Error error = guarded([&] { return from_.create_stream(from_.self, index, &stream); });
    if (error != Error::kOk) return error;
    return static_cast<DeviceStream*>(stream);
  }
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override {
    if (stream != nullptr) silent([&] { from_.destroy_stream(from_.self, stream, index); });
  }
  // Null is a stream with nothing to wait for.
  Error synchronize(DeviceStream* stream, DeviceIndex index) override {
    if (stream == nullptr) return Error::kOk;
    return guarded([&] { return from_.synchronize(from_.self, stream, index); });
  }
  Error record(DeviceStream* stream, DeviceIndex index) override {
    if (stream == nullptr) return Error::kOk;
    return guarded([&] { return from_.record(from_.self, stream, index); });
  }
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override {
    if (stream == nullptr || other == nullptr) return Error::kOk;
    return guarded([&] { return from_.wait(from_.self, stream, index, other, other_index); });
  }

 private:
  template <typename Call>
  static Error guarded(Call&& f) {
    return call(call_plugin(nullptr, f));
  }
  template <typename Call>
  static void silent(Call&& f) {
    call_plugin(nullptr, [&] {
      f();
      return BERTH_OK;
    });
  }

  const berth_allocator from_;
};

/// What a plug-in's delegate needs while it is loaded; execute() allocates nothing.
struct PluginDelegate {
  void* handle = nullptr;
  std::vector<FreeableBuffer> blobs;
  std::vector<berth_spec> specs;
  std::vector<berth_tensor> tensors;
  std::vector<int32_t> sizes;  // kMaxRank for each tensor
  berth_message message = {};
};

/// The named data that a delegate asked for lives as long as it does.
struct Files {
  const NamedDataMap* map;
  std::vector<FreeableBuffer>* blobs;

  static int32_t get(void* self, const char* key, berth_bytes* blob) {
    const Files& files = *static_cast<const Files*>(self);
    if (files.map == nullptr || key == nullptr || blob == nullptr) return BERTH_NOT_FOUND;
    Result<FreeableBuffer> found = files.map->get(key);
    if (!found.ok()) return static_cast<int32_t>(found.error());
    *blob = {found->bytes().data(), found->bytes().size()};
    files.blobs->push_back(std::move(*found));
    return BERTH_OK;
  }
};

class PluginBackend final : public Backend {
 public:
  explicit PluginBackend(const berth_backend& from) : from_(from) {}

  const char* name() const override { return from_.name; }

  bool serves(DeviceType type) const override {
    return call_plugin(nullptr, [&] { return from_.serves(from_.self, static_cast<int32_t>(type)); }) != 0;
  }

  // The plug-in checks its payload when it is loaded.
  Error memory_needed(const DelegateSource&, Span<uint8_t>, int, DelegateMemory* needed,
                      format::Report*) const override {
    *needed = DelegateMemory();
    return Error::kOk;
  }

  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load,
                               format::Report* report) override {
    for (const EValue* arg : load.args) {
      if (arg->is_tensor()) continue;
      return format::fail(report, Error::kNotSupported, "", "a delegate of a plug-in takes tensors only");
    }
    auto delegate = std::make_unique<PluginDelegate>();
    for (const CompileSpec& spec : source.specs) {
      delegate->specs.push_back({spec.key, {spec.value.data(), spec.value.size()}});
    }
    delegate->tensors.resize(load.args.size());
    delegate->sizes.resize(load.args.size() * kMaxRank);
    Files files = {source.named_data, &delegate->blobs};
    const berth_delegate view = {{source.payload.data(), source.payload.size()},
                                 delegate->specs.data(),
                                 delegate->specs.size(),
                                 static_cast<int32_t>(source.device.type),
                                 source.device.index,
                                 &files,
                                 Files::get};
    berth_message message = {};
    const int32_t code =
        call_plugin(&message, [&] { return from_.load(from_.self, &view, &delegate->handle, &message); });
    if (code != BERTH_OK) {
      return format::fail(report, plugin_error(code), "", "%s", one_line(&message));
    }
    return reinterpret_cast<DelegateHandle*>(delegate.release());
  }

  Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) override {
    PluginDelegate& delegate = *reinterpret_cast<PluginDelegate*>(handle);
    if (args.size() != delegate.tensors.size()) return context.fail(Error::kInternal, "the call has other arguments");
    const DeviceUse* use = nullptr;
    for (size_t i = 0; i < args.size(); ++i) {
      const Tensor& tensor = args[i]->tensor();
      describe(tensor, &delegate.sizes[i * kMaxRank], &delegate.tensors[i]);
      if (!tensor.device().is_cpu()) use = context.devices().find(tensor.device());
    }
    delegate.message.text[0] = '\0';
    const int32_t code = call_plugin(&delegate.message, [&] {
      return from_.execute(from_.self, delegate.handle, delegate.tensors.data(), delegate.tensors.size(),
                           use == nullptr ? nullptr : use->stream, &delegate.message);
    });
    if (code != BERTH_OK) return context.fail(plugin_error(code), one_line(&delegate.message));
    for (size_t i = 0; i < args.size(); ++i) {
      Tensor& tensor = args[i]->tensor();
      const Span<const int32_t> sizes(&delegate.sizes[i * kMaxRank], tensor.sizes().size());
      if (sizes == tensor.sizes()) continue;
      const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int32_t size) { return size < 0; });
      if (negative || tensor.resize(sizes) != Error::kOk) {
        return context.fail(Error::kInvalidArgument, "the plug-in gives an argument sizes that it cannot have");
      }
    }
    return Error::kOk;
  }

  void unload(DelegateHandle* handle) override {
    const std::unique_ptr<PluginDelegate> delegate(reinterpret_cast<PluginDelegate*>(handle));
    call_plugin(nullptr, [&] {
      from_.unload(from_.self, delegate->handle);
      return BERTH_OK;
    });
  }

 private:
  static void describe(const Tensor& tensor, int32_t* sizes, berth_tensor* out) {
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes);
    out->data = tensor.raw();
    out->bytes = tensor.nbytes();
    out->capacity = static_cast<size_t>(tensor.capacity()) * element_size(tensor.dtype());
    out->dtype = static_cast<int32_t>(tensor.dtype());
    out->rank = tensor.rank();
    out->sizes = sizes;
    out->dim_order = tensor.dim_order().data();
  }

  const berth_backend from_;
};

}  // namespace

PluginDevices::PluginDevices(Span<const Plugin* const> plugins) {
  for (const Plugin* plugin : plugins) {
    for (const berth_allocator& allocator : plugin->allocators()) {
      owned_allocators_.push_back(std::make_unique<PluginAllocator>(allocator));
      allocators_.push_back(owned_allocators_.back().get());
    }
    for (const berth_backend& backend : plugin->backends()) {
      owned_backends_.push_back(std::make_unique<PluginBackend>(backend));
      backends_.push_back(owned_backends_.back().get());
    }
  }
}

PluginDevices::~PluginDevices() = default;

}  // namespace berth
