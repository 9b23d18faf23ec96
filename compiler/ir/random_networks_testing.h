// For tests: random graphs of what networks are made of: images, signals, rows of tokens (random_module_testing.h).
#pragma once

#include "compiler/ir/random_steps_testing.h"

namespace berth::ir::testing {

namespace networks {

inline DimList two(RandomModule& m, int64_t low, int64_t high) {
  return {Dim(m.number(low, high)), Dim(m.number(low, high))};
}

inline void unary(RandomModule& m, ValueId x) {
  const OpId ops[] = {OpId::relu_out, OpId::sigmoid_out, OpId::tanh_out, OpId::neg_out, OpId::abs_out};
  switch (m.pick(6)) {
    case 0: {
      const ValueId a = m.node(OpId::add_Scalar_out, x, 3.0, Dim(1));
      const ValueId h = m.node(OpId::hardtanh_out, a, 0.0, 6.0);
      const ValueId gate = m.node(OpId::mul_out, x, h);
      m.node(OpId::mul_Scalar_out, gate, 1.0 / 6);
      return;
    }
    case 1: m.node(OpId::mul_out, x, m.node(OpId::sigmoid_out, x)); return;
    case 2: m.node(OpId::clamp_out, x, -0.25, 0.75); return;
    case 3: m.node(OpId::gelu_out, x, std::string(m.pick(2) == 0 ? "none" : "tanh")); return;
    default: m.node(ops[m.pick(5)], x);
  }
}

inline void binary(RandomModule& m, ValueId x) {
  const OpId ops[] = {OpId::add_out, OpId::add_out, OpId::sub_out, OpId::mul_out, OpId::maximum_out};
  const OpId op = ops[m.pick(5)];
  if (m.pick(3) == 0) {
    std::vector<Dim> sizes = m.shape(x);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (m.pick(2) == 0) sizes[d] = Dim(1);
    }
    m.node(op, x, m.constant(sizes));
    return;
  }
  // Often one of x's own shape.
  ValueId other = m.any();
  for (int i = 0; i < 6 && m.shape(other) != m.shape(x); ++i) other = m.any();
  m.node(op, x, other);
}

inline void product(RandomModule& m, ValueId x) {
  const std::vector<Dim> sizes = m.shape(x);
  if (sizes.empty() || sizes.back().value == 0) return;
  const Dim columns(m.number(1, 6));
  const ValueId w = m.constant({sizes.back(), columns});
  const ValueId bias = m.constant({columns});
  const ValueId rows = m.node(OpId::view_copy_out, x, DimList{Dim(-1), sizes.back()});
  if (!rows.valid()) return;
  const ValueId y =
      m.pick(2) == 0 ? m.node(OpId::mm_out, rows, w) : m.node(OpId::addmm_out, bias, rows, w, Dim(1), Dim(1));
  DimList back = sizes;
  back.back() = columns;
  if (y.valid()) m.node(OpId::view_copy_out, y, back);
}

inline void convolution(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 4) return;
  const Dim channels = m.shape(x)[1];
  const bool depthwise = m.pick(3) == 0;
  const Dim other = m.pick(2) == 0 ? channels : Dim(m.number(1, 6));
  const Dim size(m.number(1, 3));
  const ValueId w = depthwise ? m.constant({channels, Dim(1), size, size}) : m.constant({other, channels, size, size});
  Argument bias;
  if (m.pick(2) == 0) bias.emplace<ValueId>(m.constant({depthwise ? channels : other}));
  m.node(OpId::convolution_out, x, w, bias, DimList{Dim(m.pick(3) == 0 ? 2 : 1)}, DimList{Dim(size.value / 2)},
         DimList{Dim(1)}, false, DimList{Dim(0)}, depthwise ? channels : Dim(1));
}

