#include "compiler/memory/banks.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"

namespace berth::memory {
namespace {

bool is_name(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

int64_t parse_bytes(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'K' || unit == 'k' ? 10 : unit == 'M' || unit == 'm' ? 20 : unit == 'G' || unit == 'g' ? 30 : 0;
    if (shift > 0) text.remove_suffix(1);
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number > 0 && number <= packing::kMaxBytes >> shift ? number << shift : -1;
}

Expected<MemoryBank> parse_bank(std::string_view text) {
  const std::string what = "bank " + ir::quoted(text);
  const auto refused = [&](const std::string& why) { return Failure{Error::kInvalidArgument, what, why}; };
  MemoryBank bank;
  std::string_view rest = text;
  const size_t comma = rest.find(',');
  if (comma != std::string_view::npos) {
    bank.slow = rest.substr(comma) == ",slow";
    bank.far = rest.substr(comma) == ",far";
    if (!bank.slow && !bank.far) return refused("expected NAME[=BYTES][@DEVICE][,slow|,far], such as psram=8M,slow");
    rest = rest.substr(0, comma);
  }
  const size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    BERTH_ASSIGN_OR_RETURN(bank.device, ir::parse_device(rest.substr(at + 1), what));
    rest = rest.substr(0, at);
  }
  const size_t equals = rest.find('=');
  if (equals != std::string_view::npos) {
    bank.capacity = parse_bytes(rest.substr(equals + 1));
    if (bank.capacity < 0) {
      return refused("its size " + ir::quoted(rest.substr(equals + 1)) +
                     " is not a number of bytes from 1 to 2^60, with K, M or G behind it where you like");
    }
    rest = rest.substr(0, equals);
  }
  if (!is_name(rest)) {
    return refused("its name " + ir::quoted(rest) + " is not of letters, digits, '_', '-' and '.'");
  }
  bank.name = rest;
  return bank;
}

Expected<BankPin> parse_bank_pin(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return Failure{Error::kInvalidArgument, "pin " + ir::quoted(text), "expected GLOB=BANK, such as conv*=sram"};
  }
  return BankPin{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), ""};
}

Expected<std::function<int32_t(const ir::Method& method, ir::ValueId value)>> bank_of_pins(
    std::vector<BankPin> pins, const std::vector<MemoryBank>& banks) {
  std::function<int32_t(const ir::Method&, ir::ValueId)> bank_of;
  if (pins.empty()) return bank_of;
  std::vector<int32_t> numbers;
  for (const BankPin& pin : pins) {
    const auto named = [&](const MemoryBank& bank) { return bank.name == pin.bank; };
    const auto found = std::find_if(banks.begin(), banks.end(), named);
    if (found == banks.end()) {
      return Failure{Error::kNotFound, "pin " + ir::quoted(pin.glob + "=" + pin.bank),
                     "there is no bank of this name; name it with --bank"};
    }
    numbers.push_back(static_cast<int32_t>(found - banks.begin()));
  }
  bank_of = [pins = std::move(pins), numbers](const ir::Method& method, ir::ValueId value) {
    for (size_t i = pins.size(); i-- > 0;) {
      if (fnmatch(pins[i].glob.c_str(), method.value(value).name.c_str(), 0) == 0) return numbers[i];
    }
    return -1;
  };
  return bank_of;
}

Status check_pins(const std::vector<BankPin>& pins, const ir::Module& module) {
  for (const BankPin& pin : pins) {
    bool any = false;
    for (const ir::Method& method : module.methods) {
      if (!pin.method.empty() && pin.method != method.name) continue;
      for (const ir::Value& value : method.values) {
        any = any || (value.tensor() != nullptr && fnmatch(pin.glob.c_str(), value.name.c_str(), 0) == 0);
      }
    }
    if (!any) {
      const std::string of = pin.method.empty() ? "" : pin.method + ":";
      return Failure{Error::kNotFound, "pin " + ir::quoted(of + pin.glob + "=" + pin.bank), "no value has such a name"};
    }
  }
  return Done{};
}

}  // namespace berth::memory
