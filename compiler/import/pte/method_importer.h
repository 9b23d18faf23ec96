// MethodImporter: imports one method of a program file to a method of the IR.
//
// Slots are indices into the method's value table. A tensor's slot has a range of bytes; its value is that of the
// last write to the range (MemoryMap). The parts: values.cc (slots to values and back), state.cc, calls.cc (kernels),
// cache_operators.cc (those of language models), prims.cc and numbers.cc (numbers, known now and at run time), sizes.cc
// (symbols), control.cc (jumps), loops.cc and own_loops.cc (ExecuTorch's and Berth's), delegates.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/mapped_file.h"
#include "compiler/import/lowering/number_operators.h"
#include "compiler/import/pte/external_data.h"
#include "compiler/import/pte/memory_map.h"
#include "compiler/ir/builder.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"

namespace berth::pte {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::OpId;
using ir::ValueId;

/// Place, dtype, shape and name identify state that two methods share.
using StateKey = std::tuple<uint32_t, uint64_t, int, std::vector<int32_t>, std::string>;
/// Constants by where their bytes are, dtype, shape and order.
using ConstantKey = std::tuple<const uint8_t*, int, std::vector<int32_t>, std::vector<uint8_t>>;

/// What all methods of a file share.
struct Source {
  format::ProgramView program;
  std::shared_ptr<const MappedFile> file;  // null for bytes in memory
  ExternalData external;
  /// The remaining work: lists in the file may cause only as much work as the file's size justifies.
  uint64_t budget = 0;
};

/// Ids of the module by what the file says.
struct Shared {
  std::map<StateKey, ir::StateId> states;
  std::map<ConstantKey, ir::ConstantId> constants;
  std::set<std::string> state_names;
};

/// A dimension of an input: its position among the inputs, and the dimension.
using InputDim = std::pair<int, int>;
/// Positions from here on are not inputs but slots that a delegate writes: kMadeHere + slot.
constexpr int kMadeHere = 1 << 30;

/// Facts about dynamic sizes of inputs that follow from the program's operators.
struct SizeFacts {
  std::map<InputDim, int64_t> numbers;
  std::map<InputDim, InputDim> same;
};

class MethodImporter {
 public:
  /// Imports method `index` into `module`; all must outlive the importer.
  MethodImporter(Source& source, size_t index, ir::Module& module, Shared& shared, SizeFacts& facts);

  Status run();
  /// Whether a failed run() has added to the facts, so that another one may succeed.
  bool learned() const { return learned_; }

 private:
  using Slot = int32_t;

  struct Write {
    Slot slot = -1;
    ValueId value;  // invalid: bytes that depend on the path taken
    ByteRange range;
  };
  /// Bytes of a constant or an initial value, and the file that they lie in: null for bytes in memory.
  struct Stored {
    Span<const uint8_t> bytes;
    std::shared_ptr<const MappedFile> file;

    ir::Blob blob() const {
      if (file == nullptr) return ir::Blob::owned({bytes.begin(), bytes.end()});
      return ir::Blob::mapped(file, bytes.data() - file->bytes().data(), bytes.size());
    }
  };
  struct StateSlot {
    ir::StateId id;
    Slot slot = -1;
    int write = -1;
  };
  /// What is undone at the end of a branch.
  struct Snapshot {
    MemoryMap memory;
    std::map<Slot, ByteRange> ranges;
    std::map<std::pair<int, Slot>, ValueId> views;
    std::map<Slot, Argument> numbers;
    std::map<Slot, ValueId> named;
    std::map<Slot, ValueId> constants;
    size_t writes = 0;
    size_t states = 0;
  };
  struct Branch {
    ir::Graph graph;
    std::map<Slot, ValueId> results;  // what each slot holds at the end
    std::set<Slot> moved;             // those of them that a MoveCall names
    std::map<Slot, Argument> numbers;
    std::vector<ByteRange> touched;
  };
  /// The stacked tensors of a loop: its index, and the value appended to each stacked slot.
  struct Stack {
    Slot index = -1;
    std::vector<std::pair<Slot, ValueId>> rows;
    std::vector<std::pair<Slot, Slot>> made;  // stacked slots, and slots of which what the body writes is the row
  };

