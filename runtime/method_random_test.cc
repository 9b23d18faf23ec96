// Random programs whose structure is sound and whose meaning is not: any value anywhere, moves and jumps between. The
// fear: that one of them loads, and its kernels then touch what they must not. Run it with an address sanitizer for the
// full strength; without, bytes around every piece of memory are watched.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/seeds_testing.h"
#include "format/write/programs_testing.h"
#include "runtime/contract_kernels_testing.h"
#include "runtime/program.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;

constexpr uint8_t kGuard = 0xa5;
constexpr size_t kGuardBytes = 64;

// `size` bytes between guards.
class Guarded {
 public:
  explicit Guarded(size_t size) : bytes_(size + 2 * kGuardBytes, kGuard), size_(size) {
    std::fill_n(data(), size, uint8_t{0});
  }
  uint8_t* data() { return bytes_.data() + kGuardBytes; }
  Span<uint8_t> span() { return {data(), size_}; }
  bool whole() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuardBytes, is_guard) &&
           std::all_of(bytes_.end() - kGuardBytes, bytes_.end(), is_guard);
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t size_;
};

struct OperatorChoice {
  format::OperatorDesc name;
  const char* signature;
  bool repeats;  // its result once more at the end
};

const OperatorChoice kOperators[] = {
    {{"aten::relu", "out"}, "Tensor self -> Tensor out", true},
    {{"aten::add", "out"}, "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out", true},
    {{"aten::cat", "out"}, "Tensor[] tensors, int dim=0 -> Tensor out", true},
    {{"aten::index", "Tensor_out"}, "Tensor self, Tensor?[] indices -> Tensor out", true},
    {{"aten::full", "out"}, "int[] size, Scalar fill_value -> Tensor out", true},
    {{"aten::leaky_relu", "out"}, "Tensor self, Scalar negative_slope=0.01 -> Tensor out", true},
    {{"aten::copy_", ""}, "Tensor self, Tensor src, bool non_blocking=False -> Tensor(self)", true},
    {{"executorch_prim::et_view", "default"}, "Tensor self, int[] size -> view out", false},
    {{"executorch_prim::et_copy_index", "tensor"}, "Tensor a, Tensor b, int index -> Tensor(a)", false},
    {{"executorch_prim::add", "Scalar"}, "Scalar a, Scalar b -> slot out", false},
    {{"executorch_prim::truediv", "Scalar"}, "Scalar a, Scalar b -> slot out", false},
    {{"aten::sym_size", "int"}, "Tensor self, int dim -> slot out", false},
    {{"aten::_local_scalar_dense", ""}, "Tensor self -> slot out", false},
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  ProgramDesc program() {
    ProgramDesc desc;
    desc.constants = {format::Bytes::of(std::vector<uint8_t>(256, 1))};
    desc.initial_values = {format::Bytes::of(std::vector<uint8_t>(256, 2))};
    MethodDesc& method = desc.methods.emplace_back();
    method.name = "forward";
    method.arenas = {{256, Device()}};
    for (int i = 0; i < 16; ++i) method.values.push_back(value(static_cast<int32_t>(method.values.size())));
    for (const OperatorChoice& choice : kOperators) method.operators.push_back(choice.name);
    for (int i = below(3); i > 0; --i) method.inputs.push_back(any());
    for (int i = below(3); i > 0; --i) method.outputs.push_back(any());
    for (int i = 1 + below(6); i > 0; --i) method.instructions.push_back(instruction(method));
    return desc;
  }

  int below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }

 private:
  int32_t any() { return below(16); }

  TensorDesc tensor() {
    TensorDesc t = format::testing::tensor({1 + below(4), below(4)}, below(3) > 0 ? 16 * below(8) : -1,
                                           below(4) > 0 ? DType::kF32 : DType::kI64);
    t.bounded = below(2) == 0;
    if (below(6) == 0) t.data_buffer_idx = 1;
    return t;
  }

  format::ValueDesc value(int32_t before) {
    const int kind = below(10);
    if (kind < 5 || before == 0) return tensor();
    if (kind == 5) return int64_t{below(4)};
    if (kind == 6) return below(2) == 0;
    if (kind == 7) return 1.5;
    if (kind == 8) return format::IntListDesc{{below(before), below(before)}};
    return format::OptionalTensorListDesc{{below(before), below(before) - 1}};
  }

  // Mostly a value of the right kind, so that many programs load.
  int32_t argument(const MethodDesc& method, const Parameter& parameter) {
    for (int tries = 0; tries < 20; ++tries) {
      const int32_t index = any();
      const format::ValueDesc& value = method.values[index];
      const bool tensor = std::holds_alternative<TensorDesc>(value);
      const bool wants_tensor = parameter.kind == ArgKind::kTensor || parameter.kind == ArgKind::kView;
      const bool wants_list = parameter.kind == ArgKind::kIntList;
      const bool wants_tensors =
          parameter.kind == ArgKind::kTensorList || parameter.kind == ArgKind::kOptionalTensorList;
      if (wants_tensor                       ? tensor
          : wants_list                       ? std::holds_alternative<format::IntListDesc>(value)
          : wants_tensors                    ? std::holds_alternative<format::OptionalTensorListDesc>(value)
          : parameter.kind == ArgKind::kBool ? std::holds_alternative<bool>(value)
                                             : std::holds_alternative<int64_t>(value)) {
        return index;
      }
    }
    return any();
  }

  format::InstructionDesc instruction(const MethodDesc& method) {
    const int kind = below(8);
    if (kind == 0) return format::MoveDesc{any(), any()};
    if (kind == 1) return format::JumpFalseDesc{any(), below(6)};
    const int op = below(static_cast<int>(std::size(kOperators)));
    Signature signature;
    EXPECT_TRUE(Signature::parse(kOperators[op].signature, &signature));
    KernelCallDesc call;
    call.op_index = op;
    for (const Parameter& parameter : signature.parameters()) call.args.push_back(argument(method, parameter));
    if (kOperators[op].repeats) call.args.push_back(call.args.back());
    return call;
  }

  std::mt19937 random_;
};

