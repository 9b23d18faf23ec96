// A table of embeddings that is the weight of the last product as well, as language models have it. The fears: it is in
// the file twice, rows that are not the table's to the bit, a program that gives other results than one that keeps
// both.
#include <cstring>
#include <random>

#include "base/half.h"
#include "base/text_testing.h"
#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

using testing::Compiled;

constexpr int32_t kTiedRows = 1024, kWidth = 128, kTokens = 5, kBlock = 32;
constexpr int64_t kPicked[kTokens] = {1023, 0, 64, 64, 500};

std::string model(const char* type, const char* table, const char* declarations = "") {
  return filled(R"(
    $declarations
    const @table: $table[1024,128] = splat<1>
    method forward(%tokens: i64[5], %x: $type[1,128]) {
      %table: $table[1024,128] = const @table
)",
                {{"declarations", declarations}, {"type", type}, {"table", table}});
}

std::string plain(const char* type) {
  return model(type, type) + filled(R"(
      %rows: $type[5,128] = aten::embedding(%table, %tokens)
      %turned: $type[128,1024] = aten::permute_copy(%table, [1, 0])
      %y: $type[1,1024] = aten::mm(%x, %turned)
      return %rows, %y
    })",
                                    {{"type", type}});
}

// Integers with a scale for 32 of a row.
std::string narrow() {
  return model("f32", "i8", "const @scales: f32[1024,4] = splat<1.0>") + R"(
      %scales: f32[1024,4] = const @scales
      %q: i8[5,128] = aten::index.Tensor(%table, [%tokens])
      %qf: f32[5,128] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
      %qb: f32[5,4,32] = aten::view_copy(%qf, [5, 4, 32])
      %s: f32[5,4] = aten::index.Tensor(%scales, [%tokens])
      %sb: f32[5,4,1] = aten::view_copy(%s, [5, 4, 1])
      %rb: f32[5,4,32] = aten::mul.Tensor(%qb, %sb)
      %rows: f32[5,128] = aten::view_copy(%rb, [5, 128])
      %wf: f32[1024,128] = dim_order_ops::_to_dim_order_copy(%table, false, none, f32)
      %wb: f32[1024,4,32] = aten::view_copy(%wf, [1024, 4, 32])
      %ws: f32[1024,4,1] = aten::view_copy(%scales, [1024, 4, 1])
      %wm: f32[1024,4,32] = aten::mul.Tensor(%wb, %ws)
      %w: f32[1024,128] = aten::view_copy(%wm, [1024, 128])
      %turned: f32[128,1024] = aten::permute_copy(%w, [1, 0])
      %y: f32[1,1024] = aten::mm(%x, %turned)
      return %rows, %y
    })";
}

// The module with numbers in `name`: each of `make(row, column)`.
template <typename T, typename F>
void fill(ir::Module& module, const std::string& name, int64_t columns, F&& make) {
  for (ir::ConstantId id : module.constants.ids()) {
    ir::Constant& constant = module.constants[id];
    if (constant.name != name) continue;
    std::vector<uint8_t> bytes(kTiedRows * columns * sizeof(T));
    for (int64_t i = 0; i < kTiedRows * columns; ++i) {
      const T number = make(i / columns, i % columns);
      std::memcpy(&bytes[i * sizeof(T)], &number, sizeof(T));
    }
    constant.blob = ir::Blob::owned(std::move(bytes));
    return;
  }
  FAIL() << name;
}

struct Results {
  std::vector<uint8_t> rows, y;
  size_t file = 0;
};

Results run(const ir::Module& module, bool fusion, bool f32) {
  CompileOptions options;
  options.target = "cpu";
  options.fusion = fusion;
  const Compiled compiled(module, options);
  Method& method = compiled.method();
  const int32_t tokens[] = {kTokens}, sizes[] = {1, kWidth};
  std::vector<float> x(kWidth);
  std::vector<uint16_t> x16(kWidth);
  for (int32_t k = 0; k < kWidth; ++k) {
    x[k] = static_cast<float>(k % 7) - 3;
    x16[k] = BFloat16(x[k]).bits;
  }
  EXPECT_EQ(method.set_input(0, kPicked, tokens, DType::kI64), Error::kOk);
  EXPECT_EQ(
      f32 ? method.set_input(1, x.data(), sizes, DType::kF32) : method.set_input(1, x16.data(), sizes, DType::kBF16),
      Error::kOk);
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  const auto bytes = [&](size_t i) {
    const Tensor& out = method.get_output(i).tensor();
    return std::vector<uint8_t>(out.data<uint8_t>(), out.data<uint8_t>() + out.nbytes());
  };
  return {bytes(0), bytes(1), compiled.bytes.size()};
}

