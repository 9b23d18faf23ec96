// For tests: random graphs of what convolutional networks are made of. Not part of any library.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace berth::fuse {

/// One graph a seed, with up to four outputs. Odd ones have what models seldom or never have, too: windows with gaps,
/// groups and padding beyond them, constants that stretch what they meet, steps of an LSTM in any order.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed, bool odd = false) : random_(seed), odd_(odd) {
    module_.methods.emplace_back();
    module_.methods[0].name = "forward";
  }

  ir::Module make() {
    input({1, 4, 6, 6});
    input({2, 3, 5, 4});
    input({3, 6});
    input({1, 5, 6});
    for (int i = 0; i < 30; ++i) step();
    // Distinct values that nodes made: what a caller gets.
    for (size_t i = values_.size(); i-- > 4 && method().body.outputs.size() < 4;) {
      method().body.outputs.emplace_back(values_[i]);
      i -= pick(3);
    }
    return std::move(module_);
  }

 private:
  ir::Method& method() { return module_.methods[0]; }
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }
  // Mostly one of the latest.
  ir::ValueId any() {
    return values_[pick(3) == 0 ? pick(values_.size())
                                : values_.size() - 1 - pick(std::min<size_t>(4, values_.size()))];
  }
  const std::vector<ir::Dim>& shape(ir::ValueId v) { return method().tensor(v).shape; }

  void input(const std::vector<int64_t>& sizes) {
    ir::TensorType type;
    type.shape = ir::dims(sizes);
    values_.push_back(method().add_input(type, "x"));
  }

  ir::ValueId constant(const std::vector<ir::Dim>& sizes) {
    ir::TensorType type;
    type.shape = sizes;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < ir::max_numel(type, module_.symbols); ++i) {
      const std::vector<uint8_t> one = ir::element_bytes(DType::kF32, static_cast<double>(number(-8, 8)) / 16);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    ir::Builder build(module_, method(), method().body);
    return build.constant(type, ir::Blob::owned(std::move(bytes)));
  }

  // Appends the node if its arguments fit; nothing otherwise.
  template <typename... A>
  ir::ValueId node(ir::OpId op, A&&... arguments) {
    std::vector<ir::Argument> args;
    args.reserve(sizeof...(arguments));
    (args.emplace_back(std::forward<A>(arguments)), ...);
    ir::Builder build(module_, method(), method().body);
    const auto results = build.create(op, std::move(args), "");
    if (!results.ok()) return {};
    for (ir::ValueId result : *results) {
      const ir::TensorType& type = method().tensor(result);
      const int64_t size = ir::max_numel(type, module_.symbols);
      if (type.dtype == DType::kF32 && size > 0 && size < 4096) values_.push_back(result);
    }
    return (*results)[0];
  }

  void step() {
    const ir::ValueId x = any();
    switch (pick(odd_ ? 25 : 12)) {
      case 0:
      case 1:
      case 2: return convolution(x);
      case 3:
      case 4: return unary(x);
      case 5: return binary(x);
      case 6: return product(x);
      case 7: return pool(x);
      case 8: return move(x);
      case 9: return join(x);
      case 10: return shuffle(x);
      case 11: return reduce(x);
      case 12:
      case 13: return odd_convolution(x);
      case 14: return batch_norm(x);
      case 15: return stretch(x);
      case 16: return normalize(x);
      case 17: return permute(x);
      case 18: return rejoin(x);
      case 19: return pad(x);
      case 20: return lstm(x);
      case 21:
      case 22:
      case 23: return line(x);
      default: return head(x);
    }
  }

  void unary(ir::ValueId x) {
    const ir::OpId ops[] = {ir::OpId::relu_out, ir::OpId::sigmoid_out, ir::OpId::tanh_out, ir::OpId::neg_out,
                            ir::OpId::abs_out};
    switch (pick(6)) {
      case 0: {
        const ir::ValueId a = node(ir::OpId::add_Scalar_out, x, 3.0, ir::Dim(1));
        const ir::ValueId h = node(ir::OpId::hardtanh_out, a, 0.0, 6.0);
        const ir::ValueId m = node(ir::OpId::mul_out, x, h);
        node(ir::OpId::mul_Scalar_out, m, 1.0 / 6);
        return;
      }
      case 1: node(ir::OpId::mul_out, x, node(ir::OpId::sigmoid_out, x)); return;
      case 2: node(ir::OpId::clamp_out, x, -0.25, 0.75); return;
      case 3: node(ir::OpId::gelu_out, x, std::string(pick(2) == 0 ? "none" : "tanh")); return;
      default: node(ops[pick(5)], x);
    }
  }

  void binary(ir::ValueId x) {
    const ir::OpId ops[] = {ir::OpId::add_out, ir::OpId::add_out, ir::OpId::sub_out, ir::OpId::mul_out,
                            ir::OpId::maximum_out};
    const ir::OpId op = ops[pick(5)];
    if (pick(3) == 0) {
      std::vector<ir::Dim> sizes = shape(x);
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (pick(2) == 0) sizes[d] = ir::Dim(1);
      }
      node(op, x, constant(sizes));
      return;
    }
    // Often one of x's own shape.
    ir::ValueId other = any();
    for (int i = 0; i < 6 && shape(other) != shape(x); ++i) other = any();
    node(op, x, other);
  }

  void product(ir::ValueId x) {
    const std::vector<ir::Dim> sizes = shape(x);
    if (sizes.empty() || sizes.back().value == 0) return;
    const ir::Dim columns(number(1, 6));
    const ir::ValueId w = constant({sizes.back(), columns});
    const ir::ValueId bias = constant({columns});
    const ir::ValueId rows = node(ir::OpId::view_copy_out, x, ir::DimList{ir::Dim(-1), sizes.back()});
    if (!rows.valid()) return;
    const ir::ValueId y = pick(2) == 0 ? node(ir::OpId::mm_out, rows, w)
                                       : node(ir::OpId::addmm_out, bias, rows, w, ir::Dim(1), ir::Dim(1));
    ir::DimList back = sizes;
    back.back() = columns;
    if (y.valid()) node(ir::OpId::view_copy_out, y, back);
  }

  void convolution(ir::ValueId x) {
    if (shape(x).size() != 4) return;
    const ir::Dim channels = shape(x)[1];
    const bool depthwise = pick(3) == 0;
    const ir::Dim other = pick(2) == 0 ? channels : ir::Dim(number(1, 6));
    const ir::Dim size(number(1, 3));
    const ir::ValueId w =
        depthwise ? constant({channels, ir::Dim(1), size, size}) : constant({other, channels, size, size});
    ir::Argument bias;
    if (pick(2) == 0) bias.emplace<ir::ValueId>(constant({depthwise ? channels : other}));
    node(ir::OpId::convolution_out, x, w, bias, ir::DimList{ir::Dim(pick(3) == 0 ? 2 : 1)},
         ir::DimList{ir::Dim(size.value / 2)}, ir::DimList{ir::Dim(1)}, false, ir::DimList{ir::Dim(0)},
         depthwise ? channels : ir::Dim(1));
  }

  void pool(ir::ValueId x) {
    const ir::DimList two = {ir::Dim(2), ir::Dim(2)};
    switch (pick(3)) {
      case 0:
        node(ir::OpId::max_pool2d_with_indices_out, x, two, two, ir::DimList{ir::Dim(0), ir::Dim(0)},
             ir::DimList{ir::Dim(1), ir::Dim(1)}, pick(2) == 0);
        return;
      case 1:
        node(ir::OpId::avg_pool2d_out, x, two, two, ir::DimList{ir::Dim(1), ir::Dim(1)}, false, pick(2) == 0,
             ir::None{});
        return;
      default: node(ir::OpId::upsample_nearest2d_vec_out, x, ir::None{}, ir::FloatList{2.0, 2.0});
    }
  }

  void move(ir::ValueId x) {
    switch (pick(4)) {
      case 0: node(ir::OpId::view_copy_out, x, ir::DimList{ir::Dim(-1), ir::Dim(1)}); return;
      case 1: node(ir::OpId::transpose_copy_int_out, x, ir::Dim(number(-2, 1)), ir::Dim(number(-2, 1))); return;
      case 2:
        node(ir::OpId::slice_copy_Tensor_out, x, ir::Dim(number(-2, 1)), ir::Dim(number(0, 1)), ir::Dim(number(1, 9)),
             ir::Dim(1));
        return;
      default: node(ir::OpId::softmax_out, x, ir::Dim(-1), false);
    }
  }

  void join(ir::ValueId x) {
    if (pick(2) == 0) {
      node(ir::OpId::cat_out, ir::ValueList{x, x}, ir::Dim(1));
      return;
    }
    if (shape(x).size() != 4 || shape(x)[1].value < 2) return;
    node(ir::OpId::split_with_sizes_copy_out, x, ir::DimList{ir::Dim(1), ir::Dim(shape(x)[1].value - 1)}, ir::Dim(1));
  }

  void shuffle(ir::ValueId x) {
    const std::vector<ir::Dim> s = shape(x);
    if (s.size() != 4) return;
    if (s[1].value % 2 != 0) {
      const ir::ValueId rows =
          node(ir::OpId::view_copy_out, x, ir::DimList{s[0], s[1], ir::Dim(s[2].value * s[3].value)});
      node(ir::OpId::permute_copy_out, rows, ir::dims({0, 2, 1}));
      return;
    }
    const ir::ValueId cut =
        node(ir::OpId::view_copy_out, x, ir::DimList{s[0], ir::Dim(2), ir::Dim(s[1].value / 2), s[2], s[3]});
    const ir::ValueId turned = node(ir::OpId::permute_copy_out, cut, ir::dims({0, 2, 1, 3, 4}));
    node(ir::OpId::view_copy_out, turned, ir::DimList(s));
  }

  // A few operators on a signal [n, c, l].
  void line(ir::ValueId x) {
    if (shape(x).size() == 4) {
      const std::vector<ir::Dim> s = shape(x);
      x = node(ir::OpId::view_copy_out, x, ir::DimList{s[0], s[1], ir::Dim(s[2].value * s[3].value)});
    }
    for (int i = 0; i < 4 && x.valid() && shape(x).size() == 3; ++i) x = line_step(x);
  }

  ir::ValueId line_step(ir::ValueId x) {
    const std::vector<ir::Dim> s = shape(x);
    const ir::Dim one(1);
    switch (pick(9)) {
      case 0: return node(ir::OpId::permute_copy_out, x, ir::dims({0, 2, 1}));
      case 1: {
        // Numbers of both signs may sum to what is all rounding.
        const ir::ValueId size = node(ir::OpId::abs_out, x);
        return node(ir::OpId::mean_out, size, ir::dims({pick(2) == 0 ? 2 : -1}), pick(2) == 0, ir::None{});
      }
      case 2: return node(ir::OpId::cat_out, ir::ValueList{x, x}, ir::Dim(number(-3, 2)));
      case 3: return node(ir::OpId::slice_copy_Tensor_out, x, ir::Dim(number(-2, 2)), ir::Dim(0), ir::Dim(3), one);
      case 4: return node(ir::OpId::mul_out, x, constant({pick(2) == 0 ? s[1] : one, pick(2) == 0 ? s[2] : one}));
      case 5: return line_norm(x);
      case 6: {
        const ir::ValueId image = node(ir::OpId::view_copy_out, x, ir::DimList{s[0], s[1], one, s[2]});
        const ir::ValueId pooled = image.valid() ? node(ir::OpId::avg_pool2d_out, image, ir::dims({1, 2}),
                                                        ir::dims({1, 1}), ir::dims({0, 1}), false, true, ir::None{})
                                                 : image;
        if (!pooled.valid()) return pooled;
        return node(ir::OpId::view_copy_out, pooled, ir::DimList{s[0], s[1], shape(pooled)[3]});
      }
      default: return line_convolution(x);
    }
  }

  // With a bias: means of what was normalised without are all rounding, as are the norm's own means.
  ir::ValueId line_norm(ir::ValueId x) {
    const std::vector<ir::Dim> s = shape(x);
    if (s[1].value * s[2].value < 3) return x;  // as in normalize()
    const ir::ValueId bias = uniform({s[1]}, 0.25 * static_cast<double>(number(1, 4)));
    ir::Builder build(module_, method(), method().body);
    const auto made =
        build.one(ir::OpId::native_group_norm_out, {x, constant({s[1]}), bias, s[0], s[1], s[2], ir::Dim(1), 0.1}, "");
    if (!made.ok()) return {};
    values_.push_back(*made);
    return *made;
  }

  ir::ValueId line_convolution(ir::ValueId x) {
    const int64_t channels = shape(x)[1].value;
    const bool transposed = pick(3) == 0;
    const int64_t groups = pick(3) == 0 ? channels : 1, each = number(1, 3), inside = channels / groups;
    const ir::Dim window(number(1, 4));
    const ir::ValueId w = transposed ? constant({ir::Dim(channels), ir::Dim(each), window})
                                     : constant({ir::Dim(each * groups), ir::Dim(inside), window});
    ir::Argument bias;
    if (pick(2) == 0) bias.emplace<ir::ValueId>(constant({ir::Dim(each * groups)}));
    return node(ir::OpId::convolution_out, x, w, bias, ir::dims({number(1, 3)}),
                ir::dims({number(0, transposed ? 1 : 3)}), ir::dims({number(1, 2)}), transposed, ir::dims({0}),
                ir::Dim(groups));
  }

  void reduce(ir::ValueId x) {
    if (shape(x).size() != 4) return;
    node(ir::OpId::mean_out, x, ir::dims({2, 3}), pick(2) == 0, ir::None{});
  }

  ir::DimList two(int64_t low, int64_t high) { return {ir::Dim(number(low, high)), ir::Dim(number(low, high))}; }

  void odd_convolution(ir::ValueId x) {
    if (shape(x).size() != 4) return;
    const int64_t channels = shape(x)[1].value;
    const bool transposed = pick(3) == 0;
    int64_t groups = number(1, 3);
    if (channels % groups != 0) groups = 1;
    const int64_t each = number(1, 3), inside = channels / groups;
    const ir::DimList window = two(1, 4);
    const ir::ValueId w = transposed ? constant({ir::Dim(channels), ir::Dim(each), window[0], window[1]})
                                     : constant({ir::Dim(each * groups), ir::Dim(inside), window[0], window[1]});
    ir::Argument bias;
    if (pick(2) == 0) bias.emplace<ir::ValueId>(constant({ir::Dim(each * groups)}));
    node(ir::OpId::convolution_out, x, w, bias, two(1, 4), two(0, transposed ? 1 : 3), two(1, 2), transposed,
         ir::dims({0, 0}), ir::Dim(groups));
  }

  void batch_norm(ir::ValueId x) {
    if (shape(x).size() < 2) return;
    const std::vector<ir::Dim> channels = {shape(x)[1]};
    ir::Argument weight, bias;
    if (pick(2) == 0) weight.emplace<ir::ValueId>(constant(channels));
    if (pick(2) == 0) bias.emplace<ir::ValueId>(constant(channels));
    const ir::ValueId mean = constant(channels), variance = uniform(channels, 0.25 * static_cast<double>(number(1, 8)));
    node(ir::OpId::native_batch_norm_legit_no_training_out, x, weight, bias, mean, variance, 0.1, 1e-5);
  }

  ir::ValueId uniform(const std::vector<ir::Dim>& sizes, double number) {
    ir::TensorType type;
    type.shape = sizes;
    const int64_t count = ir::max_numel(type, module_.symbols);
    ir::Builder build(module_, method(), method().body);
    return build.constant(type, ir::Blob::splat(ir::element_bytes(DType::kF32, number), static_cast<size_t>(count)));
  }

  // One number, repeated over dimensions that may be larger than what it meets, or more.
  void stretch(ir::ValueId x) {
    std::vector<ir::Dim> sizes = shape(x);
    for (ir::Dim& size : sizes) {
      if (size.value == 1) size = ir::Dim(number(1, 3));
      if (pick(2) == 0) size = ir::Dim(1);
    }
    if (pick(3) == 0 && sizes.size() < 4) sizes.insert(sizes.begin(), ir::Dim(number(1, 2)));
    const ir::ValueId k = uniform(sizes, 0.25 * static_cast<double>(number(-4, 4)));
    const ir::OpId ops[] = {ir::OpId::add_out, ir::OpId::mul_out, ir::OpId::sub_out, ir::OpId::maximum_out};
    const ir::OpId op = ops[pick(4)];
    const bool first = pick(2) == 0;
    node(op, first ? k : x, first ? x : k);
  }

  void normalize(ir::ValueId x) {
    if (shape(x).empty()) return;
    const auto rank = static_cast<int64_t>(shape(x).size());
    if (pick(2) == 0) {
      node(ir::OpId::softmax_out, x, ir::Dim(number(-rank, rank - 1)), false);
      return;
    }
    const std::vector<ir::Dim> last = {shape(x).back()};
    if (last[0].value < 3) return;  // differences of one number or two are all rounding, or all sign
    node(ir::OpId::native_layer_norm_out, x, ir::DimList(last), constant(last), constant(last), 0.1);
  }

  void permute(ir::ValueId x) {
    std::vector<int64_t> dims;
    for (size_t d = 0; d < shape(x).size(); ++d) dims.push_back(static_cast<int64_t>(d));
    if (pick(3) == 0 && dims.size() == 4) {
      dims = pick(2) == 0 ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 1, 2};
    } else {
      std::shuffle(dims.begin(), dims.end(), random_);
    }
    node(ir::OpId::permute_copy_out, x, ir::dims(dims));
  }

  // Taken apart, changed in part, and joined in another order.
  void rejoin(ir::ValueId x) {
    if (shape(x).size() != 4 || shape(x)[1].value < 2) return;
    const int64_t channels = shape(x)[1].value, first = number(1, channels - 1);
    ir::Builder build(module_, method(), method().body);
    const auto parts =
        build.create(ir::OpId::split_with_sizes_copy_out, {x, ir::dims({first, channels - first}), ir::Dim(1)}, "");
    if (!parts.ok()) return;
    const ir::ValueId changed = node(pick(2) == 0 ? ir::OpId::relu_out : ir::OpId::neg_out, (*parts)[0]);
    ir::ValueList joined = {(*parts)[1], changed};
    if (pick(2) == 0) joined.push_back((*parts)[0]);
    node(ir::OpId::cat_out, joined, ir::Dim(pick(2) == 0 ? 1 : -3));
  }

  void pad(ir::ValueId x) {
    if (shape(x).size() < 2) return;
    node(ir::OpId::constant_pad_nd_out, x, ir::dims({number(-1, 2), number(0, 2), number(0, 1), number(0, 1)}),
         ir::Dim(number(0, 1)));
  }

  // Steps on rows of one product, forwards, backwards or with a gap, whose cells others may read.
  void lstm(ir::ValueId x) {
    if (shape(x).size() != 2) return;
    const int64_t units = number(1, 4), steps = number(1, 4), rows = std::max<int64_t>(1, shape(x)[0].value / steps);
    if (shape(x)[0].value < rows * steps) return;
    const ir::ValueId all = node(ir::OpId::addmm_out, constant({ir::Dim(4 * units)}), x,
                                 constant({shape(x)[1], ir::Dim(4 * units)}), ir::Dim(1), ir::Dim(1));
    if (!all.valid()) return;
    const ir::ValueId weight = constant({ir::Dim(units), ir::Dim(4 * units)});
    ir::ValueId hidden = constant({ir::Dim(rows), ir::Dim(units)}), cell = constant({ir::Dim(rows), ir::Dim(units)});
    const bool backwards = pick(2) == 0, skips = pick(6) == 0;
    size_t order[] = {0, 1, 2, 3};
    if (pick(2) == 0) std::shuffle(order, order + 4, random_);
    ir::ValueList states;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t at = skips && t > 0 ? 0 : backwards ? steps - 1 - t : t;
      const ir::ValueId now = node(ir::OpId::slice_copy_Tensor_out, all, ir::Dim(0), ir::Dim(at * rows),
                                   ir::Dim((at + 1) * rows), ir::Dim(1));
      const ir::ValueId before = node(ir::OpId::mm_out, hidden, weight);
      const ir::ValueId sum = node(ir::OpId::add_out, now, before);
      ir::ValueId gate[4];
      for (size_t g = 0; g < 4; ++g) {
        const auto from = static_cast<int64_t>(order[g]) * units;
        gate[g] =
            node(ir::OpId::slice_copy_Tensor_out, sum, ir::Dim(1), ir::Dim(from), ir::Dim(from + units), ir::Dim(1));
        gate[g] = node(g == 2 ? ir::OpId::tanh_out : ir::OpId::sigmoid_out, gate[g]);
      }
      cell = node(ir::OpId::add_out, node(ir::OpId::mul_out, gate[1], cell), node(ir::OpId::mul_out, gate[0], gate[2]));
      if (pick(6) == 0) node(ir::OpId::neg_out, cell);
      hidden = node(ir::OpId::mul_out, gate[3], node(ir::OpId::tanh_out, cell));
      states.push_back(hidden);
    }
    if (pick(2) == 0) std::reverse(states.begin(), states.end());
    node(ir::OpId::cat_out, states, ir::Dim(0));
  }

  // Attention of columns of rows, or nearly.
  void head(ir::ValueId x) {
    if (shape(x).size() != 2 || shape(x)[1].value < 2) return;
    const int64_t rows = shape(x)[0].value, heads = number(1, 3), size = number(1, 4), columns = heads * size;
    const auto projected = [&] { return node(ir::OpId::mm_out, x, constant({shape(x)[1], ir::Dim(columns)})); };
    const auto by_head = [&](const std::vector<int64_t>& order) {
      const ir::ValueId cut = node(ir::OpId::view_copy_out, projected(), ir::dims({rows, heads, size}));
      return node(ir::OpId::permute_copy_out, cut, ir::dims(order));
    };
    const ir::ValueId query = by_head({1, 0, 2}), key = by_head({1, 2, 0}), value = by_head({1, 0, 2});
    ir::ValueId scores = node(ir::OpId::bmm_out, query, key);
    if (pick(2) == 0) scores = node(ir::OpId::mul_Scalar_out, scores, 0.5);
    if (pick(2) == 0) scores = node(ir::OpId::add_out, scores, constant({ir::Dim(rows), ir::Dim(rows)}));
    const ir::DimList whole = shape(scores);
    const bool joined = pick(5) == 0;
    if (joined) scores = node(ir::OpId::view_copy_out, scores, ir::dims({heads, rows * rows}));
    ir::ValueId shares = node(ir::OpId::softmax_out, scores, ir::Dim(-1), false);
    if (joined) shares = node(ir::OpId::view_copy_out, shares, whole);
    const ir::ValueId sum = node(ir::OpId::bmm_out, shares, value);
    node(ir::OpId::view_copy_out, node(ir::OpId::permute_copy_out, sum, ir::dims({1, 0, 2})),
         ir::dims({rows, columns}));
  }

  std::mt19937 random_;
  bool odd_;
  ir::Module module_;
  std::vector<ir::ValueId> values_;
};

}  // namespace berth::fuse
