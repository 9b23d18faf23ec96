// Tables that are packed weights as well. The fears: rows of another weight of the same size, a table that something
// else reads and that is gone, indices from the end that are refused or taken where they were not, what is not the same
// to the bit, numbers of 8 and 4 bits with the wrong sign.
#include "compiler/fuse/share_tables.h"

#include "compiler/fuse/fuse_testing.h"
#include "compiler/fuse/pack_weights.h"

#ifdef BERTH_HIGHWAY

namespace berth::fuse {
namespace {

constexpr int kRows = 80, kWidth = 32;

std::string list(int count, const std::function<std::string(int)>& number) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + number(i);
  return text;
}

std::string real(int row, int k) { return std::to_string((row * 7 + k * 3) % 23 * 0.25 - 2); }

// The rows of a table, or the weight that has them as columns; `other` is added to one of the numbers.
std::string table() {
  return list(kRows * kWidth, [](int i) { return real(i / kWidth, i % kWidth); });
}
std::string weight(double other = 0) {
  return list(kRows * kWidth, [&](int i) {
    const std::string number = real(i % kRows, i / kRows);
    return i == 77 ? std::to_string(std::stod(number) + other) : number;
  });
}

struct Shared {
  ir::Module module;
  std::vector<std::string> why;
  std::string text;

  bool is_shared() const { return text.find("berth::weight_rows") != std::string::npos; }
  bool says(const std::string& words) const {
    return std::any_of(why.begin(), why.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
};

// After pack_weights and share_tables alone, for this machine. Without delegates in the text, all of it is one.
Shared shared(const std::string& text) {
  Shared result;
  result.module = passes::parsed(text);
  if (result.module.delegates.empty()) delegate_all(result.module);
  const Targets targets = *targets::parse_targets("cpu");
  passes::Options options;
  options.why = {"fusion"};
  options.why_lines = &result.why;
  EXPECT_TRUE(pack_weights(result.module, targets, options).ok());
  const auto changed = share_tables(result.module, targets, options);
  EXPECT_TRUE(changed.ok());
  result.text = ir::print(result.module);
  return result;
}

std::string model(const std::string& pick, const std::string& results = "%e, %y", double other = 0) {
  return filled(R"(
    const @table: f32[80,32] = dense<[$table]>
    const @w: f32[32,80] = dense<[$weight]>
    method forward(%t: i64[3], %x: f32[1,32]) {
      %table: f32[80,32] = const @table
      %w: f32[32,80] = const @w
      $pick
      %y: f32[1,80] = berth::linear(%x, %w, none, none, "none", 0.0, 0.0, "")
      return $results
    })",
                {{"table", table()}, {"weight", weight(other)}, {"pick", pick}, {"results", results}});
}

const char* const kEmbedding = "%e: f32[3,32] = aten::embedding(%table, %t)";

TEST(ShareTables, RowsAreReadOutOfThePackedWeight) {
  for (const auto& [pick, from_end] : {std::pair{kEmbedding, "false"},
                                       {"%e: f32[3,32] = aten::index_select(%table, 0, %t)", "false"},
                                       {"%e: f32[3,32] = aten::index.Tensor(%table, [%t])", "true"}}) {
    const Shared one = shared(model(pick));
    EXPECT_NE(one.text.find(std::string("%t.in, ") + from_end + ", 0, \"\", "), std::string::npos) << one.text;
    EXPECT_TRUE(one.is_shared());
    EXPECT_TRUE(one.says("fused into berth::weight_rows")) << pick;
  }
}

TEST(ShareTables, AWeightThatDiffersInOneNumberIsAnother) {
  const Shared one = shared(model(kEmbedding, "%e, %y", 0.25));
  EXPECT_FALSE(one.is_shared()) << one.text;
  EXPECT_TRUE(one.says("rows-differ: berth::weight_rows"));
}

TEST(ShareTables, ATableThatIsReadElsewhereStays) {
  const std::string pick = std::string(kEmbedding) + "\n%n: f32[80,32] = aten::neg(%table)";
  const Shared one = shared(model(pick, "%e, %y, %n"));
  EXPECT_FALSE(one.is_shared()) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere: berth::weight_rows"));
}

TEST(ShareTables, OtherColumnsAndOtherMethodsShare) {
  // Two picks, one of two dimensions.
  const std::string two = filled(R"(
    const @table: f32[80,32] = dense<[$table]>
    const @w: f32[32,80] = dense<[$weight]>
    method prefill(%t: i64[1,4]) {
      %table: f32[80,32] = const @table
      %e: f32[1,4,32] = aten::embedding(%table, %t)
      return %e
    }
    method decode(%t: i64[1,1], %x: f32[1,32]) {
      %table: f32[80,32] = const @table
      %w: f32[32,80] = const @w
      %e: f32[1,1,32] = aten::embedding(%table, %t)
      %y: f32[1,80] = berth::linear(%x, %w, none, none, "none", 0.0, 0.0, "")
      return %e, %y
    })",
                                 {{"table", table()}, {"weight", weight()}});
  const Shared one = shared(two);
  EXPECT_EQ(one.text.find("aten::embedding"), std::string::npos) << one.text;
  // Of the same table in another dimension nothing is shared.
  const Shared columns =
      shared(model("%c: i64[3] = aten::remainder.Scalar(%t, 32)\n"
                   "%e: f32[80,3] = aten::index_select(%table, 1, %c)"));
  EXPECT_FALSE(columns.is_shared()) << columns.text;
}

// The product in a delegate; rows of the table, which is its weight, are picked `inside` of that, and `outside`.
Shared of_delegate(const std::string& inside, const std::string& outside) {
  return shared(filled(R"(
    const @table: f32[80,32] = dense<[$table]>
    const @w: f32[32,80] = dense<[$weight]>
    delegate @d0 "berth.cpu"
    method forward(%t: i64[3], %x: f32[1,32], %r: f32[3,32]) {
      %table: f32[80,32] = const @table
      %w: f32[32,80] = const @w
      %a: f32[3,32], %y: f32[1,80] = berth::delegate([%x, %t, %r]) @d0 {
        (%i: f32[1,32], %u: i64[3], %s: f32[3,32])
        %p: f32[3,32] = $inside
        %q: f32[1,80] = berth::linear(%i, %w, none, none, "none", 0.0, 0.0, "")
        yield %p, %q
      }
      %b: f32[3,32] = $outside
      return %a, %b, %y
    })",
                       {{"table", table()}, {"weight", weight()}, {"inside", inside}, {"outside", outside}}));
}

