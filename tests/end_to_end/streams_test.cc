// Models that are called chunk by chunk, with `states`. The fears: a state that is lost or late between calls, two that
// change places, a copy where the bytes could stay, and a state that remains an input.
#include "format/program_view.h"
#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

// A filter over chunks: `sum` forgets by half, `last` is the chunk before, and they change places in `swapped`.
constexpr char kFilter[] = R"(
  method forward(%x: f32[64], %sum: f32[64], %last: f32[64]) {
    %half: f32[64] = aten::mul.Scalar(%sum, 0.5)
    %sum.next: f32[64] = aten::add.Tensor(%half, %x, 1)
    %edge: f32[64] = aten::sub.Tensor(%x, %last, 1)
    %y: f32[64] = aten::mul.Tensor(%sum.next, %edge)
    return %y, %sum.next, %x
  })";

constexpr char kSwap[] = R"(
  method forward(%x: f32[64], %a: f32[64], %b: f32[64]) {
    %y: f32[64] = aten::sub.Tensor(%a, %b, 1)
    %bx: f32[64] = aten::add.Tensor(%b, %x, 1)
    %a.same: f32[64] = aten::clone(%a)
    return %y, %bx, %a.same
  })";

std::vector<float> chunk(int step) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>((i * 7 + step * 13) % 31) / 8 - 1.5F;
  return values;
}

void set(Method& method, size_t input, const std::vector<float>& values) {
  const int32_t sizes[] = {64};
  ASSERT_EQ(method.set_input(input, values.data(), sizes, DType::kF32), Error::kOk);
}

std::vector<float> output(Method& method, size_t index) {
  const EValue value = method.get_output(index);
  return {value.tensor().data<float>(), value.tensor().data<float>() + value.tensor().numel()};
}

// Outputs 1 and 2 of a call are inputs 1 and 2 of the next.
void expect_as_fed_back(const char* model, const char* target, const std::vector<std::string>& states) {
  SCOPED_TRACE(target);
  CompileOptions options;
  options.target = target;
  const testing::Compiled by_hand(model, options);
  options.states = states;
  const testing::Compiled stream(model, options);
  ASSERT_EQ(stream.program->method_meta("forward")->num_inputs(), 1U);
  ASSERT_EQ(stream.program->method_meta("forward")->num_outputs(), 1U);
  std::vector<float> first(64);
  std::vector<float> second(64);
  for (int step = 0; step < 8; ++step) {
    set(by_hand.method(), 0, chunk(step));
    set(by_hand.method(), 1, first);
    set(by_hand.method(), 2, second);
    ASSERT_EQ(by_hand.method().execute(), Error::kOk);
    first = output(by_hand.method(), 1);
    second = output(by_hand.method(), 2);
    set(stream.method(), 0, chunk(step));
    ASSERT_EQ(stream.method().execute(), Error::kOk);
    EXPECT_EQ(output(stream.method(), 0), output(by_hand.method(), 0)) << "call " << step;
  }
}

TEST(Streams, GoOnWhereTheLastCallEnded) {
  for (const char* target : {"portable", "cpu"}) expect_as_fed_back(kFilter, target, {"sum=sum.next", "last=x"});
}

TEST(Streams, StatesThatChangePlacesAreReadAsTheyWere) {
  for (const char* target : {"portable", "cpu"}) expect_as_fed_back(kSwap, target, {"a=bx", "b=a.same"});
}

TEST(Streams, AStateIsComputedInItsPlace) {
  CompileOptions options;
  options.states = {"sum=next"};
  const testing::Compiled stream(R"(
    method forward(%x: f32[64], %sum: f32[64]) {
      %half: f32[64] = aten::mul.Scalar(%sum, 0.5)
      %next: f32[64] = aten::add.Tensor(%half, %x, 1)
      %y: f32[64] = aten::relu(%next)
      return %y, %next
    })",
                                 options);
  for (const auto* op : *stream.program->view().method(0).operators()) {
    EXPECT_STRNE(op->name()->c_str(), "aten::copy_");
  }
}

TEST(Streams, OneMethodMayHaveAStateOfItsOwn) {
  auto module = ir::parse(kFilter);
  ASSERT_TRUE(module.ok());
  CompileOptions options;
  options.methods["forward"].states = {"sum=sum.next"};
  options.states = {"sum=sum.next"};
  const auto twice = compile(std::move(*module), options);
  ASSERT_FALSE(twice.ok()) << "the state of one method is gone for all";
  EXPECT_NE(twice.error().text().find("no such input and output; inputs: x, last"), std::string::npos)
      << twice.error().text();
}

}  // namespace
}  // namespace berth