  struct Loop {
    uint32_t begin = 0;  // instructions: the first, the first after the slices, the end of the body, the jump back
    uint32_t body = 0;
    uint32_t last = 0;
    uint32_t jump = 0;
    Slot index = -1;
    Dim length;
    std::vector<Slot> slots;   // of what goes around
    std::vector<Slot> slices;  // of what the body gets of each scanned value
    ir::ValueList carried, scanned;
    ir::Graph region;
  };

  // values.cc
  const fb::EValue& entry(Slot slot) const { return *plan_.values()->Get(static_cast<uint32_t>(slot)); }
  const fb::Tensor* tensor(Slot slot) const { return format::tensor_at(plan_, slot); }
  ByteRange range_of(Slot slot);
  std::string slot_name(Slot slot) const;
  /// The name of output `k`, which is `slot`, in berth.meta; may be empty.
  std::string output_name(size_t k, Slot slot) const;
  std::string slot_text(Slot slot) const;
  ir::TensorType declared_type(Slot slot) const;
  Expected<ValueId> read(Slot slot);
  Expected<ValueId> read_from(int write, Slot slot);
  Expected<ValueId> reinterpret(const Write& write, Slot slot, const ByteRange& range);
  Expected<ValueId> assemble(Slot slot, const ByteRange& range);
  Expected<ValueId> flat_part(const Write& write, const ByteRange& range, std::string_view name);
  Expected<ValueId> constant(Slot slot);
  Expected<Stored> stored(Slot slot) const;
  Status define(Slot slot, ValueId value);
  void record(Slot slot, ValueId value, const ByteRange& range);
  Expected<ValueId> in_order(ValueId value, const std::vector<uint8_t>& order, std::string_view name);
  Expected<ValueId> row_major(ValueId value, std::string_view name);
  Expected<ValueId> view(ValueId value, const DimList& sizes, std::string_view name);

  // state.cc
  Status find_states();
  Status add_state(Slot slot);
  Status write_states();

  // calls.cc
  Status import_instruction(const fb::Instruction& instruction);
  Status import_kernel(const fb::KernelCall& call);
  Status import_operator(const ir::Operator& op, const flatbuffers::Vector<int32_t>& args);
  /// A mask among indices of `of` stands for the places of what is true in it, a list for each of its dimensions, which
  /// must have the sizes of those that it stands at.
  Status expand_masks(ValueId of, ir::ValueList* indices);
  bool is_copy_within(const std::string& name, const flatbuffers::Vector<int32_t>& args) const;
  Status import_copy(const flatbuffers::Vector<int32_t>& args);
  Status import_view(const flatbuffers::Vector<int32_t>& args);
  Status import_move(Slot from, Slot to);
  Status name_value(Slot from, Slot to, ValueId value);
  Expected<Argument> argument(const ir::Parameter& parameter, Slot slot);
  Expected<std::vector<ValueId>> create(OpId op, const std::vector<Argument>& args, std::string_view name) {
    return create(ir::operator_of(op), args, name);
  }
  Expected<std::vector<ValueId>> create(const ir::Operator& op, const std::vector<Argument>& args,
                                        std::string_view name);
  Expected<ValueId> one(OpId op, const std::vector<Argument>& args, std::string_view name);
  Status spend(uint64_t steps);

  // cache_operators.cc
  /// False when the instruction's operator is not one of ExecuTorch's on caches.
  Expected<bool> import_cache_operator(const flatbuffers::Vector<int32_t>& args);
  Expected<Argument> any_number(Slot slot);

  // prims.cc
  Expected<Argument> number(Slot slot);
  ValueId number_in_tensor(Slot slot) const;
  /// Whether it is a number that depends on the path taken.
  bool is_unknown(Slot slot) const;
  Expected<Dim> whole(Slot slot);
  Expected<DimList> int_list(Slot slot);
  /// False when `name` is not an operator on numbers.
  Expected<bool> import_prim(const std::string& name, const flatbuffers::Vector<int32_t>& args);
  Expected<Dim> size_asked_for(bool numel, const flatbuffers::Vector<int32_t>& args);
  Expected<Argument> apply(const std::string& name, const std::vector<Argument>& in);
  Expected<Argument> apply_whole(const std::string& name, Dim a, Dim b);
  Expected<Argument> apply_real(const std::string& name, double a, double b);

