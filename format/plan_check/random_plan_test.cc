// Random programs with random places, judged twice: by verify_plan(), and by running every path through them on bytes
// that remember who wrote them last. The two must agree on each program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/seeds_testing.h"
#include "format/plan_check/verify_plan.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

constexpr int kArena = 24;
constexpr int kInputs = 2;

/// Structured programs: straight lines, views made at run time, if with two branches that move their results to one
/// value, do-while loops.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  MethodDesc generate() {
    method_.name = "forward";
    method_.operators = {{"test::op", "out"}, {"aten::relu", "out"}, {"executorch_prim::et_view", "default"}};
    method_.arenas = {{kArena, Device()}};
    condition_ = 0;
    method_.values.emplace_back(true);
    method_.inputs = {condition_};
    std::vector<int32_t> defined;
    for (int i = 0; i < kInputs; ++i) {
      defined.push_back(new_tensor());
      method_.inputs.push_back(defined.back());
    }
    block(defined, 5, 2);
    method_.outputs = {pick(defined)};
    return method_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  int32_t pick(const std::vector<int32_t>& from) { return from[below(static_cast<int>(from.size()))]; }
  int32_t next() const { return static_cast<int32_t>(method_.instructions.size()); }

  int32_t new_tensor() {
    const int32_t size = 1 + below(3);
    method_.values.emplace_back(testing::tensor({size}, below(kArena - size + 1), DType::kU8));
    return static_cast<int32_t>(method_.values.size()) - 1;
  }

  int32_t compute(const std::vector<int32_t>& defined) {
    const int32_t in = pick(defined);
    const int32_t out = new_tensor();
    const bool relu = below(3) == 0;
    if (relu) {
      const TensorDesc& from = std::get<TensorDesc>(method_.values[in]);
      TensorDesc& to = std::get<TensorDesc>(method_.values[out]);
      if (below(2) == 0) to = testing::tensor(from.sizes, static_cast<int64_t>(from.planned->offset), DType::kU8);
      method_.instructions.push_back(KernelCallDesc{1, {in, out, out}});
    } else {
      method_.instructions.push_back(KernelCallDesc{0, {in, pick(defined), out, out}});
    }
    return out;
  }

  int32_t view(const std::vector<int32_t>& defined) {
    const int32_t from = pick(defined);
    const int32_t to = new_tensor();
    method_.values.emplace_back(IntListDesc{});
    method_.instructions.push_back(KernelCallDesc{2, {from, static_cast<int32_t>(method_.values.size()) - 1, to}});
    return to;
  }

  void block(std::vector<int32_t>& defined, int steps, int depth) {
    for (int i = 0; i < steps; ++i) {
      const int kind = depth == 0 ? 9 : below(10);
      if (kind == 0) {
        branch(defined, depth);
      } else if (kind == 1) {
        loop(defined, depth);
      } else if (kind == 9 && below(3) == 0) {
        defined.push_back(view(defined));
      } else {
        defined.push_back(compute(defined));
      }
    }
  }

  void branch(std::vector<int32_t>& defined, int depth) {
    const int32_t result = new_tensor();
    const int32_t to_else = next();
    method_.instructions.push_back(JumpFalseDesc{condition_, 0});
    std::vector<int32_t> inside = defined;
    block(inside, 1 + below(2), depth - 1);
    method_.instructions.push_back(MoveDesc{pick(inside), result});
    method_.values.emplace_back(false);
    const int32_t to_end = next();
    method_.instructions.push_back(JumpFalseDesc{static_cast<int32_t>(method_.values.size()) - 1, 0});
    std::get<JumpFalseDesc>(method_.instructions[to_else]).destination = next();
    inside = defined;
    block(inside, 1 + below(2), depth - 1);
    method_.instructions.push_back(MoveDesc{pick(inside), result});
    std::get<JumpFalseDesc>(method_.instructions[to_end]).destination = next();
    defined.push_back(result);
  }

  void loop(std::vector<int32_t>& defined, int depth) {
    const int32_t head = next();
    block(defined, 1 + below(3), depth - 1);
    method_.instructions.push_back(JumpFalseDesc{condition_, head});
  }

  std::mt19937 random_;
  MethodDesc method_;
  int32_t condition_ = 0;
};

/// Runs one path. A byte knows who wrote it last and which of that value's writings it was.
class Run {
 public:
  Run(const MethodDesc& method, uint32_t choices, bool inputs_backwards)
      : method_(method), choices_(choices), names_(method.values.size()), versions_(method.values.size()) {
    for (size_t v = 0; v < names_.size(); ++v) names_[v] = {static_cast<int32_t>(v), -1};
    std::vector<int32_t> inputs(method.inputs.begin() + 1, method.inputs.end());
    if (inputs_backwards) inputs = {inputs.rbegin(), inputs.rend()};
    for (const int32_t v : inputs) write(v);
  }

