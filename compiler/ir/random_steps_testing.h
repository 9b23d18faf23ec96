// For tests: random modules of any operators, for the planner; of what passes look for; of vectors, for devices; and
// small ones, of which all orders can be tried (random_module_testing.h).
#pragma once

#include "compiler/ir/random_module_testing.h"

namespace berth::ir::testing {

template <OpId op>
void unary(RandomModule& m, ValueId x) {
  m.node(op, x);
}
template <OpId op>
void binary(RandomModule& m, ValueId x) {
  m.node(op, x, m.any());
}

template <OpId op>
void onto_any(RandomModule& m, ValueId x) {
  m.node(op, m.any(), x);
}

/// `x` with other sizes, of which one may be -1.
template <int64_t... sizes>
void view(RandomModule& m, ValueId x) {
  m.node(OpId::view_copy_out, x, dims({sizes...}));
}
inline void view_as_itself(RandomModule& m, ValueId x) { m.node(OpId::view_copy_out, x, DimList(m.shape(x))); }
inline void view_as_state(RandomModule& m, ValueId x) { m.node(OpId::view_copy_out, x, dims(m.options().state_shape)); }
inline void unsqueeze_first(RandomModule& m, ValueId x) { m.node(OpId::unsqueeze_copy_out, x, Dim(0)); }
inline void unsqueeze(RandomModule& m, ValueId x) { m.node(OpId::unsqueeze_copy_out, x, Dim(m.number(-1, 1))); }
inline void squeeze(RandomModule& m, ValueId x) { m.node(OpId::squeeze_copy_dim_out, x, Dim(m.number(-1, 1))); }

inline void double_rows(RandomModule& m, ValueId x) { m.node(OpId::cat_out, ValueList{x, x}, Dim(0)); }
inline void join(RandomModule& m, ValueId x) { m.node(OpId::cat_out, ValueList{x, m.any()}, Dim(0)); }
inline void join_anywhere(RandomModule& m, ValueId x) {
  m.node(OpId::cat_out, ValueList{x, m.pick(3) == 0 ? m.any() : x}, Dim(m.number(-2, 1)));
}
/// In `parts` pieces of equal length, the last of which may be shorter.
template <int64_t parts>
void split(RandomModule& m, ValueId x) {
  if (m.shape(x).empty() || !m.shape(x)[0].is_constant() || m.shape(x)[0].value == 0) return;
  m.node(OpId::split_copy_Tensor_out, x, Dim((m.shape(x)[0].value + parts - 1) / parts), Dim(0));
}
template <int64_t from, int64_t to>
void slice(RandomModule& m, ValueId x) {
  m.node(OpId::slice_copy_Tensor_out, x, Dim(0), Dim(from), Dim(to));
}

inline void clamp(RandomModule& m, ValueId x) { m.node(OpId::clamp_Tensor_out, x, m.any(), None{}); }
inline void flip(RandomModule& m, ValueId x) { m.node(OpId::flip_out, x, dims({0})); }
inline void largest(RandomModule& m, ValueId x) {
  if (m.shape(x).empty() || !m.shape(x).back().is_constant() || m.shape(x).back().value == 0) return;
  m.node(OpId::max_dim_max, x, Dim(-1), true);
}
inline void softmax(RandomModule& m, ValueId x) {
  if (!m.shape(x).empty()) m.node(OpId::softmax_out, x, Dim(static_cast<int64_t>(m.pick(m.shape(x).size()))), false);
}
inline void cumsum(RandomModule& m, ValueId x) {
  if (!m.shape(x).empty()) m.node(OpId::cumsum_out, x, Dim(static_cast<int64_t>(m.pick(m.shape(x).size()))));
}

/// Views, joins, cuts and arithmetic, with states, a symbol, branches and loops up to three deep. Tensors are of
/// multiples of `rows` times 6 elements.
inline RandomModuleOptions any_module(int64_t rows = 4, bool regions = true) {
  RandomModuleOptions options;
  options.steps = {unary<OpId::relu_out>,
                   unary<OpId::exp_out>,
                   binary<OpId::add_out>,
                   view<6, -1>,
                   view<-1>,
                   unsqueeze_first,
                   double_rows,
                   largest,
                   onto_any<OpId::mul_out>,
                   binary<OpId::maximum_out>,
                   clamp,
                   softmax,
                   cumsum,
                   flip,
                   split<3>,
                   slice<1, 3>,
                   join,
                   view_as_state,
                   unary<OpId::neg_out>,
                   unary<OpId::alias_copy_out>};
  options.more_steps = 30;
  options.inputs = {{rows, 6}};
  options.symbolic_columns = rows * 6;
  options.states = 2;
  options.state_shape = {rows, 6};
  options.region_depth = regions ? 3 : 0;
  options.scanned_shape = {rows, 6};
  return options;
}

/// With a constant of x's shape, of some of its dimensions, or of its channels.
inline void with_constant(RandomModule& m, ValueId x) {
  std::vector<Dim> sizes = m.shape(x);
  const size_t kept = m.pick(3);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (kept == 0 || (kept == 1 && d != 1)) sizes[d] = Dim(1);
  }
  if (m.pick(3) == 0 && !sizes.empty()) sizes.erase(sizes.begin());
  const ValueId c = m.constant(sizes);
  const OpId ops[] = {OpId::add_out, OpId::sub_out, OpId::mul_out};
  const OpId op = ops[m.pick(3)];
  const bool first = m.pick(3) == 0;
  m.node(op, first ? c : x, first ? x : c);
  // Constants meet each other too.
  if (m.pick(2) == 0) m.offer(c);
}
inline void with_number(RandomModule& m, ValueId x) {
  if (m.pick(2) == 0) {
    m.node(OpId::add_Scalar_out, x, Dim(m.number(-1, 1)), Dim(1));
  } else {
    m.node(OpId::mul_Scalar_out, x, static_cast<double>(m.number(0, 2)) / 2);
  }
}
inline void view_of_two_rows(RandomModule& m, ValueId x) {
  m.node(OpId::view_copy_out, x, DimList{Dim(m.elements(x) % 2 == 0 ? 2 : 1), Dim(-1)});
}
inline void reorder(RandomModule& m, ValueId x) {
  if (m.pick(2) == 0) {
    m.node(OpId::transpose_copy_int_out, x, Dim(m.number(-2, 1)), Dim(m.number(-2, 1)));
    return;
  }
  DimList order;
  for (int64_t d = 0; d < m.type(x).rank(); ++d) order.push_back(Dim(d));
  m.shuffle(order);
  m.node(OpId::permute_copy_out, x, order);
}
inline void cut(RandomModule& m, ValueId x) {
  switch (m.pick(5)) {
    case 0:
      m.node(OpId::slice_copy_Tensor_out, x, Dim(m.number(-2, 1)), Dim(m.number(0, 1)), Dim(m.number(1, 9)));
      break;
    case 1: m.node(OpId::select_copy_int_out, x, Dim(m.number(-2, 1)), Dim(0)); break;
    case 2: m.node(OpId::constant_pad_nd_out, x, DimList{Dim(m.number(0, 1)), Dim(0)}, Dim(0)); break;
    case 3: m.node(OpId::expand_copy_out, x, DimList{Dim(2), Dim(m.number(1, 3)), Dim(-1)}); break;
    default: m.node(OpId::flip_out, x, DimList{Dim(m.number(-2, 1))});
  }
}
inline void product(RandomModule& m, ValueId x) {
  if (m.type(x).rank() != 2) return;
  const Dim columns(m.number(1, 5));
  const ValueId w = m.constant({m.shape(x)[1], columns}), bias = m.constant({columns});
  if (m.pick(2) == 0) {
    m.node(OpId::mm_out, x, w);
  } else {
    m.node(OpId::addmm_out, bias, x, w, Dim(1), Dim(m.pick(4) == 0 ? 2 : 1));
  }
}
inline void convolution(RandomModule& m, ValueId x) {
  if (m.type(x).rank() != 4) return;
  const Dim channels = m.shape(x)[1], other(m.number(1, 3)), two(2);
  const bool transposed = m.pick(3) == 0, depthwise = m.pick(3) == 0;
  const Dim groups = depthwise ? channels : Dim(1);
  const ValueId w = transposed ? m.constant({channels, other, two, two})
                               : m.constant({depthwise ? channels : other, depthwise ? Dim(1) : channels, two, two});
  const Dim out = transposed ? Dim(other.value * groups.value) : depthwise ? channels : other;
  Argument bias;
  if (m.pick(2) == 0) bias.emplace<ValueId>(m.constant({out}));
  m.node(OpId::convolution_out, x, w, bias, dims({1}), dims({1}), dims({1}), transposed, dims({0}), groups);
}
inline void batch_norm(RandomModule& m, ValueId x) {
  if (m.type(x).rank() < 2) return;
  const std::vector<Dim> channels = {m.shape(x)[1]};
  Argument weight, bias;
  if (m.pick(2) == 0) weight.emplace<ValueId>(m.constant(channels));
  if (m.pick(2) == 0) bias.emplace<ValueId>(m.constant(channels));
  const ValueId mean = m.constant(channels);
  const ValueId variance = m.splat(channels, 0.25 * static_cast<double>(m.number(1, 8)));
  m.node(OpId::native_batch_norm_legit_no_training_out, x, weight, bias, mean, variance, 0.1, 1e-5);
}
inline void reduce(RandomModule& m, ValueId x) {
  const OpId op = m.pick(2) == 0 ? OpId::mean_out : OpId::sum_IntList_out;
  m.node(op, x, DimList{Dim(m.number(-1, 1))}, m.pick(2) == 0, None{});
}

