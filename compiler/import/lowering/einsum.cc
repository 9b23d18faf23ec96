#include "compiler/import/lowering/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace berth::lowering {
namespace {

using Labels = std::vector<int>;  // letters as themselves; dimension k from the right of an ellipsis as -1 - k

struct Factor {
  ValueId value;
  Labels labels;
};

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Term {
  Labels before, after;  // of the ellipsis
  bool ellipsis = false;
};

Term parse_term(Lowering& n, const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0 && !term.ellipsis) {
      term.ellipsis = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      (term.ellipsis ? term.after : term.before).push_back(text[i]);
    } else {
      n.invalid("the equation has a '" + text.substr(i, 1) + "' that means nothing there");
      break;
    }
  }
  return term;
}

Labels expanded(const Term& term, int ellipsis_dims) {
  Labels labels = term.before;
  for (int k = ellipsis_dims; k > 0; --k) labels.push_back(-k);
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Without "->": the labels that occur once, by the alphabet, behind the ellipsis.
Labels implicit_output(const std::vector<Labels>& inputs, int ellipsis_dims) {
  std::map<int, int> count;
  for (const Labels& labels : inputs) {
    for (int label : labels) ++count[label];
  }
  Labels output;
  for (int k = ellipsis_dims; k > 0; --k) output.push_back(-k);
  for (const auto& [label, times] : count) {
    if (label > 0 && times == 1) output.push_back(label);
  }
  return output;
}

Equation parse_equation(Lowering& n, std::string text, const std::vector<ValueId>& inputs) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  Equation equation;
  if (terms.size() != inputs.size()) {
    n.invalid("the equation has " + std::to_string(terms.size()) + " terms for " + std::to_string(inputs.size()) +
              " inputs");
    return equation;
  }
  int ellipsis_dims = 0;
  for (size_t i = 0; i < terms.size() && n.ok(); ++i) {
    const Term term = parse_term(n, terms[i]);
    const int named = static_cast<int>(term.before.size() + term.after.size());
    const int dims = n.rank(inputs[i]) - named;
    if (n.ok() && (dims < 0 || (dims > 0 && !term.ellipsis))) {
      n.invalid("term \"" + terms[i] + "\" does not fit " + n.type_text(inputs[i]));
    }
    equation.inputs.push_back(expanded(term, std::max(dims, 0)));
    if (term.ellipsis) ellipsis_dims = std::max(ellipsis_dims, dims);
  }
  if (!n.ok()) return equation;
  if (arrow == std::string::npos) {
    equation.output = implicit_output(equation.inputs, ellipsis_dims);
    return equation;
  }
  // An ellipsis that the output does not have is summed.
  const Term output = parse_term(n, text.substr(arrow + 2));
  equation.output = expanded(output, output.ellipsis ? ellipsis_dims : 0);
  return equation;
}

