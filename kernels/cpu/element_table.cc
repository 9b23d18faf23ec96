#include "kernels/cpu/element_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/portable/fused_elementwise.h"

namespace berth::cpu {
namespace {

using elementwise::Op;

// Which steps a chain's parts are made of, and which of the inputs they depend on.
class Parts {
 public:
  explicit Parts(const Chain& chain) : chain_(chain), first_(chain.inputs + chain.constants) {
    for (size_t s = 0; s < chain.steps; ++s) {
      steps_[s] = uint32_t{1} << s;
      for_each_operand(s, [&](size_t operand) {
        if (operand < chain.inputs) inputs_[s] |= uint32_t{1} << operand;
        if (operand < first_) return;
        inputs_[s] |= inputs_[operand - first_];
        steps_[s] |= steps_[operand - first_];
      });
    }
  }

  template <typename F>
  void for_each_operand(size_t step, F&& f) const {
    const ChainStep& own = chain_.step[step];
    for (int k = 0; k < elementwise::operands(own.op); ++k) f(size_t{own.operand[k]});
  }
  bool has_step(size_t whole, size_t step) const { return (steps_[whole] >> step & 1u) != 0; }

  /// The input that step `s` depends on, if it is one, of bytes, and more than dequantised.
  bool is_table(size_t s, size_t* input) const {
    const uint32_t inputs = inputs_[s];
    if (inputs == 0 || (inputs & (inputs - 1)) != 0) return false;
    *input = 0;
    while ((inputs >> *input & 1u) == 0) ++*input;
    if (!is_byte(chain_.input[*input]->dtype())) return false;
    int count = 0;
    bool more = false;
    for (size_t i = 0; i <= s; ++i) {
      if (!has_step(s, i)) continue;
      ++count;
      more = more || (chain_.step[i].op != Op::kSub && chain_.step[i].op != Op::kMul);
    }
    return more || count > 2;
  }

  /// What step `s` is for each byte of `input`, the only one that it depends on.
  void compute(size_t s, size_t input, float* out) const {
    constexpr int kPart = 64;
    float values[elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps][kPart];
    const bool is_signed = chain_.input[input]->dtype() == DType::kI8;
    for (size_t k = 0; k < chain_.constants; ++k) std::fill_n(values[chain_.inputs + k], kPart, chain_.constant[k]);
    for (int begin = 0; begin < 256; begin += kPart) {
      for (int i = 0; i < kPart; ++i) {
        const int byte = begin + i;
        values[input][i] = static_cast<float>(is_signed && byte > 127 ? byte - 256 : byte);
      }
      for (size_t i = 0; i <= s; ++i) {
        if (!has_step(s, i)) continue;
        const ChainStep& step = chain_.step[i];
        portable::run_plain_step(step.op, values[step.operand[0]], values[step.operand[1]], values[step.operand[2]],
                                 kPart, values[first_ + i]);
      }
      std::copy_n(values[first_ + s], kPart, out + begin);
    }
  }

 private:
  const Chain& chain_;
  size_t first_;
  uint32_t inputs_[elementwise::kMaxSteps] = {};
  uint32_t steps_[elementwise::kMaxSteps] = {};
};

static_assert(elementwise::kMaxSteps <= 32 && elementwise::kMaxInputs <= 32);

// What becomes of each step.
struct Cut {
  bool needed[elementwise::kMaxSteps] = {};
  bool table[elementwise::kMaxSteps] = {};
  size_t input_of[elementwise::kMaxSteps] = {};  // of a table
  bool read[elementwise::kMaxInputs] = {};       // as it is
  size_t tables = 0;