struct Tally {
  int loaded = 0;
  int finished = 0;
};

void try_program(uint32_t seed, Tally* tally) {
  Generator generator(seed);
  const std::vector<uint8_t> file = format::testing::bytes_of(generator.program());
  const std::vector<uint8_t> before = file;
  const BufferLoader loader{Span<const uint8_t>(file)};
  LoadOptions options;
  options.verification = Verification::kMinimal;
  const Result<Program> program = Program::load(loader, contract::kKernels, options);
  ASSERT_TRUE(program.ok());
  std::vector<std::unique_ptr<Guarded>> memory;
  const auto take = [&](size_t bytes) { return memory.emplace_back(std::make_unique<Guarded>(bytes))->span(); };
  const Span<uint8_t> arenas[] = {take(256)};
  const HierarchicalAllocator planned(arenas);
  MemoryAllocator allocator(take(1 << 14));
  Result<Method> method = program->load_method("forward", MemoryManager(allocator, planned));
  if (!method.ok()) return;
  ++tally->loaded;
  const MethodMeta meta = method->meta();
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      static_cast<void>(method->set_input(i, method->get_input(i)));
      continue;
    }
    // Sometimes a smaller one, in memory that is only that large.
    std::vector<int32_t> sizes(info->sizes.begin(), info->sizes.end());
    if (info->dynamism == ShapeDynamism::kBounded && generator.below(2) == 0) sizes[0] = 1;
    const size_t bytes = (sizes[0] * sizes[1]) * element_size(info->dtype);
    EXPECT_EQ(method->set_input(i, take(bytes).data(), sizes, info->dtype), Error::kOk);
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    if (info.ok() && !info->is_memory_planned) method->set_output_data_ptr(i, take(info->nbytes).data(), info->nbytes);
  }
  for (int run = 0; run < 2; ++run) {
    Error error = Error::kOk;
    for (int step = 0; step < 100 && error == Error::kOk; ++step) error = method->step();
    method->reset_execution();
    if (error == Error::kEndOfMethod) ++tally->finished;
  }
  for (const std::unique_ptr<Guarded>& piece : memory) ASSERT_TRUE(piece->whole());
  ASSERT_EQ(file, before);
}

TEST(MethodRandom, RandomProgramsTouchOnlyTheirOwnMemory) {
  Tally tally;
  const uint32_t first = testing::new_seed();
  constexpr uint32_t kPrograms = 4000;
  for (uint32_t i = 0; i < kPrograms; ++i) {
    SCOPED_TRACE(::testing::Message() << "BERTH_SEED=" << first + i);
    try_program(first + i, &tally);
    if (HasFatalFailure()) return;
  }
  // Otherwise this test says nothing.
  EXPECT_GT(tally.loaded, static_cast<int>(kPrograms / 20));
  EXPECT_GT(tally.finished, static_cast<int>(kPrograms / 40));
}

}  // namespace
}  // namespace berth
