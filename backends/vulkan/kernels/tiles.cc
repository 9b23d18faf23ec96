#include "backends/vulkan/kernels/tiles.h"

#include <cmath>
#include <utility>

namespace berth::vulkan {
namespace {

using portable::ActivationKind;
using portable::Product;

constexpr int64_t kRows = 8;      // of a group, as in tile.comp
constexpr int64_t kColumns = 32;  // likewise, where it reads four channels at once, and half of them elsewhere
constexpr int64_t kPlaces = 4;    // of an invocation, as in depthwise.comp

int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

bool whole(std::initializer_list<int64_t> values) {
  for (const int64_t value : values) {
    if (value % 4 != 0) return false;
  }
  return true;
}

// A product with its factors changed over, where that writes C along its rows: tiles read rows' factors once for all
// lanes. Only of plain matrices.
bool turn(Product* p, Finish* finish) {
  const Product::Axis& x = p->axis[2];
  const bool plain = p->axis[0].count == 1 && p->axis[1].count == 1 && p->taps() == 1 && x.origin == 0 && x.step == 1 &&
                     x.size >= x.count && p->axis[0].origin == 0 && p->axis[1].origin == 0;
  if (!plain || p->row_c == 1 || x.c != 1) return false;
  Product turned = *p;
  std::swap(turned.a, turned.b);
  turned.rows = x.count;
  turned.row_a = x.b;
  turned.row_c = x.c;
  turned.channel_a = p->channel_b;
  turned.channel_b = p->channel_a;
  Product::Axis& y = turned.axis[2];
  y = {};
  y.count = y.size = p->rows;
  y.b = p->row_a;
  y.c = p->row_c;
  y.tap_a = 0;
  for (Product::Batch& batch : turned.batch) std::swap(batch.a, batch.b);
  std::swap(turned.start_row, turned.start_column);
  std::swap(finish->a, finish->b);
  finish->bias_by_row = !finish->bias_by_row;
  *p = turned;
  return true;
}

bool matrices_have_texels(const Product& p, const Finish& finish) {
  return has_texels(*finish.a, Finish::first(p, finish.a, p.a)) &&
         has_texels(*finish.b, Finish::first(p, finish.b, p.b)) &&
         has_texels(*finish.c, Finish::first(p, finish.c, p.c));
}

bool takes_texels(const Product& p, const Finish& finish) {
  if (p.channel_a != 1 || p.channel_b != 1 || p.row_c != 1 || p.a_scale.real != 1) return false;
  if (!whole({p.rows, p.channels, p.row_a})) return false;
  for (const Product::Axis& axis : p.axis) {
    if (axis.count > 1 && axis.c % 4 != 0) return false;
    if (axis.taps > 1 && axis.tap_a % 4 != 0) return false;
    const bool still = axis.count == 1 && axis.taps == 1 && axis.origin == 0;
    if (!still && axis.b % 4 != 0) return false;
  }
  for (const Product::Batch& batch : p.batch) {
    if (batch.count > 1 && !whole({batch.a, batch.b, batch.c, batch.start})) return false;
  }
  if (!matrices_have_texels(p, finish)) return false;
  if (finish.bias != nullptr && (!finish.bias_by_row || !has_texels(*finish.bias))) return false;
  return finish.start == nullptr || (finish.start_like_c && has_texels(*finish.start));
}

// Views give f16 as f32; they take f32 alone, and know no bf16.
bool views_give(const Finish& finish) {
  for (const Tensor* tensor : {finish.a, finish.b, finish.start, finish.bias}) {
    if (tensor != nullptr && tensor->dtype() != DType::kF32 && tensor->dtype() != DType::kF16) return false;
  }
  return finish.c->dtype() == DType::kF32;
}

// Of each channel by itself, channels innermost in both images; weights may be in any order of taps.
bool is_depthwise(const Product& p, const Finish& finish) {
  const Product::Batch& channels = p.batch[1];
  return p.rows == 1 && p.channels == 1 && channels.count > 1 && channels.a == 1 && channels.b == 1 &&
         channels.c == 1 && p.batch[0].a == 0 && p.a_scale.real == 1 &&
         (finish.bias == nullptr || (finish.bias_by_row && channels.start == 1)) &&
         (finish.start == nullptr || finish.start_like_c);
}

bool depthwise_takes_texels(const Product& p, const Finish& finish) {
  if (!whole({p.batch[1].count})) return false;
  if (p.batch[0].count > 1 && !whole({p.batch[0].b, p.batch[0].c})) return false;
  for (const Product::Axis& axis : p.axis) {
    if (axis.taps > 1 && axis.tap_a % 4 != 0) return false;
    const bool still = axis.count == 1 && axis.taps == 1 && axis.origin == 0;
    if ((!still && axis.b % 4 != 0) || (axis.count > 1 && axis.c % 4 != 0)) return false;
  }
  if (!matrices_have_texels(p, finish)) return false;
  if (finish.bias != nullptr && !has_texels(*finish.bias)) return false;
  return finish.start == nullptr || has_texels(*finish.start);
}

int kind_of_bias(const Finish& finish) { return finish.bias == nullptr ? 0 : finish.bias_by_row ? 1 : 2; }
int kind_of_start(const Finish& finish) { return finish.start == nullptr ? 0 : finish.start_like_c ? 1 : 2; }

// None and relu are bounds too, so that they share a kernel.
void bound(portable::Activation* activation) {
  if (activation->kind != ActivationKind::kNone && activation->kind != ActivationKind::kRelu) return;
  activation->alpha = activation->kind == ActivationKind::kRelu ? 0 : -HUGE_VALF;
  activation->beta = HUGE_VALF;
  activation->kind = ActivationKind::kClamp;
}

// `limit` and whether the next group computes the next rows: the larger factor is then read the fewer times.
void ask_for(Launch& ask, const Product& p, const Finish& finish, int64_t limit) {
  ask.writes(*finish.c).reads(finish.a).reads(finish.b).reads(finish.bias).reads(finish.start);
  put_numbers(ask, p, finish);
  ask.number(kind_of_bias(finish)).number(kind_of_start(finish)).number(limit);
  ask.number(finish.a->numel() < finish.b->numel() ? 1 : 0);
}

}  // namespace

void join_taps(Product* p, int64_t* limit) {
  Product::Axis& x = p->axis[2];
  *limit = 0;
  const bool joins = x.taps > 1 && p->channel_a == 1 && p->channel_b == 1 && x.b == p->channels && x.tap_step == 1 &&
                     x.tap_a == p->channels;
  if (!joins) return;
  *limit = x.size * p->channels;
  p->channels *= x.taps;
  x.taps = 1;
}

bool has_texels(const Tensor& tensor, int64_t first) {
  const size_t texel = 4 * element_size(tensor.dtype());
  return tensor.numel() % 4 == 0 && reinterpret_cast<uintptr_t>(tensor.raw()) % texel == 0 && first % 4 == 0;
}

void put_numbers(Launch& ask, const Product& p, const Finish& finish) {
  ask.number(Finish::first(p, finish.a, p.a)).number(Finish::first(p, finish.b, p.b));
  ask.number(Finish::first(p, finish.c, p.c));
  ask.number(p.rows).number(p.columns()).number(p.channels);
  ask.number(p.row_a).number(p.channel_a).number(p.channel_b).number(p.row_c).number(p.batch[1].count);
  for (const Product::Batch& batch : p.batch) ask.number(batch.a).number(batch.b).number(batch.c).number(batch.start);
  ask.real(finish.activation.alpha).real(finish.activation.beta);
  ask.number(p.start_row).number(p.start_column).real(p.start_scale.real).real(p.a_scale.real);
  for (const Product::Batch& batch : p.batch) ask.number(batch.start);
  for (const Product::Axis& axis : p.axis) {
    ask.number(axis.count).number(axis.size).number(axis.step).number(axis.origin).number(axis.taps);
    ask.number(axis.tap_step).number(axis.tap_a).number(axis.b).number(axis.c);
  }
}

Error run_tiles(KernelContext& context, const Gpu& gpu, const Product& product, const Finish& finish, bool* done) {
  *done = false;
  if (!gpu.reads_texels() || !views_give(finish)) return Error::kOk;
  Product p = product;
  Finish end = finish;
  bound(&end.activation);
  if (is_depthwise(p, end)) {
    if (p.taps() > kMostRounds) return Error::kOk;
    *done = true;
    const bool texels = depthwise_takes_texels(p, end);
    Launch ask(context, texels ? ShaderId::depthwise_vectors : ShaderId::depthwise);
    ask.constant(static_cast<int64_t>(end.activation.kind));
    ask_for(ask, p, end, 0);
    const int64_t units = p.batch[1].count / (texels ? 4 : 1);
    return ask.run(units * up(p.columns(), kPlaces) * p.batch[0].count);
  }
  turn(&p, &end);
  const bool texels = takes_texels(p, end);
  int64_t limit = 0;
  if (!texels) join_taps(&p, &limit);
  const int64_t rounds = texels ? up(p.channels, 4) : p.channels;
  if (p.taps() > kMostRounds || p.taps() * (1 + rounds) > kMostRounds) return Error::kOk;
  *done = true;
  Launch ask(context, texels ? ShaderId::tile_vectors : ShaderId::tile);
  ask.constant(static_cast<int64_t>(end.activation.kind));
  if (!texels) ask.constant(kind_of_bias(end)).constant(kind_of_start(end));
  ask_for(ask, p, end, limit);
  return ask.run(up(p.rows, kRows) * up(p.columns(), texels ? kColumns : kColumns / 2) * p.batches(), 1);
}

}  // namespace berth::vulkan