inline void odd_convolution(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 4) return;
  const int64_t channels = m.shape(x)[1].value;
  const bool transposed = m.pick(3) == 0;
  int64_t groups = m.number(1, 3);
  if (channels % groups != 0) groups = 1;
  const int64_t each = m.number(1, 3), inside = channels / groups;
  const DimList window = two(m, 1, 4);
  const ValueId w = transposed ? m.constant({Dim(channels), Dim(each), window[0], window[1]})
                               : m.constant({Dim(each * groups), Dim(inside), window[0], window[1]});
  Argument bias;
  if (m.pick(2) == 0) bias.emplace<ValueId>(m.constant({Dim(each * groups)}));
  m.node(OpId::convolution_out, x, w, bias, two(m, 1, 4), two(m, 0, transposed ? 1 : 3), two(m, 1, 2), transposed,
         dims({0, 0}), Dim(groups));
}

inline void pool(RandomModule& m, ValueId x) {
  const DimList two = {Dim(2), Dim(2)};
  switch (m.pick(3)) {
    case 0:
      m.node(OpId::max_pool2d_with_indices_out, x, two, two, DimList{Dim(0), Dim(0)}, DimList{Dim(1), Dim(1)},
             m.pick(2) == 0);
      return;
    case 1: m.node(OpId::avg_pool2d_out, x, two, two, DimList{Dim(1), Dim(1)}, false, m.pick(2) == 0, None{}); return;
    default: m.node(OpId::upsample_nearest2d_vec_out, x, None{}, FloatList{2.0, 2.0});
  }
}

inline void move(RandomModule& m, ValueId x) {
  switch (m.pick(4)) {
    case 0: m.node(OpId::view_copy_out, x, DimList{Dim(-1), Dim(1)}); return;
    case 1: m.node(OpId::transpose_copy_int_out, x, Dim(m.number(-2, 1)), Dim(m.number(-2, 1))); return;
    case 2:
      m.node(OpId::slice_copy_Tensor_out, x, Dim(m.number(-2, 1)), Dim(m.number(0, 1)), Dim(m.number(1, 9)), Dim(1));
      return;
    default: m.node(OpId::softmax_out, x, Dim(-1), false);
  }
}

inline void join(RandomModule& m, ValueId x) {
  if (m.pick(2) == 0) {
    m.node(OpId::cat_out, ValueList{x, x}, Dim(1));
    return;
  }
  if (m.shape(x).size() != 4 || m.shape(x)[1].value < 2) return;
  m.node(OpId::split_with_sizes_copy_out, x, DimList{Dim(1), Dim(m.shape(x)[1].value - 1)}, Dim(1));
}

inline void shuffle(RandomModule& m, ValueId x) {
  const std::vector<Dim> s = m.shape(x);
  if (s.size() != 4) return;
  if (s[1].value % 2 != 0) {
    const ValueId rows = m.node(OpId::view_copy_out, x, DimList{s[0], s[1], Dim(s[2].value * s[3].value)});
    m.node(OpId::permute_copy_out, rows, dims({0, 2, 1}));
    return;
  }
  const ValueId cut = m.node(OpId::view_copy_out, x, DimList{s[0], Dim(2), Dim(s[1].value / 2), s[2], s[3]});
  const ValueId turned = m.node(OpId::permute_copy_out, cut, dims({0, 2, 1, 3, 4}));
  m.node(OpId::view_copy_out, turned, DimList(s));
}

// With a bias: means of what was normalised without are all rounding, as are the norm's own means.
inline ValueId line_norm(RandomModule& m, ValueId x) {
  const std::vector<Dim> s = m.shape(x);
  if (s[1].value * s[2].value < 3) return x;  // as in normalize()
  const ValueId bias = m.splat({s[1]}, 0.25 * static_cast<double>(m.number(1, 4)));
  const std::vector<ValueId> made =
      m.create(OpId::native_group_norm_out, {x, m.constant({s[1]}), bias, s[0], s[1], s[2], Dim(1), 0.1});
  if (made.empty()) return {};
  m.offer(made[0]);
  return made[0];
}

