#include "compiler/memory/bank_arenas.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/memory/bank_words.h"
#include "compiler/memory/packing/bank_problem.h"

namespace berth::memory {
namespace {

int32_t add(const Arena& arena, std::vector<Arena>* arenas) {
  arenas->push_back(arena);
  return static_cast<int32_t>(arenas->size() - 1);
}

/// The arena of a bank, and how many bytes values may take there.
Arena arena_of(const MemoryBank& bank, const MemoryModel& model, const MemoryOptions& options) {
  Arena arena;
  arena.device = bank.device;
  arena.alignment = options.alignments.of(bank.device);
  if (!model.arenas.empty()) arena.behind = model.arenas.front().behind;
  arena.bank = bank.name;
  if (bank.capacity == packing::kUnlimited) return arena;
  arena.capacity = std::max<int64_t>(0, bank.capacity - arena.behind);
  arena.bank_bytes = bank.capacity;
  return arena;
}

void make_banks(const MemoryModel& model, const MemoryOptions& options, const std::vector<int32_t>& spaces,
                BankedDevice* device, BankArenas* out) {
  for (const int32_t k : device->ranked) {
    const Arena arena = arena_of(options.banks[k], model, options);
    device->room[k] = arena.capacity;
    device->space_of[k] = add(arena, &out->arenas);
    if (k != device->ranked.front()) continue;
    for (const int32_t space : spaces) {
      if (model.arenas[space].holds_state)
        device->state_space = out->moved[space] = add(model.arenas[space], &out->arenas);
    }
  }
  const auto rank = [&](int32_t k) { return options.banks[k].far ? 2 : options.banks[k].slow ? 1 : 0; };
  std::stable_sort(device->ranked.begin(), device->ranked.end(),
                   [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
}

/// The banks that may hold the state of the device, the best first.
Expected<std::vector<int32_t>> banks_for_state(const ir::Module& module, Device on, const BankedDevice& device,
                                               const MemoryOptions& options) {
  std::vector<int32_t> banks;
  for (const int32_t k : device.ranked) {
    if (!options.banks[k].far) banks.push_back(k);
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<BankWord> words, find_state_words(module, on, options));
  const BankWord* decided = nullptr;
  for (const BankWord& word : words) {
    if (!word.must) continue;
    if (decided != nullptr && decided->bank != word.bank) {
      return Failure{Error::kInvalidArgument, word.who,
                     "state must lie in bank " + options.banks[word.bank].name + ", and " + decided->who +
                         " must have it in bank " + options.banks[decided->bank].name};
    }
    decided = &word;
  }
  if (decided != nullptr) return std::vector<int32_t>{decided->bank};
  for (size_t i = words.size(); i-- > 0;) {
    const auto found = std::find(banks.begin(), banks.end(), words[i].bank);
    std::rotate(banks.begin(), found, found + 1);
  }
  return banks;
}

}  // namespace

int32_t BankedDevice::rank_of(int32_t bank) const {
  const auto found = std::find(ranked.begin(), ranked.end(), bank);
  return found == ranked.end() ? packing::kAnyBank : static_cast<int32_t>(found - ranked.begin());
}

BankArenas make_bank_arenas(const MemoryModel& model, const MemoryOptions& options) {
  BankArenas out;
  out.moved.assign(model.arenas.size(), -1);
  std::map<Device, std::vector<int32_t>, DeviceOrder> spaces_of;
  for (size_t s = 0; s < model.arenas.size(); ++s) {
    spaces_of[model.arenas[s].device].push_back(static_cast<int32_t>(s));
  }
  for (size_t k = 0; k < options.banks.size(); ++k) {
    spaces_of[options.banks[k].device];
    out.devices[options.banks[k].device].ranked.push_back(static_cast<int32_t>(k));
  }
  for (const auto& [device, spaces] : spaces_of) {
    const auto banked = out.devices.find(device);
    if (banked != out.devices.end()) {
      make_banks(model, options, spaces, &banked->second, &out);
      continue;
    }
    for (const int32_t space : spaces) out.moved[space] = add(model.arenas[space], &out.arenas);
  }
  return out;
}

Status place_state(const ir::Module& module, const MemoryModel& model, const MemoryOptions& options,
                   const std::vector<packing::SpaceUse>& spaces, BankArenas* out) {
  for (size_t s = 0; s < model.arenas.size(); ++s) {
    const Arena& old = model.arenas[s];
    const auto found_device = out->devices.find(old.device);
    if (!old.holds_state || found_device == out->devices.end()) continue;
    BankedDevice& device = found_device->second;
    const int64_t bytes = align_up(old.bytes(spaces[s].height), old.alignment);
    const auto holds = [&](int32_t k) { return device.room[k] >= bytes; };
    BERTH_ASSIGN_OR_RETURN(const std::vector<int32_t> banks, banks_for_state(module, old.device, device, options));
    const auto found = std::find_if(banks.begin(), banks.end(), holds);
    if (found == banks.end()) {
      const bool one = banks.size() == 1 && device.ranked.size() > 1;
      const std::string where = one ? "bank " + options.banks[banks.front()].name + ", the only one that it may lie in,"
                                    : std::string("any bank of ") + to_text(old.device).text;
      return Failure{Error::kOutOfResources, "state",
                     "takes " + std::to_string(bytes) + " bytes, more than " + where + " has"};
    }
    out->arenas[device.state_space].bank = options.banks[*found].name;
    if (device.room[*found] == packing::kUnlimited) continue;
    device.room[*found] -= bytes;
    out->arenas[device.space_of[*found]].capacity = device.room[*found];
  }
  return Done{};
}

}  // namespace berth::memory