/// Views of views, neutral constants, norms after convolutions, equal nodes: what the passes change.
inline RandomModuleOptions simplifiable() {
  RandomModuleOptions options;
  for (int i = 0; i < 2; ++i) {
    options.steps.insert(options.steps.end(), {unary<OpId::relu_out>,
                                               unary<OpId::neg_out>,
                                               unary<OpId::tanh_out>,
                                               unary<OpId::sigmoid_out>,
                                               unary<OpId::abs_out>,
                                               unary<OpId::clone_out>,
                                               with_number,
                                               with_number,
                                               reorder,
                                               reorder,
                                               reorder,
                                               product,
                                               product,
                                               product,
                                               convolution,
                                               convolution,
                                               convolution,
                                               batch_norm,
                                               batch_norm,
                                               batch_norm,
                                               reduce,
                                               reduce,
                                               reduce,
                                               join_anywhere,
                                               join_anywhere,
                                               join_anywhere,
                                               cut,
                                               cut,
                                               cut,
                                               with_constant,
                                               with_constant,
                                               with_constant});
  }
  options.steps.insert(options.steps.end(),
                       {binary<OpId::add_out>, binary<OpId::sub_out>, binary<OpId::mul_out>, binary<OpId::maximum_out>,
                        view<-1>, view_of_two_rows, unsqueeze, squeeze, view_as_itself, view_as_itself});
  options.least_steps = 40;
  options.inputs = {{2, 3}, {1, 4, 5, 5}, {4, 6}};
  options.most_elements = 4096;
  options.special_constants = true;
  options.latest = 8;
  return options;
}