  Cut(const Chain& chain, const Parts& parts) {
    const size_t first = chain.inputs + chain.constants;
    needed[chain.steps - 1] = true;
    for (size_t s = chain.steps; s-- > 0;) {
      if (!needed[s]) continue;
      table[s] = parts.is_table(s, &input_of[s]);
      if (table[s]) {
        ++tables;
        continue;
      }
      parts.for_each_operand(s, [&](size_t operand) {
        if (operand < chain.inputs) read[operand] = true;
        if (operand >= first) needed[operand - first] = true;
      });
    }
  }
};

// Steps whose operands are numbered anew.
class Shortened {
 public:
  Shortened(const Chain& chain, const Parts& parts, const Cut& cut, TabledChain* to)
      : first_(chain.inputs + chain.constants) {
    Chain& made = to->chain;
    size_t next_table = 0;
    for (size_t k = 0; k < chain.inputs; ++k) {
      if (cut.read[k]) add_input(k, k, nullptr, to);
    }
    for (size_t s = 0; s < chain.steps; ++s) {
      if (!cut.table[s]) continue;
      NumberTable& table = to->tables[next_table++];
      parts.compute(s, cut.input_of[s], table.number);
      for (int i = 0; i < 256; ++i) {
        uint8_t bytes[4];
        std::memcpy(bytes, &table.number[i], sizeof(bytes));
        for (int plane = 0; plane < 4; ++plane) table.plane[plane][i] = bytes[plane];
      }
      add_input(first_ + s, cut.input_of[s], &table, to);
    }
    for (size_t k = 0; k < chain.constants; ++k) {
      place_[chain.inputs + k] = static_cast<uint8_t>(made.inputs + k);
      made.constant[k] = chain.constant[k];
    }
    made.constants = chain.constants;
    for (size_t s = 0; s < chain.steps; ++s) {
      if (!cut.needed[s] || cut.table[s]) continue;
      ChainStep step = chain.step[s];
      for (int k = 0; k < 3; ++k) {
        const bool used = k < elementwise::operands(step.op);
        step.operand[k] = used ? place_[step.operand[k]] : 0;
      }
      place_[first_ + s] = static_cast<uint8_t>(made.inputs + made.constants + made.steps);
      made.step[made.steps++] = step;
    }
  }

 private:
  void add_input(size_t operand, size_t source, const NumberTable* table, TabledChain* to) {
    Chain& made = to->chain;
    place_[operand] = static_cast<uint8_t>(made.inputs);
    to->source[made.inputs] = static_cast<uint8_t>(source);
    made.table[made.inputs++] = table;
  }

  size_t first_;
  uint8_t place_[elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps] = {};
};

// From bytes to bytes.
bool make_whole(const Chain& chain, const Parts& parts, size_t input, TabledChain* to) {
  to->whole.reset(new (std::nothrow) ByteTable);
  if (to->whole == nullptr) return false;
  float numbers[256];
  parts.compute(chain.steps - 1, input, numbers);
  for (int i = 0; i < 256; ++i) to->whole->byte[i] = static_cast<uint8_t>(static_cast<int>(numbers[i]));
  to->chain = chain;
  for (size_t k = 0; k < chain.inputs; ++k) to->source[k] = static_cast<uint8_t>(k);
  to->chain.whole = to->whole.get();
  to->chain.whole_input = input;
  return true;
}

bool make_parts(const Chain& chain, const Parts& parts, TabledChain* to) {
  const Cut cut(chain, parts);
  size_t inputs = cut.tables;
  for (size_t k = 0; k < chain.inputs; ++k) inputs += cut.read[k] ? 1 : 0;
  if (cut.tables == 0 || inputs > elementwise::kMaxInputs) return false;
  to->tables.reset(new (std::nothrow) NumberTable[cut.tables]);
  if (to->tables == nullptr) return false;
  Shortened(chain, parts, cut, to);
  return true;
}

}  // namespace

std::unique_ptr<TabledChain> make_tables(const Chain& chain) {
  bool bytes = false;
  for (size_t k = 0; k < chain.inputs; ++k) bytes = bytes || is_byte(chain.input[k]->dtype());
  if (!bytes) return nullptr;
  std::unique_ptr<TabledChain> made(new (std::nothrow) TabledChain);
  if (made == nullptr) return nullptr;
  const Parts parts(chain);
  size_t input = 0;
  if (parts.is_table(chain.steps - 1, &input)) {
    const bool to_bytes = is_byte(elementwise::result_type(chain.step[chain.steps - 1].op));
    if (!to_bytes || !make_whole(chain, parts, input, made.get())) return nullptr;
  } else if (!make_parts(chain, parts, made.get())) {
    return nullptr;
  }
  made->inputs = chain.inputs;
  for (size_t k = 0; k < chain.inputs; ++k) {
    made->type[k] = chain.input[k]->dtype();
    made->chain.input[k] = nullptr;
  }
  return made;
}

}  // namespace berth::cpu
