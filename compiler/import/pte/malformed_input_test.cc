// Programs that pass the file's own verification and say what the IR cannot hold. The fear: a module that its verifier
// refuses, which everything after the importer takes for sound.
#include <iterator>

#include "compiler/import/pte/import_testing.h"
#include "format/nested.h"

namespace berth::pte::testing {
namespace {

constexpr int32_t kHuge = 2147483647;

// -x for x of 4 numbers, by a delegate.
ProgramDesc delegated(std::vector<uint8_t> device) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16)};
  m.inputs = {0};
  m.outputs = {1};
  m.delegates = {{"Chip", 0, {{"target_device", std::move(device)}}}};
  m.instructions = {DelegateCallDesc{0, {0, 1}}};
  ProgramDesc program = program_of(m);
  program.payloads = {format::Bytes::of({1})};
  return program;
}

TEST(MalformedInput, DelegatesOnUnknownDevicesAreRefused) {
  imported(delegated({'c', 'u', 'd', 'a', ':', '0'}));
  has(refusal(delegated({'m', 'o', 'o', 'n'})), "moon");
  ProgramDesc two = delegated({'c', 'u', 'd', 'a', ':', '0'});
  two.methods[0].delegates[0].compile_specs.push_back({"target_device", {'c', 'p', 'u'}});
  has(refusal(two), "target_device");
}

// The value that a program with one input and one output, of `t` each, gives back.
ProgramDesc given_back(TensorDesc t) {
  MethodDesc m;
  m.values = {std::move(t)};
  m.inputs = {0};
  m.outputs = {0};
  return program_of(m);
}

// What runs nested programs is told by its payload how many inputs it has: the rest are results.
TEST(MalformedInput, DelegatesThatGiveNumbersAreRefused) {
  ProgramDesc program = delegated({});
  MethodDesc& m = program.methods[0];
  m.delegates[0].id = "berth.cpu";
  m.delegates[0].compile_specs.clear();
  m.values.emplace_back(int64_t{7});
  m.instructions = {DelegateCallDesc{0, {0, 2}}};
  const std::vector<uint8_t> nested = format::testing::bytes_of(given_back(tensor({4}, 0)));
  const format::NestedHeader header = format::make_nested_header(nested.size());
  std::vector<uint8_t> payload(std::begin(header.bytes), std::end(header.bytes));
  payload.insert(payload.end(), nested.begin(), nested.end());
  program.payloads = {format::Bytes::of(std::move(payload))};
  has(refusal(program), "value 2, which is not a tensor");
}

TEST(MalformedInput, TooManyElementsAreRefused) {
  has(refusal(given_back(tensor({kHuge, kHuge}, -1, DType::kU8))), "more than 2^56 elements");
  ProgramDesc program = delegated({'c', 'p', 'u'});
  program.methods[0].values[1] = tensor({kHuge, kHuge}, -1, DType::kU8);
  has(refusal(program), "more than 2^56 elements");
}

// x f32[<= 4] whose size is the last of `symbols`.
ProgramDesc sized_by(std::vector<format::SymbolDesc> symbols) {
  ProgramDesc program = given_back(bounded({4}, 0));
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.dimensions = {{0, 0, static_cast<int32_t>(symbols.size()) - 1}};
  meta.symbols = std::move(symbols);
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  return program;
}

TEST(MalformedInput, NegativeSizesAreRefused) {
  const std::vector<format::SymbolDesc> symbols = {{"n", fb::SymbolKind::INPUT, 0, 1, {0, -1}, {0, -1}},
                                                   {"", fb::SymbolKind::ADD, -5, -4, {0, 0}, {-5, -1}}};
  has(refusal(sized_by(symbols)), "expected sizes between 0");
}

TEST(MalformedInput, SizesOfHundredsOfTermsAreRefused) {
  std::vector<format::SymbolDesc> symbols;
  for (int i = 0; i < 300; ++i) {
    symbols.push_back({"n" + std::to_string(i), fb::SymbolKind::INPUT, 0, 1, {0, -1}, {0, -1}});
  }
  symbols.push_back({"", fb::SymbolKind::ADD, 0, 2, {0, 0}, {0, 1}});
  for (int i = 2; i < 300; ++i) {
    const int last = static_cast<int>(symbols.size()) - 1;
    symbols.push_back({"", fb::SymbolKind::ADD, 0, i + 1, {0, last}, {0, i}});
  }
  has(refusal(sized_by(symbols)), "more than 256 terms");
}