inline ValueId line_convolution(RandomModule& m, ValueId x) {
  const int64_t channels = m.shape(x)[1].value;
  const bool transposed = m.pick(3) == 0;
  const int64_t groups = m.pick(3) == 0 ? channels : 1, each = m.number(1, 3), inside = channels / groups;
  const Dim window(m.number(1, 4));
  const ValueId w = transposed ? m.constant({Dim(channels), Dim(each), window})
                               : m.constant({Dim(each * groups), Dim(inside), window});
  Argument bias;
  if (m.pick(2) == 0) bias.emplace<ValueId>(m.constant({Dim(each * groups)}));
  return m.node(OpId::convolution_out, x, w, bias, dims({m.number(1, 3)}), dims({m.number(0, transposed ? 1 : 3)}),
                dims({m.number(1, 2)}), transposed, dims({0}), Dim(groups));
}

inline ValueId line_step(RandomModule& m, ValueId x) {
  const std::vector<Dim> s = m.shape(x);
  const Dim one(1);
  switch (m.pick(9)) {
    case 0: return m.node(OpId::permute_copy_out, x, dims({0, 2, 1}));
    case 1: {
      // Numbers of both signs may sum to what is all rounding.
      const ValueId size = m.node(OpId::abs_out, x);
      return m.node(OpId::mean_out, size, dims({m.pick(2) == 0 ? 2 : -1}), m.pick(2) == 0, None{});
    }
    case 2: return m.node(OpId::cat_out, ValueList{x, x}, Dim(m.number(-3, 2)));
    case 3: return m.node(OpId::slice_copy_Tensor_out, x, Dim(m.number(-2, 2)), Dim(0), Dim(3), one);
    case 4: return m.node(OpId::mul_out, x, m.constant({m.pick(2) == 0 ? s[1] : one, m.pick(2) == 0 ? s[2] : one}));
    case 5: return line_norm(m, x);
    case 6: {
      const ValueId image = m.node(OpId::view_copy_out, x, DimList{s[0], s[1], one, s[2]});
      const ValueId pooled = image.valid() ? m.node(OpId::avg_pool2d_out, image, dims({1, 2}), dims({1, 1}),
                                                    dims({0, 1}), false, true, None{})
                                           : image;
      if (!pooled.valid()) return pooled;
      return m.node(OpId::view_copy_out, pooled, DimList{s[0], s[1], m.shape(pooled)[3]});
    }
    default: return line_convolution(m, x);
  }
}

// A few operators on a signal [n, c, l].
inline void line(RandomModule& m, ValueId x) {
  if (m.shape(x).size() == 4) {
    const std::vector<Dim> s = m.shape(x);
    x = m.node(OpId::view_copy_out, x, DimList{s[0], s[1], Dim(s[2].value * s[3].value)});
  }
  for (int i = 0; i < 4 && x.valid() && m.shape(x).size() == 3; ++i) x = line_step(m, x);
}

inline void reduce(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 4) return;
  m.node(OpId::mean_out, x, dims({2, 3}), m.pick(2) == 0, None{});
}

// One number, repeated over dimensions that may be larger than what it meets, or more.
inline void stretch(RandomModule& m, ValueId x) {
  std::vector<Dim> sizes = m.shape(x);
  for (Dim& size : sizes) {
    if (size.value == 1) size = Dim(m.number(1, 3));
    if (m.pick(2) == 0) size = Dim(1);
  }
  if (m.pick(3) == 0 && sizes.size() < 4) sizes.insert(sizes.begin(), Dim(m.number(1, 2)));
  const ValueId k = m.splat(sizes, 0.25 * static_cast<double>(m.number(-4, 4)));
  const OpId ops[] = {OpId::add_out, OpId::mul_out, OpId::sub_out, OpId::maximum_out};
  const OpId op = ops[m.pick(4)];
  const bool first = m.pick(2) == 0;
  m.node(op, first ? k : x, first ? x : k);
}

