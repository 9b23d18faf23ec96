#include "compiler/memory/bank_words.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"

namespace berth::memory {
namespace {

using Of = BankSpec::Of;

/// The value of the first spec that names a bank for these tensors: of the one alone before that of all.
const std::string* find_name(const ir::Delegate& delegate, Of of, int32_t index) {
  const std::string* of_all = nullptr;
  for (const ir::CompileSpec& spec : delegate.specs) {
    const BankSpec found = parse_bank_spec(spec.key.c_str());
    if (found.of != of) continue;
    if (found.index == index) return &spec.value;
    if (found.index < 0 && of_all == nullptr) of_all = &spec.value;
  }
  return of_all;
}

std::string text_of(Of of) {
  switch (of) {
    case Of::kInputs: return "an input";
    case Of::kOutputs: return "an output";
    case Of::kScratch: return "its scratch";
    case Of::kState: return "state";
    case Of::kNothing: break;
  }
  return "";
}

/// Nothing when the delegate says nothing that counts.
Expected<std::optional<BankWord>> find_word(const ir::Delegate& delegate, Of of, int32_t index, Device device,
                                            const MemoryOptions& options) {
  const std::string* name = find_name(delegate, of, index);
  const auto is_here = [&](const MemoryBank& bank) { return bank.device == device; };
  if (name == nullptr || std::none_of(options.banks.begin(), options.banks.end(), is_here)) {
    return std::optional<BankWord>();
  }
  BankWord word{"delegate " + ir::named('@', delegate.name), 0, true};
  std::string wanted = *name;
  if (!wanted.empty() && wanted.back() == '?') {
    wanted.pop_back();
    word.must = false;
  }
  for (size_t k = 0; k < options.banks.size(); ++k) {
    if (!is_here(options.banks[k]) || options.banks[k].name != wanted) continue;
    word.bank = static_cast<int32_t>(k);
    if (!options.banks[k].far) return std::optional<BankWord>(std::move(word));
    if (!word.must) return std::optional<BankWord>();
    return Failure{Error::kInvalidArgument, word.who,
                   "must have a tensor in bank " + wanted + ", which is far: its device cannot read it"};
  }
  if (!word.must) return std::optional<BankWord>();
  return Failure{Error::kNotFound, word.who,
                 text_of(of) + " must lie in bank " + ir::quoted(wanted) + ", and " + to_text(device).text +
                     " has no bank of this name; name it with --bank"};
}

class WordFinder {
 public:
  WordFinder(const ir::Module& module, const ir::Method& method, const MemoryModel& model, const MemoryOptions& options)
      : module_(module), method_(method), model_(model), options_(options) {}

  Expected<std::vector<BufferWord>> run() {
    BERTH_TRY(visit(method_.body));
    return std::move(words_);
  }

 private:
  Status visit(const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) {
      const ir::Node& node = method_.node(id);
      if (node.is(ir::OpId::delegate)) {
        BERTH_TRY(call(id, node));
      } else {
        for (const ir::Graph& region : node.regions) BERTH_TRY(visit(region));
      }
    }
    return Done{};
  }

  Status call(ir::NodeId id, const ir::Node& node) {
    const ir::Delegate& delegate = module_.delegates[node.delegate];
    int32_t index = 0;
    for (const ir::Argument& argument : node.args) {
      std::vector<ir::ValueId> values;
      ir::for_each_value(argument, [&](const ir::ValueId& value) { values.push_back(value); });
      for (const ir::ValueId value : values) BERTH_TRY(add(delegate, Of::kInputs, index++, buffer_of(value)));
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      BERTH_TRY(add(delegate, Of::kOutputs, static_cast<int32_t>(i), buffer_of(node.results[i])));
    }
    return add(delegate, Of::kScratch, -1, model_.buffers.scratch[id]);
  }

  BufferId buffer_of(ir::ValueId value) const {
    const ValueHome& home = model_.aliases.homes[value];
    return home.home == Home::kBuffer ? home.buffer : BufferId{};
  }

  Status add(const ir::Delegate& delegate, Of of, int32_t index, BufferId buffer) {
    if (!buffer.valid()) return Done{};
    const Arena& arena = model_.arenas[model_.buffers.all[buffer].space];
    if (arena.holds_state) return Done{};
    BERTH_ASSIGN_OR_RETURN(std::optional<BankWord> word, find_word(delegate, of, index, arena.device, options_));
    if (word.has_value()) words_.push_back({buffer, std::move(*word)});
    return Done{};
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryModel& model_;
  const MemoryOptions& options_;
  std::vector<BufferWord> words_;
};

}  // namespace

Expected<std::vector<BufferWord>> find_buffer_words(const ir::Module& module, const ir::Method& method,
                                                    const MemoryModel& model, const MemoryOptions& options) {
  return WordFinder(module, method, model, options).run();
}

Expected<std::vector<BankWord>> find_state_words(const ir::Module& module, Device device,
                                                 const MemoryOptions& options) {
  std::vector<BankWord> words;
  for (const ir::Delegate& delegate : module.delegates) {
    const auto own = ir::delegate_device(delegate);
    if (!own.ok() || *own != device) continue;
    BERTH_ASSIGN_OR_RETURN(std::optional<BankWord> word, find_word(delegate, Of::kState, -1, device, options));
    if (word.has_value()) words.push_back(std::move(*word));
  }
  return words;
}

}  // namespace berth::memory
