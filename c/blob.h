// The handle of bytes or a text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "c/handles.h"

struct berth_blob : berth::c::Handle {
  explicit berth_blob(std::vector<uint8_t> made) : Handle(Kind::kBlob), bytes(std::move(made)), size(bytes.size()) {}
  // A zero stands behind a text.
  explicit berth_blob(const std::string& text)
      : Handle(Kind::kBlob), bytes(text.c_str(), text.c_str() + text.size() + 1), size(text.size()) {}

  const std::vector<uint8_t> bytes;
  const size_t size;
};
