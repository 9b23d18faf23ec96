// Everything except convolutions and products, on random sizes, orders and numbers of threads, on memory with guarded
// ends, against the portable kernels. The fears: those of guarded_conv_test.cc. BERTH_SEED=N begins there;
// BERTH_SECONDS=S goes on for that long.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/seeds_testing.h"
#include "format/activation_names.h"
#include "format/elementwise_code.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/narrow_testing.h"
#include "kernels/cpu/packing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

class GuardedCalls {
 public:
  explicit GuardedCalls(unsigned seed) : random_(seed), memory_(random_) {}

  void any() {
    switch (whole(0, 20)) {
      case 0:
      case 1: return attention();
      case 2:
      case 3: return chain();
      case 4: return lstm();
      case 5: return shuffle();
      case 6: return permute();
      case 7: return reorder();
      case 8: return pool();
      case 9: return resize();
      case 10: return norm();
      case 11: return group_norm();
      case 12: return bytes();
      case 13: return dynamic_bytes();
      case 14: return grouped_attention();
      case 15: return gru();
      case 16: return block();
      case 17: return samples();
      case 18: return weight_rows();
      case 19: return cast();
      default: return mean();
    }
  }

 private:
  using Sizes = std::vector<int32_t>;

  int32_t whole(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  bool truth() { return whole(0, 1) == 0; }
  // Mostly a few, now and then around whole registers.
  int32_t size() { return whole(0, 3) == 0 ? whole(1, 2) : truth() ? whole(1, 9) : whole(14, 70); }
  Array numbers(Sizes sizes, const std::vector<uint8_t>& order = {}, bool special = false) {
    return memory_(random_array(random_, std::move(sizes), order, special));
  }
  std::vector<uint8_t> order_of(int rank) {
    std::vector<uint8_t> order(rank);
    std::iota(order.begin(), order.end(), uint8_t{0});
    if (rank == 4 && truth()) return {0, 2, 3, 1};
    if (whole(0, 4) == 0) std::shuffle(order.begin(), order.end(), random_);
    return order;
  }
  bool special() { return whole(0, 4) == 0; }

  // `outs` have their sizes; as one list where `as_list`.
  void compare(const std::string& name, const std::vector<Arg>& args, const std::vector<Array>& outs,
               double largest = 0, bool as_list = false, const std::vector<size_t>& constants = {}) {
    SCOPED_TRACE(name);
    const auto with = [&](const std::vector<Array>& results) {
      std::vector<Arg> all = args;
      if (as_list) {
        all.push_back(Arg::list({results.begin(), results.end()}));
      } else {
        all.insert(all.end(), results.begin(), results.end());
      }
      return all;
    };
    const auto expected = call(kernel_of(portable::kernels(), name), with(outs), {}, 1);
    const int threads = truth() ? 1 : whole(2, 7);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(std::string(target) + ", " + std::to_string(threads) + " threads");
      std::vector<Array> ours;
      for (const Array& out : outs) {
        ours.push_back(array_like(out));
        if (out.tensor().raw() == nullptr) {
          ours.back().tensor().set_data(nullptr);
        } else {
          memory_(ours.back());
        }
      }
      const auto found = call_guarded(name, with(ours), constants, threads, memory_);
      ASSERT_EQ(found.error, expected.error) << found.message << "; " << expected.message;
      for (size_t i = 0; i < outs.size() && expected.error == Error::kOk; ++i) {
        if (outs[i].tensor().raw() != nullptr) expect_near(outs[i], ours[i], std::max(largest, largest_of(outs[i])));
      }
    });
  }

  void attention() {
    const int32_t batch = whole(1, 2), heads = whole(1, 4), head = truth() ? whole(1, 40) : 4 * whole(1, 10);
    const int32_t queries = size(), keys = whole(0, 5) == 0 ? whole(500, 600) : size();
    std::vector<int64_t> columns;
    std::vector<Arg> args;
    for (int k = 0; k < 3; ++k) {
      columns.push_back(truth() ? 0 : whole(1, 20));
      const auto width = static_cast<int32_t>(columns.back()) + heads * head + (truth() ? 0 : whole(1, 9));
      args.emplace_back(numbers({batch, k == 0 ? queries : keys, width}, {}, k < 2 && whole(0, 9) == 0));
    }
    const auto stretched = [&](int32_t n) { return truth() ? 1 : n; };
    const Sizes mask = {stretched(batch), stretched(heads), stretched(queries), stretched(keys)};
    const bool biased = whole(0, 2) == 0;
    if (biased) args.push_back(numbers({stretched(batch), stretched(heads), stretched(queries), stretched(keys)}));
    args.push_back(!biased && truth() ? Arg(nullptr) : Arg(numbers({mask.begin() + whole(0, 3), mask.end()})));
    for (const int64_t x : {int64_t{heads}, int64_t{head}, columns[0], columns[1], columns[2]}) args.emplace_back(x);
    args.emplace_back(0.1 * whole(1, 9));
    if (!biased) args.emplace_back(whole(0, 2) == 0);
    compare(biased ? "berth::attention.biased_out" : "berth::attention.out", args,
            {testing::f32({batch, queries, heads * head})}, 1);
  }

  // Limits reach beyond both ends of the cache, and may leave a query without a key.
  Arg limits(int32_t queries, int32_t low, int32_t high) {
    if (truth()) return Arg(nullptr);
    std::vector<double> values;
    for (int32_t i = 0; i < queries; ++i) values.push_back(whole(low, high));
    return Arg(memory_(Array(DType::kI64, {queries}, values)));
  }

  Arg cache(DType type, const Sizes& sizes) {
    if (type == DType::kF32) return numbers(sizes);
    int64_t count = 1;
    for (const int32_t size : sizes) count *= size;
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(0.25 * whole(-9, 9));
    return Arg(memory_(Array(type, sizes, values)));
  }

  void grouped_attention() {
    const DType type = truth() ? DType::kF32 : DType::kBF16;
    const int32_t batch = whole(1, 2), groups = whole(1, 3), heads = groups * whole(1, 4);
    const int32_t queries = truth() ? 1 : size(), keys = whole(0, 5) == 0 ? whole(500, 600) : size();
    const int32_t width = size(), value_width = truth() ? width : size();
    const auto stretched = [&](int32_t n) { return truth() ? 1 : n; };
    const Sizes mask = {stretched(batch), stretched(heads), stretched(queries), stretched(keys)};
    const bool rows = truth();
    const auto of_width = [&](int32_t n) {
      return rows ? Sizes{batch, keys, groups, n} : Sizes{batch, groups, keys, n};
    };
    // Scores as models have them: of large ones the rounding alone is more than is allowed of their exponentials.
    compare(rows ? "berth::grouped_attention.rows_out" : "berth::grouped_attention.out",
            {numbers({batch, heads, queries, width}), cache(type, of_width(width)), cache(type, of_width(value_width)),
             truth() ? Arg(nullptr) : Arg(numbers({mask.begin() + whole(0, 3), mask.end()})),
             limits(queries, -1, keys + 3), limits(queries, -4, keys), 0.3 * whole(1, 9) / std::sqrt(width), truth()},
            {testing::f32({batch, heads, queries, value_width})}, 1);
  }

  void chain() {
    const int rank = whole(1, 5);
    Sizes out;
    for (int d = 0; d < rank; ++d) out.push_back(whole(0, 7) == 0 ? whole(300, 700) : whole(1, 9));
    int64_t all = 1;
    for (const int32_t n : out) all *= n;
    if (all > 60000) return;
    const int inputs = whole(1, 4), constants = whole(0, 2), steps = whole(1, 8);
    const DType type = any_type();
    const auto array = [&](Sizes sizes) {
      const std::vector<uint8_t> order = order_of(static_cast<int>(sizes.size()));
      return typed(truth() ? type : any_type(), numbers(std::move(sizes), order, special()));
    };
    std::vector<Array> arrays = {array(out)};
    for (int k = 1; k < inputs; ++k) {
      Sizes own(out.begin() + whole(0, rank), out.end());
      for (int32_t& n : own) n = whole(0, 2) == 0 ? 1 : n;
      arrays.push_back(array(own));
    }
    std::shuffle(arrays.begin(), arrays.end(), random_);
    std::vector<int64_t> code;
    using elementwise::Op;
    for (int s = 0; s < steps; ++s) {
      // Sums whose terms cancel, and what grows without bounds, would be compared by their rounding alone.
      const Op ops[] = {Op::kAdd,  Op::kMul, Op::kMin,  Op::kMax,         Op::kNeg,       Op::kAbs,
                        Op::kTanh, Op::kSub, Op::kRelu, Op::kHardSigmoid, Op::kHardSwish, Op::kClamp,
                        Op::kSilu, Op::kErf, Op::kGelu, Op::kSigmoid,     Op::kLeakyRelu, Op::kMulAdd};
      const Op op = ops[whole(0, 17)];
      code.push_back(static_cast<int64_t>(op));
      for (int k = 0; k < 3; ++k)
        code.push_back(k < elementwise::operands(op) ? whole(0, inputs + constants + s - 1) : 0);
    }
    if (type != DType::kF32) {
      const Op last = type == DType::kF16 ? Op::kToF16 : Op::kToBF16;
      code.insert(code.end(), {static_cast<int64_t>(last), inputs + constants + steps - 1, 0, 0});
    }
    std::vector<double> numbers_of_code;
    for (int i = 0; i < constants; ++i) numbers_of_code.push_back(0.25 * whole(-4, 4));
    double largest = 10;
    for (const Array& each : arrays) largest = std::max(largest, largest_of(each));
    compare("berth::elementwise.out", {Arg::list({arrays.begin(), arrays.end()}), code, numbers_of_code},
            {Array(type, out, {}, order_of(rank))}, largest * largest * roundings(type));
  }

  // One or two tensors of bytes to bytes: relu(x * 0.25 - y) / 0.5.
  void bytes() {
    using elementwise::Op;
    const auto n = [](Op op) { return static_cast<int64_t>(op); };
    const int rank = whole(1, 4);
    Sizes out;
    for (int d = 0; d < rank; ++d) out.push_back(whole(0, 5) == 0 ? whole(60, 1300) : whole(1, 9));
    int64_t all = 1;
    for (const int32_t size : out) all *= size;
    if (all > 60000) return;
    const std::vector<uint8_t> order = order_of(rank);
    const int inputs = whole(1, 2);
    std::vector<Array> arrays;
    for (int k = 0; k < inputs; ++k) {
      Sizes own = out;
      if (k == 1 && truth()) own.back() = 1;
      const Array array(truth() ? DType::kU8 : DType::kI8, own, {}, order);
      for (int64_t i = 0; i < array.tensor().numel(); ++i) {
        array.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(whole(0, 255));
      }
      arrays.push_back(memory_(array));
    }
    // Constants: 0.25, 0.5, 0, 127.
    const int64_t c = inputs;
    const int64_t r = c + 4;
    const std::vector<int64_t> code = {n(Op::kMul),
                                       0,
                                       c,
                                       0,
                                       n(Op::kSub),
                                       r,
                                       c - 1,
                                       0,
                                       n(Op::kRelu),
                                       r + 1,
                                       0,
                                       0,
                                       n(Op::kDiv),
                                       r + 2,
                                       c + 1,
                                       0,
                                       n(Op::kRound),
                                       r + 3,
                                       0,
                                       0,
                                       n(Op::kClamp),
                                       r + 4,
                                       c + 2,
                                       c + 3,
                                       n(truth() ? Op::kToU8 : Op::kToI8),
                                       r + 5,
                                       0,
                                       0};
    const DType type = elementwise::result_type(static_cast<Op>(code[24]));
    compare("berth::elementwise.out",
            {Arg::list({arrays.begin(), arrays.end()}), code, std::vector<double>{0.25, 0.5, 0, 127}},
            {Array(type, out, {}, order)}, 0);
  }

  void dynamic_bytes() {
    const Sizes sizes = {size(), whole(0, 5) == 0 ? whole(60, 1300) : size()};
    compare("berth::dynamic_quantize.out", {numbers(sizes, {}, special())},
            {Array(DType::kU8, sizes), testing::f32({}), Array(DType::kU8, {})}, 0);
  }

  void lstm() {
    const int32_t steps = whole(1, 5), rows = whole(1, 7), units = truth() ? whole(1, 40) : whole(60, 130);
    const int32_t widths[] = {16, 32, 64, units}, width = widths[whole(0, 3)];
    const Array weight = numbers({(units + width - 1) / width, units, 4, width});
    float* w = weight.tensor().data<float>();
    for (int64_t i = 0; i < weight.tensor().numel(); ++i) w[i] /= static_cast<float>(units);
    compare("berth::lstm.out",
            {numbers({steps, rows, 4 * units}), numbers({rows, units}), numbers({rows, units}), weight, truth()},
            {testing::f32({steps, rows, units}), testing::f32({rows, units})}, 1);
    const Array dense = numbers({units, 4 * units});
    float* d = dense.tensor().data<float>();
    for (int64_t i = 0; i < dense.tensor().numel(); ++i) d[i] /= static_cast<float>(units);
    compare("berth::lstm_cell.out",
            {numbers({rows, 4 * units}), numbers({rows, units}), numbers({rows, units}), dense, ""},
            {testing::f32({rows, units}), testing::f32({rows, units})}, 1);
  }

  void gru() {
    const int32_t steps = whole(1, 5), rows = whole(1, 7), units = truth() ? whole(1, 40) : whole(60, 130);
    const int32_t widths[] = {16, 32, 64, units}, width = widths[whole(0, 3)];
    const Array weight = numbers({(units + width - 1) / width, units, 3, width});
    float* w = weight.tensor().data<float>();
    for (int64_t i = 0; i < weight.tensor().numel(); ++i) w[i] /= static_cast<float>(units);
    compare("berth::gru.out",
            {numbers({steps, rows, 3 * units}), numbers({rows, units}), weight,
             truth() ? Arg(nullptr) : Arg(numbers({3 * units})), truth(), truth(), truth()},
            {testing::f32({steps, rows, units})}, 1);
  }

  void shuffle() {
    const int32_t batch = whole(1, 2), height = whole(1, 7), width = whole(1, 7), parts = truth() ? 2 : whole(1, 3);
    const int32_t groups = truth() ? 2 : whole(1, 4), each = groups * whole(1, 20);
    const std::vector<uint8_t> order = order_of(4);
    std::vector<Arg> inputs;
    for (int k = 0; k < parts; ++k) inputs.emplace_back(numbers({batch, each, height, width}, order));
    std::vector<int64_t> sizes;
    std::vector<Array> outs;
    for (int32_t left = each * parts; left > 0;) {
      const int32_t taken = truth() ? left : std::min(left, 2 * whole(1, 9));
      left -= taken;
      sizes.push_back(taken);
      outs.emplace_back(DType::kF32, Sizes{batch, taken, height, width}, std::vector<double>(), order);
    }
    compare("berth::shuffle.out", {Arg::list(inputs), int64_t{groups}, sizes}, outs, 0, true);
  }

  void block() {
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const bool expands = truth(), projects = truth(), residual = projects && truth();
    const int32_t batch = whole(1, 2), channels = whole(5, 70), in = expands ? whole(5, 40) : channels;
    const int32_t out = projects ? whole(1, 40) : channels;
    std::vector<int64_t> stride, padding, dilation;
    Sizes image = {batch, in}, window = {channels, 1}, result = {batch, out};
    for (int i = 0; i < 2; ++i) {
      window.push_back(whole(1, 7));
      stride.push_back(whole(1, 3));
      dilation.push_back(whole(0, 3) == 0 ? 2 : 1);
      const auto reach = static_cast<int32_t>((window.back() - 1) * dilation.back() + 1);
      const int32_t border = whole(0, reach);
      padding.push_back(border);
      image.push_back(std::max(whole(1, 24), reach - 2 * border));
      result.push_back((image.back() + 2 * border - reach) / static_cast<int32_t>(stride.back()) + 1);
    }
    const auto optional = [&](bool there, Sizes sizes, const std::vector<uint8_t>& order = {}) {
      return there ? Arg(numbers(std::move(sizes), order)) : Arg(nullptr);
    };
    const auto activation = [&] { return kActivationNames[whole(0, 11)]; };
    compare("berth::inverted_residual.out",
            {numbers(image, last, special()),
             optional(expands, {channels, in, 1, 1}),
             optional(expands && truth(), {channels}),
             activation(),
             -0.5,
             0.75,
             "",
             numbers(window),
             optional(truth(), {channels}),
             stride,
             padding,
             dilation,
             activation(),
             -0.5,
             0.75,
             "",
             optional(projects, {out, channels, 1, 1}),
             optional(projects && truth(), {out}),
             optional(residual, result, last),
             activation(),
             -0.5,
             0.75,
             ""},
            {Array(DType::kF32, result, std::vector<double>(), last)}, 1e4, false, {1, 7, 16});
  }

  void permute() {
    const int rank = whole(2, 5);
    Sizes in;
    for (int d = 0; d < rank; ++d) in.push_back(whole(0, 6) == 0 ? whole(40, 90) : whole(1, 6));
    std::vector<int64_t> dims(rank);
    std::iota(dims.begin(), dims.end(), int64_t{0});
    std::shuffle(dims.begin(), dims.end(), random_);
    Sizes out;
    for (const int64_t d : dims) out.push_back(in[d]);
    compare("aten::permute_copy.out", {numbers(in, order_of(rank)), dims},
            {Array(DType::kF32, out, {}, order_of(rank))});
    const int32_t a = whole(0, rank - 1), b = whole(0, rank - 1);
    out = in;
    std::swap(out[a], out[b]);
    compare("aten::transpose_copy.int_out", {numbers(in, order_of(rank)), a, b - rank},
            {Array(DType::kF32, out, {}, order_of(rank))});
  }

  void reorder() {
    const Sizes sizes = {whole(1, 3), truth() ? whole(1, 4) : size(), size(), whole(1, 9)};
    const bool last = truth();
    const std::vector<uint8_t> order = last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
    compare("dim_order_ops::_clone_dim_order.out",
            {numbers(sizes, order_of(4)), false, std::vector<int64_t>(order.begin(), order.end())},
            {Array(DType::kF32, sizes, {}, order)});
  }

  void pool() {
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const Sizes in = {whole(1, 2), size(), whole(1, 15), whole(1, 15)};
    const Array input = numbers(in, last, special());
    std::vector<int64_t> kernel, stride, padding, dilation;
    Sizes average = in, most = in;
    const bool ceil = truth();
    for (size_t i = 0; i < 2; ++i) {
      kernel.push_back(whole(1, 5));
      stride.push_back(whole(1, 6));
      dilation.push_back(whole(1, 3));
      padding.push_back(whole(0, static_cast<int32_t>(kernel[i] / 2)));
      const auto out = [&](int64_t reach) {
        const int64_t room = in[2 + i] + 2 * padding[i] - reach;
        int64_t n = room < 0 ? 0 : (room + (ceil ? stride[i] - 1 : 0)) / stride[i] + 1;
        if (ceil && (n - 1) * stride[i] >= in[2 + i] + padding[i]) --n;
        return static_cast<int32_t>(n);
      };
      average[2 + i] = out(kernel[i]);
      most[2 + i] = out((kernel[i] - 1) * dilation[i] + 1);
    }
    if (std::min(average[2], average[3]) > 0) {
      compare("aten::avg_pool2d.out",
              {input, kernel, stride, padding, ceil, truth(), truth() ? Arg(nullptr) : Arg(whole(1, 5))},
              {Array(DType::kF32, average, {}, last)});
    }
    if (std::min(most[2], most[3]) > 0) {
      const Array indices(DType::kI64, most, {}, last);
      indices.tensor().set_data(nullptr);
      compare("aten::max_pool2d_with_indices.out", {input, kernel, stride, padding, dilation, ceil},
              {Array(DType::kF32, most, {}, last), indices});
    }
    const Sizes adapted = {in[0], in[1], whole(1, 18), whole(1, 18)};
    compare("aten::_adaptive_avg_pool2d.out", {input, std::vector<int64_t>{adapted[2], adapted[3]}},
            {Array(DType::kF32, adapted, {}, last)});
  }

  void resize() {
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const Sizes in = {whole(1, 2), size(), whole(1, 9), whole(1, 9)};
    const Sizes out = {in[0], in[1], whole(1, 20), whole(1, 20)};
    const std::vector<int64_t> size = {out[2], out[3]};
    const Array input = numbers(in, last, special());
    compare("aten::upsample_nearest2d.vec_out", {input, size, nullptr}, {Array(DType::kF32, out, {}, last)});
    compare("aten::upsample_bilinear2d.vec_out", {input, size, truth(), nullptr}, {Array(DType::kF32, out, {}, last)});
  }

  // Places inside and outside of the images.
  void samples() {
    const Sizes in = {whole(1, 3), whole(1, 5), whole(1, 9), size()};
    const Array grid = numbers({in[0], whole(1, 9), size(), 2}, {}, special());
    compare("aten::grid_sampler_2d.out", {numbers(in), grid, 0, whole(0, 1), truth()},
            {testing::f32({in[0], in[1], grid.sizes()[1], grid.sizes()[2]})}, 10);
  }

  // Out of a packed weight, and out of the dense one by the portable kernel.
  void weight_rows() {
    constexpr char kName[] = "berth::weight_rows.out";
    const DType types[] = {DType::kF32, DType::kBF16, DType::kF16};
    const DType type = types[whole(0, 2)];
    const int32_t depth = size(), rows = truth() ? size() : whole(60, 330);
    const Array dense(type, {depth, rows}, random_array(random_, {depth, rows}, {}, special()).values());
    LinearToPack linear;
    linear.rows = truth() ? 1 : 64;
    linear.depth = depth;
    linear.columns = rows;
    linear.weight_type = type;
    PackedWeight packed;
    if (!pack_linear(linear, dense.tensor().raw(), "native", &packed)) return;
    const Array weight(type, {static_cast<int32_t>(packed.bytes.size() / element_size(type))});
    std::memcpy(weight.tensor().raw(), packed.bytes.data(), packed.bytes.size());
    memory_(weight);
    const bool from_end = truth(), wide = truth();
    std::vector<double> indices;
    for (int32_t left = size(); left > 0; --left) indices.push_back(whole(from_end ? -rows : 0, rows - 1));
    const auto count = static_cast<int32_t>(indices.size());
    const Array at = memory_(Array(wide ? DType::kI64 : DType::kI32, {count}, indices));
    const Array want(type, {count, depth}), found(type, {count, depth});
    ASSERT_EQ(call(kernel_of(portable::kernels(), kName), {dense, at, from_end, 0, "", "", want}, {}, 1).error,
              Error::kOk);
    const auto outcome = call_guarded(kName, {weight, at, from_end, 0, "", packed.text.c_str(), memory_(found)}, {0},
                                      whole(1, 7), memory_);
    ASSERT_EQ(outcome.error, Error::kOk) << packed.text << ": " << outcome.message;
    SCOPED_TRACE(packed.text);
    expect_near(want, found, 0);
  }

  // f32 most often.
  DType any_type() {
    const DType types[] = {DType::kF32, DType::kF32, DType::kF16, DType::kBF16};
    return types[whole(0, 3)];
  }
  Array typed(DType type, const Array& wide) { return type == DType::kF32 ? wide : memory_(as_type(wide, type)); }
  // What compare() allows for a rounding, beside the portable kernels' own.
  static double roundings(DType type) { return type == DType::kF32 ? 1 : 1000; }

  void group_norm() {
    const DType type = any_type();
    const int32_t batch = whole(1, 3), groups = whole(1, 5), channels = groups * whole(1, 20);
    const int32_t height = whole(1, 9), width = whole(0, 4) == 0 ? whole(300, 500) : size();
    const Sizes sizes = {batch, channels, height, width};
    const std::vector<uint8_t> order = order_of(4);
    const Arg weight = truth() ? Arg(typed(type, numbers({channels}))) : Arg(nullptr);
    const Arg bias = truth() ? Arg(numbers({channels})) : Arg(nullptr);
    compare("aten::native_group_norm.out",
            {typed(type, numbers(sizes, order)), weight, bias, batch, channels, height * width, groups, 0.1},
            {Array(type, sizes, {}, truth() ? order : order_of(4)), Array(type, {batch, groups}),
             Array(type, {batch, groups})},
            10 * roundings(type));
  }

  void norm() {
    const DType type = any_type();
    const auto result = [&](Sizes of) { return Array(type, std::move(of)); };
    const Sizes sizes = {whole(1, 4), whole(1, 5), truth() ? whole(1, 80) : whole(200, 400)};
    const Array input = typed(type, numbers(sizes, {}, special()));
    const int32_t n = sizes[2];
    compare("aten::native_layer_norm.out",
            {input, std::vector<int64_t>{n}, truth() ? Arg(nullptr) : Arg(typed(type, numbers({n}))),
             truth() ? Arg(nullptr) : Arg(truth() ? typed(type, numbers({n})) : numbers({n})), 1e-5},
            {result(sizes), result({sizes[0], sizes[1], 1}), result({sizes[0], sizes[1], 1})}, 10 * roundings(type));
    const Array row = numbers(sizes, {}, special());
    compare("berth::rms_norm.out", {row, truth() ? Arg(nullptr) : Arg(numbers({n})), 1e-5}, {Array(DType::kF32, sizes)},
            10);
    compare("aten::_softmax.out", {input, whole(-3, 2), false}, {result(sizes)}, roundings(type));
    compare("aten::_log_softmax.out", {input, whole(-3, 2), false}, {result(sizes)}, 5 * roundings(type));
  }

  void cast() {
    const DType type = truth() ? DType::kF16 : DType::kBF16;
    const Sizes sizes = {whole(1, 3), size(), whole(1, 9), truth() ? whole(1, 9) : whole(1000, 3000)};
    const std::vector<uint8_t> order = order_of(4), other = truth() ? order : order_of(4);
    const Array wide = numbers(sizes, order, special());
    const std::vector<int64_t> target(other.begin(), other.end());
    compare("dim_order_ops::_to_dim_order_copy.out", {wide, false, target}, {Array(type, sizes, {}, other)});
    compare("dim_order_ops::_to_dim_order_copy.out", {memory_(as_type(wide, type)), false, target},
            {Array(DType::kF32, sizes, {}, other)});
  }

  void mean() {
    const Sizes sizes = {whole(1, 3), size(), whole(1, 9), whole(1, 9)};
    std::vector<int64_t> dims;
    Sizes out;
    const bool keep = truth();
    for (int32_t d = 0; d < 4; ++d) {
      const bool reduced = d >= 2 ? whole(0, 3) != 0 : whole(0, 4) == 0;
      if (reduced) dims.push_back(truth() ? d : d - 4);
      if (!reduced || keep) out.push_back(reduced ? 1 : sizes[d]);
    }
    if (dims.empty()) return;
    if (truth()) {
      const Array bytes(truth() ? DType::kU8 : DType::kI8, sizes, {}, order_of(4));
      for (int64_t i = 0; i < bytes.tensor().numel(); ++i) {
        bytes.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random_());
      }
      return compare("aten::mean.out", {memory_(bytes), dims, keep, static_cast<int64_t>(DType::kF32)},
                     {testing::f32(out)}, 1);
    }
    compare("aten::mean.out", {numbers(sizes, order_of(4), special()), dims, keep, nullptr}, {testing::f32(out)}, 1);
  }

  std::mt19937 random_;
  GuardedMemory memory_;
};

TEST(Guarded, KernelsStayInTheirMemory) {
  testing::for_each_seed(200, [](unsigned seed) { GuardedCalls(seed).any(); });
}

}  // namespace
}  // namespace berth::cpu
