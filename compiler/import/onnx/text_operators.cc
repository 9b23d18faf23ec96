// Features of texts and sounds: TfIdfVectorizer of words that are numbers, MelWeightMatrix.
//
// Source: the pages of ONNX on both operators.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

constexpr int64_t kMaxGram = 64;
constexpr int64_t kMaxSkips = 1024;

/// The n-grams of one length: element i of all of them stands in words[i].
struct Grams {
  std::vector<std::vector<int64_t>> words;
  std::vector<int64_t> columns;  // of the result
};

/// N-grams of each length from 'min_gram_length' to 'max_gram_length'; entry k has those of k + 1 words.
std::vector<Grams> read_grams(NodeContext& n, int64_t* width) {
  const std::vector<int64_t> starts = n.integers("ngram_counts");
  const std::vector<int64_t> columns = n.integers("ngram_indexes");
  const std::vector<int64_t> pool = n.integers("pool_int64s");
  const int64_t low = n.integer("min_gram_length", 0);
  const int64_t high = n.integer("max_gram_length", 0);
  if (n.has_attribute("pool_strings")) n.unsupported("n-grams of texts");
  if (n.ok() && (low < 1 || high < low || high > kMaxGram)) n.invalid("the lengths of n-grams must be from 1 to 64");
  std::vector<Grams> all(n.ok() ? std::min<size_t>(starts.size(), high) : 0);
  size_t id = 0;
  for (size_t k = 0; n.ok() && k < starts.size(); ++k) {
    const int64_t begin = starts[k];
    const int64_t end = k + 1 < starts.size() ? starts[k + 1] : static_cast<int64_t>(pool.size());
    const int64_t length = static_cast<int64_t>(k) + 1;
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) || (end - begin) % length != 0) {
      n.invalid("attribute 'ngram_counts' does not fit the pool");
      break;
    }
    const bool wanted = length >= low && length <= high;
    if (wanted) all[k].words.resize(length);
    for (int64_t at = begin; at < end; at += length, ++id) {
      if (id >= columns.size() || columns[id] < 0 || columns[id] > INT32_MAX) {
        n.invalid("attribute 'ngram_indexes' does not fit the pool");
        return {};
      }
      *width = std::max(*width, columns[id] + 1);
      if (!wanted) continue;
      all[k].columns.push_back(columns[id]);
      for (int64_t i = 0; i < length; ++i) all[k].words[i].push_back(pool[at + i]);
    }
  }
  for (int64_t column : columns) *width = std::max(*width, column + 1);
  return all;
}

/// How often each n-gram stands in a row of `x` [rows, words] with `skip` words from one of its words to the next.
ValueId count_grams(NodeContext& n, ValueId x, const Grams& grams, int64_t skip, int64_t places) {
  ValueId hits;
  for (size_t i = 0; i < grams.words.size(); ++i) {
    const int64_t start = static_cast<int64_t>(i) * skip;
    const ValueId words = n.slice(x, 1, start, start + places);
    const ValueId beside = n.view(words, {n.dim(x, 0), Dim(places), Dim(1)});
    const ValueId same = n.op(OpId::eq_Tensor_out, {beside, n.cast(n.ints(grams.words[i]), n.dtype(x))});
    hits = hits.valid() ? n.op(OpId::logical_and_out, {hits, same}) : same;
  }
  return n.op(OpId::sum_IntList_out,
              {n.cast(hits, DType::kF32), DimList{Dim(1)}, false, lowering::number_of(DType::kF32)});
}