// A device or another backend may not have berth::weight_rows, and the table stays in the file for it: one of
// the delegate's own would gain nothing.
TEST(ShareTables, OutsideOfDelegatesNothingIsShared) {
  const std::string pick = "aten::embedding(%table, %t)";
  const std::string pick_inside = "aten::embedding(%table, %u)";
  const Shared all_inside = of_delegate(pick_inside, "aten::relu(%a)");
  EXPECT_TRUE(all_inside.is_shared()) << all_inside.text;
  const Shared all_outside = of_delegate("aten::relu(%s)", pick);
  EXPECT_FALSE(all_outside.is_shared()) << all_outside.text;
  EXPECT_TRUE(all_outside.why.empty());
  const Shared both = of_delegate(pick_inside, pick);
  EXPECT_FALSE(both.is_shared()) << both.text;
  EXPECT_TRUE(both.says("result-read-elsewhere: berth::weight_rows"));
}

// Numbers of 8 and 4 bits, with their scales and zero points.
std::string narrow(int bits, const std::string& type, bool half) {
  // A tenth is not a number of f16.
  const auto scale = [&](int row, int b) { return std::to_string((row * 7 + b * 3) % 23 * 0.25 + (half ? 1 : 0.1)); };
  const auto number = [&](int row, int k) { return (row * 5 + k * 11) % (1 << bits) - (1 << (bits - 1)); };
  const int more = type == "i8" ? 0 : 1 << (bits - 1);
  const auto stored = [&](int i) {
    if (bits == 8) return number(i % kRows, i / kRows);
    const int row = i % kRows, k = i / kRows * 2;
    return (number(row, k) + 8) | (number(row, k + 1) + 8) << 4;
  };
  const bool pairs = type == "pairs";
  const auto of_table = [&](int i) {
    if (!pairs) return number(i / kWidth, i % kWidth) + more;
    const int row = i / (kWidth / 2), k = i % (kWidth / 2) * 2;
    return (number(row, k) + 8) | (number(row, k + 1) + 8) << 4;
  };
  return filled(
      R"(
    const @table: $type[80,$width] = dense<[$table]>
    const @rows: f32[80,2] = dense<[$rows]>
    const @w: $wtype[$depth,80] = dense<[$weight]>
    const @s: f32[2,80] = dense<[$scales]>
    method forward(%t: i64[3], %x: f32[3,32]) {
      %table: $type[80,$width] = const @table
      %rows: f32[80,2] = const @rows
      %w: $wtype[$depth,80] = const @w
      %s: f32[2,80] = const @s
      %e: $type[3,$width] = aten::embedding(%table, %t)
      %f: f32[3,2] = aten::index.Tensor(%rows, [%t])
      %y: f32[3,80] = berth::narrow_linear(%x, %w, %s, none, none, none, $bits, 16, "none", 0.0, 0.0, "")
      return %e, %f, %y
    })",
      {{"type", pairs ? "u8" : type},
       {"width", std::to_string(pairs ? kWidth / 2 : kWidth)},
       {"wtype", bits == 8 ? "i8" : "u8"},
       {"depth", std::to_string(bits == 8 ? kWidth : kWidth / 2)},
       {"table", list(kRows * kWidth / (pairs ? 2 : 1), [&](int i) { return std::to_string(of_table(i)); })},
       {"rows", list(kRows * 2, [&](int i) { return scale(i / 2, i % 2); })},
       {"weight", list(kRows * kWidth / (bits == 8 ? 1 : 2), [&](int i) { return std::to_string(stored(i)); })},
       {"scales", list(kRows * 2, [&](int i) { return scale(i % kRows, i / kRows); })},
       {"bits", std::to_string(bits)}});
}

