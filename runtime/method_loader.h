// MethodLoader: from a method in a program file to a Method in memory. For the files of this room alone.
//
//     count              how much of everything the method has
//     check_devices      whether this process has the devices and backends that it asks for
//     measure_delegates  how much memory its delegates take
//     carve              its arrays, out of the caller's memory (or only their bytes)
//     lay_out            values: numbers, texts, lists, tensors with their memory
//     open_delegates     payloads read, temporary memory asked for
//     resolve            instructions: kernels found, arguments looked up, every call held to its kernel's signature
//     start_devices      a stream for each device
//     load_delegates     handles made
//     prepare_kernels    what kernels want to have ready (KernelEntry::prepare)
#pragma once

#include "format/program_view.h"
#include "runtime/method_data.h"
#include "runtime/program.h"

namespace berth::internal {

/// Far above what a machine has.
constexpr size_t kMaxMethodDevices = 32;
/// Of one delegate.
constexpr size_t kMaxCompileSpecs = 32;

class MethodLoader {
 public:
  MethodLoader(const Program& program, const fb::ExecutionPlan& plan, format::Report* report)
      : program_(program), view_(program.view()), plan_(plan), report_(report), blobs_(&program) {}

  /// Also refuses more list elements and arguments than a file of this size can mean, so that a hostile one cannot ask
  /// for memory and time without bound.
  Error count(MethodCounts* counts);

  /// The arrays; null when the memory does not hold them, and when the carver only adds up.
  static MethodData* carve(const MethodCounts& counts, Carver& carver);

  /// `planned` null: planned tensors stay without memory and state without its initial value.
  Error lay_out(MethodData& data, const HierarchicalAllocator* planned);

  Error resolve(MethodData& data);

  /// Sets the state to zero that only the instructions show to be state (method_state.cc); the other state has its
  /// initial value since lay_out(). REQUIRES: resolve() succeeded.
  Error zero_unmarked_state(MethodData& data);

  /// Bytes of the method memory: the arrays, or what verify_plan() wants while they are not there yet.
  Error memory_bytes(const MethodCounts& counts, size_t* bytes) const;
  /// Whether nothing overwrites what is still to be read (format/verify_plan.h), unless the program was loaded without.
  Error verify_plan(Span<uint8_t> scratch);

  /// Finds the devices that the method uses, and the backends of its delegates. NotFound for what is not there.
  Error check_devices(MethodCounts* counts);
  /// Has each backend check its payload in full, whatever the program was loaded with. REQUIRES: check_devices()
  /// succeeded.
  Error check_delegates(const MethodCounts& counts, int threads);
  /// Asks each backend what its delegate takes, without memory to measure in. REQUIRES: check_devices() succeeded.
  Error measure_delegates(MethodCounts* counts, int threads);
  /// Whether the arenas are there, large enough, aligned, on their devices and apart from the other memory.
  Error check_arenas(const MemoryManager& memory);

  /// The most temporary memory that one instruction takes. REQUIRES: resolve() and open_delegates() succeeded.
  size_t temp_bytes(const MethodData& data, int threads) const;

  // What these take is given back by release(), also when they fail.
  Error open_delegates(MethodData& data, int threads);
  Error start_devices(MethodData& data);
  Error load_delegates(MethodData& data, MemoryVisitor read);
  Error prepare_kernels(MethodData& data, MemoryVisitor read);

 private:
  template <typename... Args>
  Error fail(Error code, const char* what, size_t index, const char* message, Args... args);

  size_t plan_index() const;
  Error check_arena(size_t index, const MemoryManager& memory);
  Error find_device(Device device, const char* what, size_t index);
  Error check_delegate(size_t index);
  Error check_payloads(size_t index, uint64_t bytes, uint64_t* sum);
  Error delegate_device(size_t index, Device* device);
  Error backend_error(size_t index, Error error);
  Error ask_delegate(size_t index, bool verify, int threads, DelegateMemory* needed, uint64_t* payloads);
  Error read_delegate(size_t index, Span<CompileSpec> specs, FreeableBuffer* payload, DelegateSource* source);
  Error count_value(const fb::EValue* value, size_t index, MethodCounts* counts, uint64_t* work);
  Error count_instructions(MethodCounts* counts, uint64_t* work);