uint32_t mixed(int64_t row, int64_t k) { return static_cast<uint32_t>(row * 2654435761 + k * 40503) >> 7; }

TEST(TiedEmbeddings, AreInTheFileOnceAndTheSameToTheBit) {
  ir::Module module = Compiled::parsed(plain("f32").c_str());
  const auto number = [](int64_t row, int64_t k) { return static_cast<float>(mixed(row, k) % 1000) * 1e-3F - 0.5F; };
  fill<float>(module, "table", kWidth, number);
  const Results one = run(module, true, true);
  EXPECT_LT(one.file, kTiedRows * kWidth * sizeof(float) * 11 / 10);
  for (int32_t i = 0; i < kTokens * kWidth; ++i) {
    const float want = number(kPicked[i / kWidth], i % kWidth);
    ASSERT_EQ(std::memcmp(&one.rows[i * sizeof want], &want, sizeof want), 0) << i;
  }
  const Results both = run(module, false, true);
  for (int32_t j = 0; j < kTiedRows; ++j) {
    float a = 0, b = 0;
    std::memcpy(&a, &one.y[j * sizeof a], sizeof a);
    std::memcpy(&b, &both.y[j * sizeof b], sizeof b);
    ASSERT_NEAR(a, b, 1e-4) << j;
  }
}

TEST(TiedEmbeddings, OfBf16AreOneToo) {
  ir::Module module = Compiled::parsed(plain("bf16").c_str());
  const auto number = [](int64_t row, int64_t k) {
    return BFloat16(static_cast<float>(mixed(row, k) % 250) - 125).bits;
  };
  fill<uint16_t>(module, "table", kWidth, number);
  const Results one = run(module, true, false);
  EXPECT_LT(one.file, kTiedRows * kWidth * sizeof(uint16_t) * 11 / 10);
  for (int32_t i = 0; i < kTokens * kWidth; ++i) {
    const uint16_t want = number(kPicked[i / kWidth], i % kWidth);
    ASSERT_EQ(std::memcmp(&one.rows[i * sizeof want], &want, sizeof want), 0) << i;
  }
}

// Scales that are numbers of f16 are stored as such, and read as f32.
TEST(TiedEmbeddings, OfIntegersAreOneWithTheirScales) {
  for (const auto& [low, half] : {std::pair{-128, false}, {-8, false}, {-128, true}, {-8, true}}) {
    ir::Module module = Compiled::parsed(narrow().c_str());
    const auto number = [low = low](int64_t row, int64_t k) {
      return static_cast<int8_t>(low + static_cast<int>(mixed(row, k) % static_cast<uint32_t>(-2 * low)));
    };
    const auto scale = [half = half](int64_t row, int64_t b) {
      const float any = 0.001F * static_cast<float>(1 + mixed(row, b) % 77);
      return half ? static_cast<float>(Half(any)) : any;
    };
    fill<int8_t>(module, "table", kWidth, number);
    fill<float>(module, "scales", kWidth / kBlock, scale);
    const Results one = run(module, true, true);
    const size_t scales = kTiedRows * kWidth / kBlock * (half ? sizeof(Half) : sizeof(float));
    const size_t numbers = kTiedRows * kWidth / (low == -8 ? 2 : 1);
    EXPECT_LT(one.file, (numbers + scales) * 11 / 10) << low << ", f16: " << half;
    for (int32_t i = 0; i < kTokens * kWidth; ++i) {
      const int64_t row = kPicked[i / kWidth], k = i % kWidth;
      const float want = static_cast<float>(number(row, k)) * scale(row, k / kBlock);
      ASSERT_EQ(std::memcmp(&one.rows[i * sizeof want], &want, sizeof want), 0) << i;
    }
  }
}

}  // namespace
}  // namespace berth