void import_tf_idf_vectorizer(NodeContext& n) {
  const ValueId x = n.input(0);
  int64_t width = 0;
  const std::vector<Grams> all = read_grams(n, &width);
  const int64_t skips = n.integer("max_skip_count", 0);
  const std::string mode = n.text("mode", "TF");
  if (n.ok() && (n.rank(x) < 1 || n.rank(x) > 2 || !is_integer(n.dtype(x)))) {
    return n.invalid("expected integers [words] or [rows, words], found " + n.type_text(x));
  }
  if (n.ok() && (skips < 0 || skips > kMaxSkips || (mode != "TF" && mode != "IDF" && mode != "TFIDF"))) {
    return n.invalid("attribute 'max_skip_count' or 'mode' is not what it may be");
  }
  const Dim rows = n.rank(x) == 2 ? n.dim(x, 0) : Dim(1);
  const int64_t words = n.fixed(n.dim(x, n.rank(x) - 1), "the number of words");
  if (!n.ok()) return;
  const ValueId table = n.view(x, {rows, Dim(words)});
  ValueId y = n.op(OpId::full_out, {DimList{rows, Dim(width)}, 0.0, lowering::number_of(DType::kF32)});
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k].columns.empty()) continue;
    // Of single words nothing can be left out.
    for (int64_t skip = 1; skip <= (k == 0 ? 1 : skips + 1); ++skip) {
      const int64_t places = words - skip * static_cast<int64_t>(k);
      if (places < 1) break;
      const ValueList where = {ValueId(), n.ints(all[k].columns)};
      y = n.op(OpId::index_put_out, {y, where, count_grams(n, table, all[k], skip, places), true});
    }
  }
  if (mode == "IDF") y = n.cast(n.op(OpId::gt_Scalar_out, {y, 0.0}), DType::kF32);
  const std::vector<double> weights = n.numbers("weights");
  if (mode != "TF" && !weights.empty()) {
    if (static_cast<int64_t>(weights.size()) != width) return n.invalid("attribute 'weights' needs one a column");
    y = n.op(OpId::mul_out, {y, n.Lowering::numbers(DType::kF32, weights, 1, 0)});
  }
  n.output(0, n.rank(x) == 2 ? y : n.view(y, {Dim(width)}));
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }

// Triangles over the bins of a spectrum, evenly spaced by what is heard.
void import_mel_weight_matrix(NodeContext& n) {
  const int64_t bands = n.known_integer(0, "num_mel_bins");
  const int64_t length = n.known_integer(1, "dft_length");
  const double rate = n.known_number(2, "sample_rate");
  const double low = n.known_number(3, "lower_edge_hertz");
  const double high = n.known_number(4, "upper_edge_hertz");
  DType type = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(n.integer("output_datatype", 1)), &type)) {
    return n.unsupported("attribute 'output_datatype' names a type that no operator takes");
  }
  if (!n.ok()) return;
  const int64_t bins = length / 2 + 1;
  const bool sound = bands >= 1 && length >= 1 && rate > 0 && low >= 0 && high > low;
  if (!sound || bands > 1 << 16 || length > 1 << 20 || bins * bands > int64_t{1} << 24) {
    return n.invalid("needs bands, a length, a rate and two edges in order, all above 0 and not too large");
  }
  if (!n.state().literals.reserve(bins * bands * sizeof(double))) {
    return n.fail(Error::kOutOfResources, "too large a matrix");
  }
  std::vector<int64_t> edges;
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (mel_of(low) + step * static_cast<double>(i)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
    if (edges.back() < 0 || edges.back() >= bins) return n.invalid("an edge lies beyond the spectrum");
  }
  std::vector<double> weights(bins * bands, 0.0);
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t left = edges[i];
    const int64_t centre = edges[i + 1];
    const int64_t right = edges[i + 2];
    const auto set = [&](int64_t bin, double weight) { weights[bin * bands + i] = weight; };
    if (centre == left) set(centre, 1);
    for (int64_t j = left; centre > left && j <= centre; ++j) {
      set(j, static_cast<double>(j - left) / static_cast<double>(centre - left));
    }
    for (int64_t j = centre; j < right; ++j) {
      set(j, static_cast<double>(right - j) / static_cast<double>(right - centre));
    }
  }
  n.output(0, n.view(n.Lowering::numbers(type, weights, 1, 0), {Dim(bins), Dim(bands)}));
}

constexpr OperatorRow kTextRows[] = {
    {"MelWeightMatrix", 5, 5, import_mel_weight_matrix},
    {"TfIdfVectorizer", 1, 1, import_tf_idf_vectorizer},
};

}  // namespace

OperatorTable text_operators() { return kTextRows; }

}  // namespace berth::onnx
