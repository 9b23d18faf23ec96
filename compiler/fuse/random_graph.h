// For tests: random graphs of what convolutional networks are made of. Not part of any library.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace berth::fuse {

/// One graph a seed, with up to four outputs.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
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
    switch (pick(12)) {
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
      default: return reduce(x);
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

  void reduce(ir::ValueId x) {
    if (shape(x).size() != 4) return;
    node(ir::OpId::mean_out, x, ir::dims({2, 3}), pick(2) == 0, ir::None{});
  }

  std::mt19937 random_;
  ir::Module module_;
  std::vector<ir::ValueId> values_;
};

}  // namespace berth::fuse