int position(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// A label twice in one factor: its diagonal, which diagonal_copy puts last.
Factor without_repeats(Lowering& n, Factor factor) {
  for (size_t i = 0; i < factor.labels.size() && n.ok(); ++i) {
    const int label = factor.labels[i];
    const int second =
        position(Labels(factor.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, factor.labels.end()), label) +
        static_cast<int>(i) + 1;
    if (second >= static_cast<int>(factor.labels.size())) continue;
    factor.value = n.op(OpId::diagonal_copy_out, {factor.value, Dim(0), Dim(static_cast<int64_t>(i)), Dim(second)});
    factor.labels.erase(factor.labels.begin() + second);
    factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
    factor.labels.push_back(label);
    i = static_cast<size_t>(-1);  // positions changed: from the start
  }
  return factor;
}

// Sums away the labels that occur nowhere else.
Factor reduced(Lowering& n, Factor factor, const Labels& wanted) {
  DimList dims;
  Labels kept;
  for (size_t i = 0; i < factor.labels.size(); ++i) {
    if (has(wanted, factor.labels[i])) {
      kept.push_back(factor.labels[i]);
    } else {
      dims.push_back(Dim(static_cast<int64_t>(i)));
    }
  }
  if (dims.empty()) return factor;
  const Dim dtype(static_cast<int64_t>(n.dtype(factor.value)));
  return {n.op(OpId::sum_IntList_out, {factor.value, dims, false, dtype}), kept};
}

// `factor` with exactly `labels`, in that order; labels that it lacks have size 1.
ValueId arranged(Lowering& n, const Factor& factor, const Labels& labels) {
  std::vector<int64_t> order;
  std::vector<Dim> size;
  for (int label : labels) {
    if (!has(factor.labels, label)) {
      size.push_back(Dim(1));
      continue;
    }
    const int at = position(factor.labels, label);
    order.push_back(at);
    size.push_back(n.dim(factor.value, at));
  }
  return n.view(n.permute(factor.value, order), size);
}

struct Split {
  Labels batch, rows, columns, summed;
};

Split classify(const Factor& a, const Factor& b, const Labels& wanted) {
  Split split;
  for (int label : a.labels) {
    const bool later = has(wanted, label);
    (has(b.labels, label) ? (later ? split.batch : split.summed) : split.rows).push_back(label);
  }
  for (int label : b.labels) {
    if (!has(a.labels, label)) split.columns.push_back(label);
  }
  return split;
}

Labels joined(std::initializer_list<const Labels*> lists) {
  Labels all;
  for (const Labels* list : lists) all.insert(all.end(), list->begin(), list->end());
  return all;
}

// Where one factor has size 1 and the other does not (ellipses broadcast), both get the larger.
ValueId broadcast(Lowering& n, ValueId x, const std::vector<Dim>& sizes) {
  std::vector<Dim> shape = n.shape(x);
  for (size_t i = 0; i < sizes.size() && i < shape.size(); ++i) {
    if (shape[i] == Dim(1)) shape[i] = sizes[i];
  }
  return n.expand(x, shape);
}

Factor contracted(Lowering& n, const Factor& a, const Factor& b, const Labels& wanted) {
  const Split s = classify(a, b, wanted);
  const Labels result = joined({&s.batch, &s.rows, &s.columns});
  if (s.summed.empty()) {
    return {n.op(OpId::mul_out, {arranged(n, a, result), arranged(n, b, result)}), result};
  }
  ValueId left = arranged(n, a, joined({&s.batch, &s.rows, &s.summed}));
  ValueId right = arranged(n, b, joined({&s.batch, &s.summed, &s.columns}));
  std::vector<Dim> sizes;
  for (size_t i = 0; i < s.batch.size(); ++i) {
    const Dim l = n.dim(left, static_cast<int>(i));
    sizes.push_back(l == Dim(1) ? n.dim(right, static_cast<int>(i)) : l);
  }
  left = broadcast(n, left, sizes);
  right = broadcast(n, right, sizes);
  const std::vector<Dim> l = n.shape(left);
  const std::vector<Dim> r = n.shape(right);
  if (!n.ok()) return {left, result};
  const int batch = static_cast<int>(s.batch.size());
  const int rows = batch + static_cast<int>(s.rows.size());
  const int summed = batch + static_cast<int>(s.summed.size());
  const int l_rank = static_cast<int>(l.size());
  const int r_rank = static_cast<int>(r.size());
  const ValueId product =
      n.op(OpId::bmm_out,
           {n.view(left, {n.product(l, 0, batch), n.product(l, batch, rows), n.product(l, rows, l_rank)}),
            n.view(right, {n.product(r, 0, batch), n.product(r, batch, summed), n.product(r, summed, r_rank)})});
  std::vector<Dim> size(l.begin(), l.begin() + rows);
  size.insert(size.end(), r.begin() + summed, r.end());
  return {n.view(product, size), result};
}

/// Whether `labels`, those of `value`, have `label` for a dimension of another size than 1.
bool is_long(Lowering& n, ValueId value, const Labels& labels, int label) {
  return has(labels, label) && n.dim(value, position(labels, label)) != Dim(1);
}

}  // namespace

bool einsum_contracts(Lowering& n, const std::string& text, const std::vector<ValueId>& inputs) {
  const Equation equation = parse_equation(n, text, inputs);
  for (size_t i = 0; i < equation.inputs.size() && n.ok(); ++i) {
    for (const int label : equation.inputs[i]) {
      if (has(equation.output, label) || !is_long(n, inputs[i], equation.inputs[i], label)) continue;
      for (size_t k = i + 1; k < equation.inputs.size(); ++k) {
        if (is_long(n, inputs[k], equation.inputs[k], label)) return true;
      }
    }
  }
  return false;
}

ValueId einsum(Lowering& n, const std::string& text, const std::vector<ValueId>& inputs) {
  const Equation equation = parse_equation(n, text, inputs);
  std::vector<Factor> factors;
  for (size_t i = 0; i < equation.inputs.size() && n.ok(); ++i) {
    factors.push_back(without_repeats(n, {inputs[i], equation.inputs[i]}));
  }
  if (!n.ok()) return {};
  Factor total = factors[0];
  for (size_t i = 0; i < factors.size() && n.ok(); ++i) {
    Labels wanted = equation.output;
    for (size_t j = i + 1; j < factors.size(); ++j) {
      wanted.insert(wanted.end(), factors[j].labels.begin(), factors[j].labels.end());
    }
    if (i > 0) {
      Labels alone = wanted;
      alone.insert(alone.end(), total.labels.begin(), total.labels.end());
      total = contracted(n, total, reduced(n, factors[i], alone), wanted);
    }
    total = reduced(n, total, wanted);
  }
  for (int label : equation.output) {
    if (!has(total.labels, label)) n.invalid("the result has a label that no input has");
  }
  return n.ok() ? arranged(n, total, equation.output) : ValueId();
}

}  // namespace berth::lowering