  /// Whether all that was read was what the program means.
  bool good() {
    size_t at = 0;
    for (int steps = 0; at < method_.instructions.size() && steps < 200 && good_; ++steps) at = step(at);
    if (at >= method_.instructions.size()) read(method_.outputs[0]);
    return good_;
  }

 private:
  struct Name {
    int32_t value;  // whose bytes these are
    int version;    // which writing is meant; -1: the latest
  };
  struct Byte {
    int32_t owner = -1;
    int version = -1;
  };

  const TensorDesc& tensor(int32_t v) const { return std::get<TensorDesc>(method_.values[v]); }

  template <typename Each>
  void each_byte(int32_t v, Each&& each) {
    const uint64_t begin = tensor(v).planned->offset;
    for (uint64_t b = begin; b < begin + static_cast<uint64_t>(tensor(v).sizes[0]); ++b) each(bytes_[b]);
  }

  void write(int32_t v) {
    versions_[v] = ++clock_;
    each_byte(v, [&](Byte& byte) { byte = {v, clock_}; });
  }

  void read(int32_t v) {
    const Name name = names_[v];
    each_byte(name.value, [&](const Byte& byte) {
      if (byte.owner != name.value || (name.version >= 0 && byte.version != name.version)) good_ = false;
    });
  }

  bool overlap(int32_t a, int32_t b) const {
    const uint64_t a_begin = tensor(a).planned->offset;
    const uint64_t b_begin = tensor(b).planned->offset;
    return a_begin < b_begin + static_cast<uint64_t>(tensor(b).sizes[0]) &&
           b_begin < a_begin + static_cast<uint64_t>(tensor(a).sizes[0]);
  }

  void call(const KernelCallDesc& call) {
    const int32_t out = call.args.back();
    for (size_t i = 0; i + 2 < call.args.size(); ++i) {
      read(call.args[i]);
      const int32_t bytes = names_[call.args[i]].value;
      const bool same_place =
          tensor(bytes).planned->offset == tensor(out).planned->offset && tensor(bytes).sizes == tensor(out).sizes;
      // The arguments' own sizes count for the operator: a name may be declared with others.
      const bool same_sizes = tensor(call.args[i]).sizes == tensor(out).sizes;
      if (overlap(bytes, out) && !(call.op_index == 1 && same_place && same_sizes)) good_ = false;
    }
    write(out);
  }

  void rename(int32_t from, int32_t to) {
    Name name = names_[from];
    if (name.version < 0) name.version = versions_[name.value];
    names_[to] = name;
  }

  size_t step(size_t at) {
    const InstructionDesc& instruction = method_.instructions[at];
    if (const auto* kernel = std::get_if<KernelCallDesc>(&instruction)) {
      if (kernel->op_index == 2) {
        rename(kernel->args[0], kernel->args[2]);
      } else {
        call(*kernel);
      }
    }
    if (const auto* move = std::get_if<MoveDesc>(&instruction)) rename(move->from, move->to);
    const auto* jump = std::get_if<JumpFalseDesc>(&instruction);
    if (jump == nullptr) return at + 1;
    const bool constant = jump->condition != method_.inputs[0];
    const bool taken = constant || (choices_ & 1u) != 0;
    if (!constant) choices_ >>= 1;
    return taken ? static_cast<size_t>(jump->destination) : at + 1;
  }

  const MethodDesc& method_;
  uint32_t choices_;
  std::vector<Name> names_;
  std::vector<int> versions_;  // by value: its latest writing
  Byte bytes_[kArena];
  int clock_ = 0;
  bool good_ = true;
};

bool runs_well(const MethodDesc& method) {
  for (uint32_t choices = 0; choices < 256; ++choices) {
    for (const bool backwards : {false, true}) {
      if (!Run(method, choices, backwards).good()) return false;
    }
  }
  return true;
}

TEST(RandomPlan, TheCheckAgreesWithRunningEveryPath) {
  const uint32_t first = berth::testing::new_seed();
  int sound = 0;
  constexpr int kPrograms = 3000;
  for (uint32_t seed = first; seed < first + kPrograms; ++seed) {
    ProgramDesc program;
    program.methods = {Generator(seed).generate()};
    const auto bytes = testing::bytes_of(program);
    ProgramView view;
    Report report;
    ASSERT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk);
    ASSERT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
    std::vector<uint8_t> scratch(plan_scratch_bytes(view, 0));
    const Error error = verify_plan(view, 0, {scratch.data(), scratch.size()}, nullptr, &report);
    const bool expected = runs_well(program.methods[0]);
    ASSERT_EQ(error == Error::kOk, expected)
        << "repeat with BERTH_SEED=" << seed << "; the check says: " << report.place << ": " << report.message;
    sound += expected ? 1 : 0;
  }
  RecordProperty("sound", sound);
  EXPECT_GT(sound, kPrograms / 50) << "hardly any program is sound: the test sees one side only";
  EXPECT_LT(sound, kPrograms - kPrograms / 50);
}

}  // namespace
}  // namespace berth::format