inline void normalize(RandomModule& m, ValueId x) {
  if (m.shape(x).empty()) return;
  const auto rank = static_cast<int64_t>(m.shape(x).size());
  if (m.pick(2) == 0) {
    m.node(OpId::softmax_out, x, Dim(m.number(-rank, rank - 1)), false);
    return;
  }
  const std::vector<Dim> last = {m.shape(x).back()};
  if (last[0].value < 3) return;  // differences of one number or two are all rounding, or all sign
  m.node(OpId::native_layer_norm_out, x, DimList(last), m.constant(last), m.constant(last), 0.1);
}

// As language models write it out.
inline void rms_norm(RandomModule& m, ValueId x) {
  if (m.shape(x).empty() || m.shape(x).back().value < 2) return;
  const std::vector<Dim> last = {m.shape(x).back()};
  const ValueId squares = m.create(OpId::mul_out, {x, x})[0];
  const ValueId mean = m.create(OpId::mean_out, {squares, dims({-1}), true, None{}})[0];
  const ValueId root = m.create(OpId::rsqrt_out, {m.create(OpId::add_Scalar_out, {mean, 0.1, Dim(1)})[0]})[0];
  const ValueId norm = m.create(OpId::mul_out, {x, root})[0];
  m.node(OpId::mul_out, norm, m.constant(last));
}

inline void permute(RandomModule& m, ValueId x) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < m.shape(x).size(); ++d) dims.push_back(static_cast<int64_t>(d));
  if (m.pick(3) == 0 && dims.size() == 4) {
    dims = m.pick(2) == 0 ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 1, 2};
  } else {
    m.shuffle(dims);
  }
  m.node(OpId::permute_copy_out, x, ir::dims(dims));
}

// Taken apart, changed in part, and joined in another order.
inline void rejoin(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 4 || m.shape(x)[1].value < 2) return;
  const int64_t channels = m.shape(x)[1].value, first = m.number(1, channels - 1);
  const std::vector<ValueId> parts =
      m.create(OpId::split_with_sizes_copy_out, {x, dims({first, channels - first}), Dim(1)});
  if (parts.empty()) return;
  const ValueId changed = m.node(m.pick(2) == 0 ? OpId::relu_out : OpId::neg_out, parts[0]);
  ValueList joined = {parts[1], changed};
  if (m.pick(2) == 0) joined.push_back(parts[0]);
  m.node(OpId::cat_out, joined, Dim(m.pick(2) == 0 ? 1 : -3));
}

inline void pad(RandomModule& m, ValueId x) {
  if (m.shape(x).size() < 2) return;
  m.node(OpId::constant_pad_nd_out, x, dims({m.number(-1, 2), m.number(0, 2), m.number(0, 1), m.number(0, 1)}),
         Dim(m.number(0, 1)));
}

// Steps on rows of one product, forwards, backwards or with a gap, whose cells others may read.
inline void lstm(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 2) return;
  const int64_t units = m.number(1, 4), steps = m.number(1, 4),
                rows = std::max<int64_t>(1, m.shape(x)[0].value / steps);
  if (m.shape(x)[0].value < rows * steps) return;
  const ValueId all = m.node(OpId::addmm_out, m.constant({Dim(4 * units)}), x,
                             m.constant({m.shape(x)[1], Dim(4 * units)}), Dim(1), Dim(1));
  if (!all.valid()) return;
  const ValueId weight = m.constant({Dim(units), Dim(4 * units)});
  ValueId hidden = m.constant({Dim(rows), Dim(units)}), cell = m.constant({Dim(rows), Dim(units)});
  const bool backwards = m.pick(2) == 0, skips = m.pick(6) == 0;
  size_t order[] = {0, 1, 2, 3};
  if (m.pick(2) == 0) m.shuffle(order);
  ValueList states;
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = skips && t > 0 ? 0 : backwards ? steps - 1 - t : t;
    const ValueId now = m.node(OpId::slice_copy_Tensor_out, all, Dim(0), Dim(at * rows), Dim((at + 1) * rows), Dim(1));
    const ValueId before = m.node(OpId::mm_out, hidden, weight);
    const ValueId sum = m.node(OpId::add_out, now, before);
    ValueId gate[4];
    for (size_t g = 0; g < 4; ++g) {
      const auto from = static_cast<int64_t>(order[g]) * units;
      gate[g] = m.node(OpId::slice_copy_Tensor_out, sum, Dim(1), Dim(from), Dim(from + units), Dim(1));
      gate[g] = m.node(g == 2 ? OpId::tanh_out : OpId::sigmoid_out, gate[g]);
    }
    cell = m.node(OpId::add_out, m.node(OpId::mul_out, gate[1], cell), m.node(OpId::mul_out, gate[0], gate[2]));
    if (m.pick(6) == 0) m.node(OpId::neg_out, cell);
    hidden = m.node(OpId::mul_out, gate[3], m.node(OpId::tanh_out, cell));
    states.push_back(hidden);
  }
  if (m.pick(2) == 0) std::reverse(states.begin(), states.end());
  m.node(OpId::cat_out, states, Dim(0));
}

