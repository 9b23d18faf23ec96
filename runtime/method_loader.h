// MethodLoader: from a method in a program file to a Method in memory. For the files of this room alone.
//
//     count      how much of everything the method has
//     carve      its arrays, out of the caller's memory (or only their bytes)
//     lay_out    values: numbers, texts, lists, tensors with their memory
//     resolve    instructions: kernels found, arguments looked up, every call held to its kernel's signature
#pragma once

#include "format/program_view.h"
#include "runtime/method_data.h"
#include "runtime/program.h"

namespace berth::internal {

class MethodLoader {
 public:
  MethodLoader(const Program& program, const fb::ExecutionPlan& plan, format::Report* report)
      : program_(program), view_(program.view()), plan_(plan), report_(report) {}

  /// Also refuses more list elements and arguments than a file of this size can mean, so that a hostile one cannot ask
  /// for memory and time without bound.
  Error count(MethodCounts* counts);

  /// The arrays; null when the memory does not hold them, and when the carver only adds up.
  static MethodData* carve(const MethodCounts& counts, Carver& carver);

  /// `planned` null: planned tensors stay without memory and state without its initial value.
  Error lay_out(MethodData& data, const HierarchicalAllocator* planned);

  Error resolve(MethodData& data);

  /// Bytes of the method memory: the arrays, or what verify_plan() wants while they are not there yet.
  Error memory_bytes(const MethodCounts& counts, size_t* bytes) const;
  /// Whether nothing overwrites what is still to be read (format/verify_plan.h), unless the program was loaded without.
  Error verify_plan(Span<uint8_t> scratch);

  /// Whether this runtime has the delegates and devices that the method asks for.
  Error check_devices();
  /// Whether the arenas are there, large enough and aligned.
  Error check_arenas(const HierarchicalAllocator& planned);

  /// The most temporary memory that one instruction takes. REQUIRES: resolve() succeeded.
  size_t temp_bytes(const MethodData& data, int threads) const;

 private:
  template <typename... Args>
  Error fail(Error code, const char* what, size_t index, const char* message, Args... args);

  size_t plan_index() const;
  Error count_value(const fb::EValue* value, size_t index, MethodCounts* counts, uint64_t* work);
  Error count_instructions(MethodCounts* counts, uint64_t* work);

  Error lay_out_value(MethodData& data, size_t index);
  Error lay_out_tensor(MethodData& data, size_t index, const fb::Tensor& tensor);
  Error lay_out_bools(MethodData& data, size_t index, const fb::BoolList& list);
  template <typename Index>
  Error lay_out_list(MethodData& data, size_t index, const flatbuffers::Vector<Index>* items, fb::KernelTypes kind);
  Error check_shape(size_t index, const fb::Tensor& tensor, uint64_t* nbytes);
  Error place(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes, void** memory, uint8_t* flags);
  Error place_planned(size_t index, const fb::Tensor& tensor, uint64_t nbytes, void** memory);
  Error lay_out_ports(MethodData& data, const flatbuffers::Vector<int32_t>* list, Port* ports, const char* what,
                      uint8_t flags);

  Error find_kernels(MethodData& data);
  Error resolve_instruction(MethodData& data, const fb::Instruction* instruction, size_t chain_begin, size_t chain_end,
                            size_t index);
  Error resolve_call(MethodData& data, const fb::KernelCall& call, size_t index, Instruction* out);
  Error look_up(MethodData& data, int64_t value, size_t index, EValue** out);
  Error check_inputs(MethodData& data);
  Error check_calls(MethodData& data);
  void spread_volatile(MethodData& data) const;
  const Signature* signature_of(const KernelEntry* kernel);

  const Program& program_;
  const format::ProgramView view_;
  const fb::ExecutionPlan& plan_;
  format::Report* report_;
  const HierarchicalAllocator* planned_ = nullptr;

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