  // numbers.cc
  /// over / under, as a double.
  struct Quotient {
    Dim over, under;
  };
  Expected<ValueId> as_type(ValueId value, DType dtype);
  Expected<ValueId> in_tensor(const Argument& number);
  const Quotient* quotient_of(const Argument& number) const;
  std::optional<Quotient> exact_quotient(const std::string& name, const std::vector<Argument>& in);
  std::optional<Dim> rounded(const std::string& name, const Quotient& q);
  Expected<Argument> apply_at_run_time(const std::string& name, const std::vector<Argument>& in);
  Expected<ValueId> apply_operator(const lowering::NumberOperator& rule, std::vector<ValueId> x);
  Expected<ValueId> choose(const std::vector<ValueId>& x);
  Expected<bool> give_tensors(OpId* op, std::vector<Argument>* args, const ir::TensorType& out);

  // sizes.cc
  Expected<ir::TensorType> input_type(int position, Slot slot);
  Expected<ir::TensorType> held(ir::TensorType type, Slot slot) const;
  Expected<Dim> input_size(int position, Slot slot, int dimension);
  Expected<Dim> input_symbol(const std::string& name, int64_t min, int64_t max, int64_t step = 1,
                             const std::set<std::string>& relations = {});
  std::set<std::string> relations_about(int32_t index) const;
  void read_size_relations(int32_t last);
  Status read_symbols();
  Status bound_by_file(Slot slot, ValueId value);
  Status check_type(Slot slot, const ir::TensorType& type);
  void learn_from(const std::vector<Argument>& args);
  bool learn_number(Dim dim, int64_t number);
  void learn(Dim a, Dim b);

  // control.cc
  Status import_chain(const fb::Chain& chain);
  Status import_range(uint32_t begin, uint32_t end);
  Expected<uint32_t> import_branches(uint32_t at, uint32_t end);
  Expected<Branch> import_branch(uint32_t begin, uint32_t end, const Snapshot& before);
  Snapshot snapshot() const;
  void restore(const Snapshot& before);
  Status forget(size_t first, size_t last);
  bool is_state_write(int write) const;
  const fb::Instruction& instruction(uint32_t at) const;
  Status join(const Snapshot& before, const Argument& condition, Branch& yes, Branch& no);
  /// Appends what the builder has no shape rule for; unsupported where the verifier would not have it.
  Expected<std::vector<ValueId>> append(OpId op, std::vector<Argument> args, std::vector<ir::Graph> regions,
                                        std::vector<ir::Type> types, const std::vector<Slot>& slots,
                                        ir::DelegateId delegate = {});

  // loops.cc
  const fb::KernelCall* call_of(uint32_t at, std::string_view name) const;
  Expected<Loop> recognise_loop(uint32_t begin, uint32_t end, uint32_t jump);
  Status find_carried(Loop& loop);
  Status find_scanned(Loop& loop);
  Status import_body(Loop& loop, Stack& stack);
  Status keep_carried(Loop& loop, const Stack& stack);
  std::vector<ValueId> carried_on(const std::vector<Slot>& slots, const ir::ValueList& start);
  Failure not_carried_on(Slot slot);
  Expected<uint32_t> import_loop(uint32_t begin, uint32_t end, uint32_t jump);
  Expected<uint32_t> import_scan(Loop loop);
  Status import_copy_index(const flatbuffers::Vector<int32_t>& args);
  Status import_row(const flatbuffers::Vector<int32_t>& args);
  Status add_row(Stack* stack, Slot stacked, Slot row);
  Status find_slice(Loop& loop, Slot from, Slot slice);
  Status find_rows();