// Steps of a GRU on rows of one product, in either order of the gates and either form.
inline void gru(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 2) return;
  const int64_t units = m.number(1, 4), steps = m.number(1, 4),
                rows = std::max<int64_t>(1, m.shape(x)[0].value / steps);
  if (m.shape(x)[0].value < rows * steps) return;
  const ValueId all = m.node(OpId::addmm_out, m.constant({Dim(3 * units)}), x,
                             m.constant({m.shape(x)[1], Dim(3 * units)}), Dim(1), Dim(1));
  if (!all.valid()) return;
  const bool backwards = m.pick(2) == 0, skips = m.pick(6) == 0, after = m.pick(2) == 0, reset_first = m.pick(2) == 0;
  const ValueId weight = m.constant({Dim(units), Dim((after ? 3 : 2) * units)});
  const ValueId bias = m.constant({Dim(3 * units)}), of_candidate = m.constant({Dim(units), Dim(units)});
  ValueId hidden = m.constant({Dim(rows), Dim(units)});
  const auto cut = [&](ValueId from, int64_t first, int64_t end) {
    return m.node(OpId::slice_copy_Tensor_out, from, Dim(1), Dim(first * units), Dim(end * units), Dim(1));
  };
  ValueList states;
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t at = skips && t > 0 ? 0 : backwards ? steps - 1 - t : t;
    const ValueId now = m.node(OpId::slice_copy_Tensor_out, all, Dim(0), Dim(at * rows), Dim((at + 1) * rows), Dim(1));
    const ValueId product = after ? m.node(OpId::addmm_out, bias, hidden, weight, Dim(1), Dim(1)) : ValueId{};
    const ValueId sum = after ? m.node(OpId::add_out, cut(now, 0, 2), cut(product, 0, 2))
                              : m.node(OpId::addmm_out, cut(now, 0, 2), hidden, weight, Dim(1), Dim(1));
    const ValueId both = m.node(OpId::sigmoid_out, sum);
    const ValueId update = cut(both, reset_first ? 1 : 0, reset_first ? 2 : 1);
    const ValueId reset = cut(both, reset_first ? 0 : 1, reset_first ? 1 : 2);
    const ValueId kept = m.node(OpId::mul_out, reset, after ? cut(product, 2, 3) : hidden);
    const ValueId candidate =
        m.node(OpId::tanh_out, after ? m.node(OpId::add_out, cut(now, 2, 3), kept)
                                     : m.node(OpId::addmm_out, cut(now, 2, 3), kept, of_candidate, Dim(1), Dim(1)));
    const ValueId difference = m.node(OpId::sub_out, m.pick(8) == 0 ? update : hidden, candidate);
    hidden = m.node(OpId::add_out, candidate, m.node(OpId::mul_out, update, difference));
    states.push_back(hidden);
  }
  m.node(OpId::cat_out, states, Dim(0));
}

