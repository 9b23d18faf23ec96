#include "base/delegate_specs.h"

#include <cstring>

namespace berth {
namespace {

// The decimal number from 0 to `most` that the text is; -1 for any other text.
int64_t parse(const void* value, size_t size, int64_t most) {
  const char* text = static_cast<const char*>(value);
  if (size == 0 || size > 18) return -1;
  int64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number <= most ? number : -1;
}

constexpr int64_t kMostTensors = 1'000'000;

// Of kInputs and kOutputs: whether `key` is `spec`, or `spec` with a number behind it.
bool read_index(const char* key, const char* spec, int32_t* index) {
  const size_t length = std::strlen(spec);
  if (std::strncmp(key, spec, length) != 0) return false;
  *index = -1;
  if (key[length] == '\0') return true;
  if (key[length] != '.') return false;
  const char* number = key + length + 1;
  *index = static_cast<int32_t>(parse(number, std::strlen(number), kMostTensors));
  return *index >= 0;
}

}  // namespace

BankSpec parse_bank_spec(const char* key) {
  BankSpec spec;
  if (read_index(key, kInputBankSpec, &spec.index)) {
    spec.of = BankSpec::Of::kInputs;
  } else if (read_index(key, kOutputBankSpec, &spec.index)) {
    spec.of = BankSpec::Of::kOutputs;
  } else if (std::strcmp(key, kScratchBankSpec) == 0) {
    spec = {BankSpec::Of::kScratch, -1};
  } else if (std::strcmp(key, kStateBankSpec) == 0) {
    spec = {BankSpec::Of::kState, -1};
  }
  return spec;
}

void DelegateSpecs::read(const char* key, const void* value, size_t size) {
  if (std::strcmp(key, kAlignmentSpec) == 0) {
    const int64_t number = parse(value, size, kMostDelegateAlignment);
    alignment = number > 0 && (number & (number - 1)) == 0 ? number : 0;
  } else if (std::strcmp(key, kPaddingSpec) == 0) {
    const int64_t number = parse(value, size, kMostDelegatePadding);
    padding = number > 0 ? number : 0;
  } else if (std::strcmp(key, kScratchSpec) == 0) {
    const int64_t number = parse(value, size, INT32_MAX);
    scratch = number > 0 ? number : 0;
  } else if (std::strcmp(key, kPureSpec) == 0) {
    pure = parse(value, size, 1) == 1;
  } else if (std::strcmp(key, kStateSpec) == 0) {
    read_state(value, size);
  } else if (std::strcmp(key, kStateInitSpec) == 0) {
    read_state_init(value, size);
  }
}

void DelegateSpecs::read_state(const void* value, size_t size) {
  const int64_t number = parse(value, size, INT32_MAX);
  if (state != 0) {
    note("berth.state stands twice");
  } else if (number <= 0) {
    note("berth.state is not a number of bytes from 1 to 2147483647");
  } else {
    state = number;
  }
}

void DelegateSpecs::read_state_init(const void* value, size_t size) {
  if (state_init != nullptr) note("berth.state_init stands twice");
  if (size == 0) note("berth.state_init is empty");
  state_init = size == 0 ? "" : static_cast<const char*>(value);
  state_init_size = size;
}

void DelegateSpecs::note(const char* problem) {
  if (problem_ == nullptr) problem_ = problem;
}

const char* DelegateSpecs::problem() const {
  if (problem_ != nullptr) return problem_;
  return state_init != nullptr && state == 0 ? "berth.state_init stands without berth.state" : nullptr;
}

}  // namespace berth
