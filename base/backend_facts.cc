#include "base/backend_facts.h"

#include <cstring>

namespace berth {
namespace {

constexpr char kXnnpack[] = "xnnpack";
constexpr int64_t kXnnpackOverread = 64;
/// A cache line, and a register of AVX-512.
constexpr int64_t kVectorAlignment = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `word` is in lower case.
bool contains_in_any_case(const char* text, const char* word) {
  for (; *text != '\0'; ++text) {
    size_t i = 0;
    while (word[i] != '\0' && lower(text[i]) == word[i]) ++i;
    if (word[i] == '\0') return true;
  }
  return false;
}

}  // namespace

bool runs_nested_programs(const char* backend) {
  return std::strncmp(backend, kNestedPrefix, sizeof kNestedPrefix - 1) == 0;
}

int64_t delegate_alignment(const char* backend) {
  return std::strcmp(backend, "berth.cpu") == 0 ? kVectorAlignment : kDelegateAlignment;
}

int64_t bytes_behind_arenas(const char* backend) {
  return contains_in_any_case(backend, kXnnpack) ? kXnnpackOverread : 0;
}

}  // namespace berth