  Error lay_out_value(MethodData& data, size_t index);
  Error lay_out_tensor(MethodData& data, size_t index, const fb::Tensor& tensor);
  Error lay_out_bools(MethodData& data, size_t index, const fb::BoolList& list);
  template <typename Index>
  Error lay_out_list(MethodData& data, size_t index, const flatbuffers::Vector<Index>* items, fb::KernelTypes kind);
  Error external(size_t index, const fb::Tensor& tensor, uint64_t nbytes, FreeableBuffer* buffer);
  Error initialize(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes, void* memory);
  Error fill_state(MethodData& data, size_t index, Device device, void* memory, const uint8_t* bytes, size_t nbytes);
  Error check_shape(size_t index, const fb::Tensor& tensor, uint64_t* nbytes);
  Error place(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes, void** memory, uint8_t* flags);
  Error place_planned(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes, void** memory,
                      uint8_t* flags);
  Error lay_out_ports(MethodData& data, const flatbuffers::Vector<int32_t>* list, Port* ports, const char* what,
                      uint8_t flags);

  Error find_kernels(MethodData& data);
  Error resolve_instruction(MethodData& data, const fb::Instruction* instruction, size_t chain_begin, size_t chain_end,
                            size_t index);
  Error resolve_call(MethodData& data, const fb::KernelCall& call, size_t index, Instruction* out);
  Error resolve_delegate_call(MethodData& data, const fb::DelegateCall& call, size_t index, Instruction* out);
  Error look_up(MethodData& data, int64_t value, size_t index, EValue** out);
  Error check_inputs(MethodData& data);
  Error check_calls(MethodData& data);
  Error prepare(MethodData& data, size_t index, const Signature& signature);
  // Tells `read` of the constants that the call reads from end to end.
  void bring_in(MethodData& data, const Instruction& call, const MemoryVisitor& read) const;
  void spread_volatile(MethodData& data) const;
  struct Bytes;
  void mark_given(MethodData& data) const;
  void mention_call(MethodData& data, const Instruction& call, const Signature& signature) const;
  void mention_others(MethodData& data, const Instruction& instruction) const;
  bool find_bytes(size_t value, Bytes* bytes) const;
  bool is_view(const MethodData& data, size_t value, const Bytes& bytes, uint64_t* steps) const;
  const Signature* signature_of(const KernelEntry* kernel);

  const Program& program_;
  const format::ProgramView view_;
  const fb::ExecutionPlan& plan_;
  format::Report* report_;
  const HierarchicalAllocator* planned_ = nullptr;
  ProgramBlobs blobs_;

  // The devices that the method uses, without the host.
  DeviceUse uses_[kMaxMethodDevices];
  size_t use_count_ = 0;

  // Where the next value takes its part of the shared arrays.
  size_t next_tensor_ = 0;
  size_t next_stride_ = 0;
  size_t next_size_ = 0;
  size_t next_item_ = 0;
  size_t next_arg_ = 0;

  // The signature that was taken apart last: calls of one operator often follow each other.
  const KernelEntry* parsed_ = nullptr;
  Signature signature_;
};

template <typename... Args>
Error MethodLoader::fail(Error code, const char* what, size_t index, const char* message, Args... args) {
  char place[96];
  std::snprintf(place, sizeof(place), "methods[%.40s].%s[%zu]", format::text(plan_.name()), what, index);
  // The texts are literals at the call sites; the compiler cannot see through the pack.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return format::fail(report_, code, place, message, args...);
#pragma GCC diagnostic pop
}

}  // namespace berth::internal