// A tensor without elements has no bytes that anything must write; as a constant of the module it lives on the host.
TEST(MalformedInput, AnEmptyDeviceTensorIsAConstantOnTheHost) {
  TensorDesc none = tensor({0, 3});
  none.device = Device(DeviceType::kCuda, 0);
  MethodDesc m;
  m.values = {none};
  m.outputs = {0};
  imported(program_of(m));
}

// State that two methods share lies in one order: its bytes in another would be other numbers.
TEST(MalformedInput, SharedStateInTwoOrdersIsRefused) {
  MethodDesc m;
  TensorDesc state = tensor({2, 3}, 64);
  state.name = "cache";
  m.values = {state, tensor({2, 3}, 128)};
  m.outputs = {1};
  m.operators = {{"aten::neg", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  ProgramDesc program = program_of(m);
  program.methods.push_back(program.methods[0]);
  program.methods[1].name = "other";
  imported(program);
  for (size_t slot = 0; slot < 2; ++slot) std::get<TensorDesc>(program.methods[1].values[slot]).dim_order = {1, 0};
  has(refusal(program), "is state that another method has in another order");
}

// As ExecuTorch's map writes it: y = y + x so many times; and stacks y in `stacked`.
ProgramDesc added(int64_t times, TensorDesc stacked) {
  MethodDesc m;
  m.values = {tensor({2}, 0), tensor({2}, 16), int64_t{0}, times, int64_t{1}, false, tensor({2}, 32), stacked};
  m.inputs = {0};
  m.outputs = {1};
  m.operators = {{"aten::copy_", ""},
                 {"aten::add", "out"},
                 {"executorch_prim::add", "Scalar"},
                 {"executorch_prim::eq", "Scalar"},
                 {"executorch_prim::et_copy_index", "tensor"}};
  m.instructions = {KernelCallDesc{0, {1, 0, 5, 1}},
                    KernelCallDesc{1, {1, 0, 4, 6, 6}},
                    KernelCallDesc{0, {1, 6, 5, 1}},
                    KernelCallDesc{4, {7, 1, 2}},
                    KernelCallDesc{2, {2, 4, 2}},
                    KernelCallDesc{3, {2, 3, 5}},
                    JumpFalseDesc{5, 1}};
  return program_of(m);
}

TEST(MalformedInput, ImpossibleTripCountsAreRefused) {
  const TensorDesc stacked = tensor({3, 2}, 64);
  EXPECT_EQ(numbers(run(imported(added(3, stacked)), {floats({2}, {1, 2})})[0]), (Floats{4, 8}));
  ProgramDesc program = added(-3, stacked);
  program.methods[0].instructions.erase(program.methods[0].instructions.begin() + 3);
  has(refusal(program), "at least 0");
  has(refusal(added(int64_t{1} << 40, bounded({3, 2}, 64))), "expected sizes between 0");
}

// The fear: as many branches within each other as the file likes, and work that doubles with each.
TEST(MalformedInput, BranchesNestedTooDeepAreRefused) {
  const auto nested = [](int depth) {
    MethodDesc m;
    m.values = {tensor({}, 0, DType::kBool), tensor({2}, 16), tensor({2}, 32), tensor({2}, 48)};
    m.inputs = {0, 1};
    m.outputs = {3};
    m.operators = {{"aten::neg", "out"}};
    m.instructions = {KernelCallDesc{0, {1, 2, 2}}};
    for (int i = 0; i < depth; ++i) m.instructions.emplace_back(JumpFalseDesc{0, depth + 2});
    m.instructions.emplace_back(KernelCallDesc{0, {1, 2, 2}});
    m.instructions.emplace_back(KernelCallDesc{0, {1, 3, 3}});
    return program_of(m);
  };
  const ir::Module module = imported(nested(32));
  EXPECT_EQ(numbers(run(module, {truth(true), floats({2}, {3, 5})})[0]), (Floats{-3, -5}));
  has(refusal(nested(33)), "nest more than 32 deep");
}

}  // namespace
}  // namespace berth::pte::testing
