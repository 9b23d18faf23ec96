// NestedDelegate: what a NestedBackend's handle is. For the files of this room alone.
#pragma once

#include <optional>
#include <vector>

#include "backends/nested/nested_backend.h"
#include "runtime/program.h"

namespace berth {

/// The constants of one delegate, as its inner Program asks for them.
class NestedConstants final : public NamedDataMap {
 public:
  NestedConstants(ConstantStore* store, const NamedDataMap* source, const DeviceUse& use)
      : store_(store), source_(source), use_(use) {}
  Result<FreeableBuffer> get(const char* key) const override;

 private:
  ConstantStore* store_;
  const NamedDataMap* source_;
  DeviceUse use_;
};

/// An output in whose bytes other values of the nested program lie until it is written: an arena of the inner method,
/// which goes where the call has the output.
struct LentResult {
  size_t bytes = 0;  // 0: nothing else is in its bytes
  size_t alignment = 1;
  void* address = nullptr;  // where the inner method has the arena now
};

/// In the outer method's memory, with the inner method's behind it.
struct NestedDelegate {
  NestedDelegate(NestedBackend& of, Span<const uint8_t> file, uint32_t nested_version, const DelegateSource& source,
                 const DelegateLoad& load)
      : backend(of),
        use(load.use),
        device(source.device),
        version(nested_version),
        loader(file),
        constants(&of.constants_, source.named_data, load.use) {}
  ~NestedDelegate();

  Error load(const DelegateSource& source, const DelegateLoad& load, format::Report* report);
  Error execute(KernelContext& context, Span<EValue* const> args);
  void warm_up();

  /// The inner program of a payload of that version, checked.
  static Result<Program> open_program(const NestedBackend& backend, const DataLoader& loader, uint32_t version,
                                      const NamedDataMap* constants, bool verify, format::Report* report);
  /// Bytes of a delegate whose inner method takes so many.
  static size_t total_bytes(size_t method_bytes);

  NestedBackend& backend;
  const DeviceUse use;
  const Device device;
  const uint32_t version;
  BufferLoader loader;
  NestedConstants constants;
  std::optional<Program> program;
  void* session = nullptr;
  bool opened = false;
  std::optional<MemoryAllocator> memory;
  std::optional<Method> method;
  size_t inputs = 0;
  size_t outputs = 0;
  bool has_scratch = false;
  // MethodOptions::read of who loads it, and the bytes that it was told of.
  MemoryVisitor read = {nullptr, nullptr};
  uint64_t read_bytes = 0;
  std::vector<LentResult> lent;  // of each output
  // What the last run had to say; KernelContext keeps its address.
  char message[320] = "";

 private:
  // What the nested program calls its input `index`, or behind those its outputs. REQUIRES: the method is loaded.
  const Tensor& inner_port(size_t index) const;
  static void bring_in(void* delegate, Span<const uint8_t> constant);
  Error check_args(Span<EValue* const> args, format::Report* report) const;
  Error check_tensors(Span<EValue* const> args, format::Report* report) const;
  // `arenas` becomes those of the inner method, the lent results' without addresses; the scratch is filled in later.
  Error find_arenas(std::vector<Span<uint8_t>>* arenas);
  Error give_output(size_t index, void* data, size_t bytes);
  // Of an input that shares bytes with what is lent: it would be overwritten before it is read. SIZE_MAX when none
  // does.
  size_t overwritten_input() const;
  Error reach_scratch(Span<EValue* const> args, uint64_t bytes, void** scratch, format::Report* report) const;
  [[gnu::format(printf, 4, 5)]] Error fail(KernelContext& context, Error error, const char* format, ...);
  Error bind(KernelContext& context, Span<EValue* const> args);
  Error run(KernelContext& context);
  Error bind_to(Span<uint8_t> memory);
  Error bring_sizes(KernelContext& context, Span<EValue* const> args);
};

}  // namespace berth
