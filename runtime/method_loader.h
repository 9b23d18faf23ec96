// MethodLoader: loads a method of a program file into memory. Private to runtime/. The steps, in order:
//
//     count              counts values, instructions and so on, and checks limits
//     check_devices      finds the devices and backends that it needs
//     measure_delegates  computes the memory that its delegates need
//     carve              allocates its arrays from the caller's memory, or only counts their bytes
//     lay_out            creates values: numbers, strings, lists, and tensors with their memory
//     open_delegates     reads payloads, computes temp memory
//     resolve            looks up kernels and arguments, checks every call against its kernel's signature
//     build_stacks       prepares arenas that follow the sizes
//     start_devices      creates a stream for each device
//     load_delegates     loads delegates
//     prepare_kernels    calls KernelEntry::prepare
#pragma once

#include "format/program_view.h"
#include "runtime/method_data.h"
#include "runtime/program.h"

namespace berth::internal {

/// The largest number of devices of a method, far more than a machine has.
constexpr size_t kMaxMethodDevices = 32;

class MethodLoader {
 public:
  MethodLoader(const Program& program, const fb::ExecutionPlan& plan, format::Report* report)
      : program_(program), view_(program.view()), plan_(plan), report_(report), blobs_(&program) {
    devices_ = program.devices(program.index_of(plan));
  }

  /// Also refuses more list elements and arguments than a valid file of this size can have, so that a malicious file
  /// cannot make loading take unbounded memory and time.
  Error count(MethodCounts* counts);

  /// The arrays; null when the memory is too small, and when the carver only counts.
  static MethodData* carve(const MethodCounts& counts, Carver& carver);

  /// If `planned` is null, planned tensors get no memory and state no initial value.
  Error lay_out(MethodData& data, const HierarchicalAllocator* planned);

  Error resolve(MethodData& data);
  /// REQUIRES: resolve() succeeded.
  void build_stacks(MethodData& data, const HierarchicalAllocator& planned);

  /// Zeroes unmarked state, which is found by analysing the instructions (method_state.cc); lay_out() initialises other
  /// state. REQUIRES: resolve() succeeded.
  Error zero_unmarked_state(MethodData& data);

  /// Bytes of method memory: the larger of the arrays and the scratch of verify_plan(), which runs before they exist.
  Error memory_bytes(const MethodCounts& counts, size_t* bytes) const;
  /// The plan check (format/plan_check/verify_plan.h), unless the program was loaded with Verification::kMinimal.
  Error verify_plan(Span<uint8_t> scratch);

  /// Finds the devices that the method uses, and the backends of its delegates. NotFound if one is missing.
  Error check_devices(MethodCounts* counts);
  /// Has each backend verify its payload fully, even with Verification::kMinimal. REQUIRES: check_devices() succeeded.
  Error check_delegates(const MethodCounts& counts, int threads);
  /// Computes each delegate's memory, without scratch memory to measure in. REQUIRES: check_devices() succeeded.
  Error measure_delegates(MethodCounts* counts, int threads);
  /// Checks that the arenas exist, are large enough, aligned, on their devices and do not overlap other memory.
  Error check_arenas(const MemoryManager& memory);

  /// The temp memory of the instruction that needs most. REQUIRES: resolve() and open_delegates() succeeded.
  size_t temp_bytes(const MethodData& data, int threads) const;

  // release() frees what these acquire, also when they fail.
  Error open_delegates(MethodData& data, int threads);
  Error start_devices(MethodData& data);
  Error load_delegates(MethodData& data, MemoryVisitor read);
  Error prepare_kernels(MethodData& data, MemoryVisitor read);

 private:
  template <typename... Args>
  Error fail(Error code, const char* what, size_t index, const char* message, Args... args);

  bool follows_sizes() const;
  bool is_stacked(uint32_t memory_id) const;
  void count_stacks(MethodCounts* counts);
  size_t add_tensors(MethodData& data, const fb::Stack& stack, StackedArena* arena);

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
  Error place_later(size_t index, const fb::Tensor& tensor, uint8_t* flags);
  uint64_t arena_bytes(uint32_t memory_id) const;
  Error lay_out_ports(MethodData& data, const flatbuffers::Vector<int32_t>* list, Port* ports, const char* what,
                      uint8_t flags);

  Error find_kernels(MethodData& data);
  Error check_own_operators(const MethodData& data);
  Error resolve_instruction(MethodData& data, const fb::Instruction* instruction, size_t chain_begin, size_t chain_end,
                            size_t index);
  Error resolve_call(MethodData& data, const fb::KernelCall& call, size_t index, Instruction* out);
  Error resolve_delegate_call(MethodData& data, const fb::DelegateCall& call, size_t index, Instruction* out);
  Error look_up(MethodData& data, int64_t value, size_t index, EValue** out);
  Error check_inputs(MethodData& data);
  Error check_calls(MethodData& data);
  Error prepare(MethodData& data, size_t index, const Signature& signature);
  // Calls `read` with each constant that the call reads completely.
  void visit_constants(MethodData& data, const Instruction& call, const MemoryVisitor& read) const;
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
  DeviceMap devices_;

  // Whether arenas follow the sizes. Known after check_devices().
  bool follows_ = false;

  // The devices that the method uses, without the host.
  DeviceUse uses_[kMaxMethodDevices];
  size_t use_count_ = 0;

  // The next free entry of each shared array.
  size_t next_tensor_ = 0;
  size_t next_stride_ = 0;
  size_t next_size_ = 0;
  size_t next_item_ = 0;
  size_t next_arg_ = 0;

  // The signature that was parsed last: calls of the same operator often follow each other.
  const KernelEntry* parsed_ = nullptr;
  Signature signature_;
};

template <typename... Args>
Error MethodLoader::fail(Error code, const char* what, size_t index, const char* message, Args... args) {
  char place[96];
  std::snprintf(place, sizeof(place), "methods[%.40s].%s[%zu]", format::text(plan_.name()), what, index);
  // The formats are literals at the call sites, which the compiler cannot see through the pack.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return format::fail(report_, code, place, message, args...);
#pragma GCC diagnostic pop
}

}  // namespace berth::internal