inline void add_number(RandomModule& m, ValueId x) {
  m.node(OpId::add_out, x, m.splat(m.shape(x), static_cast<double>(m.pick(3))), Dim(1));
}

/// Vectors of four and matrices of their rows, with a state in every second one, and branches and loops of one value
/// each, beside what a scan stacks.
inline RandomModuleOptions vectors(unsigned seed) {
  RandomModuleOptions options;
  options.steps = {add_number,
                   add_number,
                   binary<OpId::mul_out>,
                   binary<OpId::mul_out>,
                   unary<OpId::relu_out>,
                   unary<OpId::tanh_out>,
                   unary<OpId::neg_out>,
                   unary<OpId::abs_out>};
  options.least_steps = 25;
  options.inputs = {{4}, {4}, {4}, {3, 4}};
  options.states = seed % 2 == 0 ? 1 : 0;
  options.state_shape = {4};
  options.latest = 7;
  options.region_depth = 2;
  options.region_rarity = 7;
  options.scanned_shape = {3, 4};
  options.one_value_regions = true;
  options.outputs = 3;
  return options;
}

/// The same with many loops, `while` among them, that carry several values, and with states that regions write.
inline RandomModuleOptions loops_of_vectors(unsigned seed) {
  RandomModuleOptions options = vectors(seed);
  options.one_value_regions = false;
  options.inputs = {{4}, {4}, {3, 4}};
  options.states = 2;
  options.writes_in_regions = true;
  options.region_depth = 3;
  options.region_rarity = 4;
  options.least_steps = 8;
  options.latest = 4;
  return options;
}

/// Few nodes, most of them joining, cutting or in place: 16 bytes a row.
inline RandomModuleOptions small_module(unsigned seed, unsigned nodes) {
  RandomModuleOptions options;
  options.steps = {unary<OpId::relu_out>,
                   flip,
                   binary<OpId::add_out>,
                   binary<OpId::add_out>,
                   join,
                   join,
                   split<2>,
                   split<2>,
                   slice<0, 2>,
                   slice<1, 3>,
                   view<-1, 4>,
                   cumsum};
  options.least_steps = nodes;
  options.inputs = {{4 + seed % 6, 4}, {4 + seed / 6 % 6, 4}};
  options.states = seed % 3 == 0 ? 1 : 0;
  options.state_shape = {4, 4};
  options.latest = 6;
  options.outputs = 2;
  options.made_outputs = true;
  return options;
}

}  // namespace berth::ir::testing