// Shape rules say nothing of the scales of a packed weight.
TEST(ShareTables, ScalesThatAreNotPackedAreNoTable) {
  for (const char* const scales : {"f32[]", "f32[80]", "f32[80,2]", "f32[160,1]"}) {
    const Shared one = shared(filled(R"(
      const @table: f32[80,2] = splat<1.0>
      const @w: i8[2560] = splat<1>
      const @s: $scales = splat<1.0>
      method forward(%t: i64[3], %x: f32[3,32]) {
        %table: f32[80,2] = const @table
        %w: i8[2560] = const @w
        %s: $scales = const @s
        %e: f32[3,2] = aten::embedding(%table, %t)
        %y: f32[3,80] = berth::narrow_linear(%x, %w, %s, none, none, none, 8, 16, "none", 0.0, 0.0, "panels 64 [32,80]")
        return %e, %y
      })",
                                     {{"scales", scales}}));
    EXPECT_FALSE(one.is_shared()) << one.text;
  }
}

TEST(ShareTables, NumbersOfFewBitsAndTheirScalesShare) {
  for (const auto& [bits, type] : {std::pair{8, "i8"}, {8, "u8"}, {4, "i8"}, {4, "u8"}, {4, "pairs"}}) {
    const bool half = type[0] == 'i';
    const Shared one = shared(narrow(bits, type, half));
    EXPECT_EQ(one.text.find("aten::"), std::string::npos) << bits << " " << type << "\n" << one.text;
    const std::string how = ", " + std::to_string(bits) + ", \"" + type + "\", \"panels 64 [32,80]\"";
    EXPECT_NE(one.text.find(how), std::string::npos) << how << "\n" << one.text;
    const std::string scales = half ? ", true, 16, \"f32\", " : ", true, 0, \"\", ";
    EXPECT_NE(one.text.find(scales + "\"panels 64 [2,80]\""), std::string::npos) << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse

#endif