  // own_loops.cc
  struct Carried {
    std::vector<Slot> slots;  // whose contents go around
    ir::ValueList start;
    std::set<Slot> numbers;        // that the loop sets
    std::set<size_t> overwritten;  // of the slots: by the condition
  };
  bool always_goes_back(uint32_t begin, uint32_t jump) const;
  Status note_write(Slot slot, const Loop& loop, Carried* carried);
  Expected<Carried> find_changed(uint32_t begin, uint32_t end, const Loop& loop);
  Expected<uint32_t> import_own_loop(uint32_t begin, uint32_t end, uint32_t jump);
  Expected<Loop> recognise_scan(uint32_t begin, uint32_t jump);
  Expected<uint32_t> find_exit(uint32_t begin, uint32_t jump);
  void open_region(const Carried& carried, ir::Graph* region);
  Status import_condition(uint32_t begin, uint32_t exit, Carried* carried, ir::Graph* region);
  Status import_while_body(uint32_t begin, uint32_t end, const Carried& carried, ir::Graph* region);
  Status import_within(uint32_t begin, uint32_t end, ir::Graph* region);
  bool is_read(ValueId value, const ir::Graph& graph) const;
  Expected<uint32_t> import_while(uint32_t begin, uint32_t exit, uint32_t jump);
  Status check_states(size_t known, size_t first_write);

  // delegates.cc
  struct NestedPorts {
    uint32_t inputs;
    uint32_t outputs;
  };
  struct Positions {
    uint32_t begin;
    uint32_t end;
  };
  Expected<NestedPorts> count_nested_ports(int32_t index);
  Expected<Positions> changed_arguments(const fb::DelegateCall& call);
  Expected<uint32_t> count_inputs(const flatbuffers::Vector<int32_t>& args);
  Expected<ir::DelegateId> delegate_of(int32_t index);
  Status check_is_tensor(Slot slot) const;
  Status check_sizes(Slot slot, const ir::TensorType& type) const;
  bool ends_in_scratch(int32_t delegate, const flatbuffers::Vector<int32_t>& args) const;
  Status import_delegate(const fb::DelegateCall& call);

  Status import_inputs();
  Status import_outputs();
  Failure fail(Error code, std::string message) const;
  Failure unsupported(std::string message) const { return fail(Error::kNotSupported, std::move(message)); }
  Failure invalid(std::string message) const { return fail(Error::kInvalidProgram, std::move(message)); }

  Source& source_;
  const size_t method_index_;
  const fb::ExecutionPlan& plan_;
  const fb::MethodMeta* meta_ = nullptr;
  ir::Module& module_;
  Shared& shared_;
  SizeFacts& facts_;
  ir::Method method_;
  ir::Graph* graph_ = nullptr;
  ir::Graph prologue_;  // reads of state: before all else

  MemoryMap memory_;
  std::vector<Write> writes_;
  std::vector<StateSlot> states_;
  std::map<Slot, ByteRange> ranges_;               // of slots that an instruction has moved
  std::map<std::pair<int, Slot>, ValueId> views_;  // a write as another slot sees it
  // Slots of numbers that an instruction has set: what is known now, or the tensor that the number is read from; an
  // invalid ValueId where it depends on the path taken.
  std::map<Slot, Argument> numbers_;
  std::map<int32_t, Quotient> quotients_;  // by ValueId: true quotients of sizes
  std::map<Slot, ValueId> named_;          // names of constants, by MoveCall and et_view
  std::map<Slot, ValueId> constants_;
  std::set<Slot> inputs_;
  std::set<Slot> rows_;                             // that berth::row.write points at bytes of a tensor
  std::set<Slot> turns_;                            // the numbers of those rows
  std::set<Slot> moved_;                            // targets of the moves in the present branch
  std::map<Slot, std::string> names_, nodes_;       // of berth.meta
  std::vector<Dim> symbols_;                        // of berth.meta, by index
  std::map<std::pair<Slot, int>, int> dimensions_;  // of berth.meta: symbol by dimension
  std::map<ir::SymbolId, InputDim> free_;           // symbols that stand for open sizes
  std::map<uint32_t, uint32_t> loops_;              // of this chain: last instruction by first
  std::map<int32_t, ir::DelegateId> delegates_;     // by index in the method
  std::map<int32_t, NestedPorts> nested_ports_;     // the same: of those that are nested programs
  Stack* stack_ = nullptr;                          // of the loop around
  const fb::Chain* chain_ = nullptr;
  int32_t instruction_ = -1;
  std::string operator_;  // of the instruction
  int depth_ = 0;
  bool learned_ = false;
};

}  // namespace berth::pte
