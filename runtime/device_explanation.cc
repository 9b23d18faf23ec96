#include "runtime/device_explanation.h"

#include <cstdio>

namespace berth {
namespace {

thread_local char sentence_of_error[192] = "";
thread_local bool is_told = true;

}  // namespace

void explain_error(const char* sentence) {
  std::snprintf(sentence_of_error, sizeof sentence_of_error, "%s", sentence);
  is_told = false;
}

const char* take_explanation() {
  const bool told = is_told;
  is_told = true;
  return told ? nullptr : sentence_of_error;
}

}  // namespace berth