// Attention of columns of rows, or nearly.
inline void head(RandomModule& m, ValueId x) {
  if (m.shape(x).size() != 2 || m.shape(x)[1].value < 2) return;
  const int64_t rows = m.shape(x)[0].value, heads = m.number(1, 3), size = m.number(1, 4), columns = heads * size;
  const auto projected = [&] { return m.node(OpId::mm_out, x, m.constant({m.shape(x)[1], Dim(columns)})); };
  const auto by_head = [&](const std::vector<int64_t>& order) {
    const ValueId cut = m.node(OpId::view_copy_out, projected(), dims({rows, heads, size}));
    return m.node(OpId::permute_copy_out, cut, dims(order));
  };
  const ValueId query = by_head({1, 0, 2}), key = by_head({1, 2, 0}), value = by_head({1, 0, 2});
  ValueId scores = m.node(OpId::bmm_out, query, key);
  if (m.pick(2) == 0) scores = m.node(OpId::mul_Scalar_out, scores, 0.5);
  if (m.pick(2) == 0) scores = m.node(OpId::add_out, scores, m.constant({Dim(rows), Dim(rows)}));
  const DimList whole = m.shape(scores);
  const bool joined = m.pick(5) == 0;
  if (joined) scores = m.node(OpId::view_copy_out, scores, dims({heads, rows * rows}));
  ValueId shares = m.node(OpId::softmax_out, scores, Dim(-1), false);
  if (joined) shares = m.node(OpId::view_copy_out, shares, whole);
  const ValueId sum = m.node(OpId::bmm_out, shares, value);
  m.node(OpId::view_copy_out, m.node(OpId::permute_copy_out, sum, dims({1, 0, 2})), dims({rows, columns}));
}

// Rows of a table, multiplied with the table. An input says which rows: of what is computed another element may be the
// largest where it is rounded otherwise.
inline void tied(RandomModule& m, ValueId x) {
  if (m.shape(x).empty()) return;
  const ValueId given = m.input();
  const Dim width = m.shape(x).back(), rows(m.shape(given).back().value + m.number(0, 40));
  const ValueId table = m.constant({rows, width});
  const std::vector<ValueId> indices = m.create(OpId::argmax_out, {given, Dim(-1), false});
  const std::vector<ValueId> weight = m.create(OpId::permute_copy_out, {table, dims({1, 0})});
  if (indices.empty() || weight.empty()) return;
  const ValueId picked = m.node(OpId::embedding_out, table, indices[0], Dim(-1), false, false);
  const ValueId flat = m.node(OpId::view_copy_out, picked, DimList{Dim(-1), width});
  if (flat.valid()) m.node(OpId::mm_out, flat, weight[0]);
}

}  // namespace networks

/// One graph a seed. Odd ones have what models seldom or never have, too: windows with gaps, groups and padding beyond
/// them, constants that stretch what they meet, steps of an LSTM in any order, and of a GRU, rows of tied embeddings.
inline RandomModuleOptions network(bool odd = false) {
  using namespace networks;
  RandomModuleOptions options;
  options.steps = {networks::convolution,
                   networks::convolution,
                   networks::convolution,
                   networks::unary,
                   networks::unary,
                   networks::binary,
                   networks::product,
                   pool,
                   move,
                   networks::join,
                   shuffle,
                   networks::reduce};
  const RandomStep seldom[] = {odd_convolution,
                               odd_convolution,
                               batch_norm,
                               stretch,
                               normalize,
                               rms_norm,
                               permute,
                               rejoin,
                               pad,
                               lstm,
                               gru,
                               line,
                               line,
                               line,
                               head,
                               tied};
  if (odd) options.steps.insert(options.steps.end(), std::begin(seldom), std::end(seldom));
  options.least_steps = 30;
  options.inputs = {{1, 4, 6, 6}, {2, 3, 5, 4}, {3, 6}, {1, 5, 6}};
  options.latest = 4;
  options.most_elements = 4096;
  options.made_outputs = true;
  return options;
}

}  // namespace berth::ir::testing
