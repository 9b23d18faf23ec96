// What tests of the C API share: a compiled model, a method, and errors that tests can read.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c/berth.h"

namespace berth::testing {

/// An error with its size, and its text.
struct CError : berth_error {
  CError() : berth_error{} { size = sizeof(berth_error); }
  operator berth_error*() { return this; }
  std::string text() const {
    return std::string(berth_code_name(code)) + ": " + (place[0] == '\0' ? "" : std::string(place) + ": ") + message;
  }
};

/// A structure of the API with its size, the rest zero.
template <typename T>
T sized() {
  T made = {};
  made.size = sizeof made;
  return made;
}

inline berth_source source_of(const std::vector<uint8_t>& bytes) {
  auto source = sized<berth_source>();
  source.bytes = {bytes.data(), bytes.size()};
  return source;
}

inline berth_source source_of(const std::string& path) {
  auto source = sized<berth_source>();
  source.path = path.c_str();
  return source;
}

inline berth_array floats(float* data, size_t count, const int32_t* sizes, int32_t rank) {
  auto array = sized<berth_array>();
  array.data = data;
  array.bytes = count * sizeof(float);
  array.dtype = BERTH_F32;
  array.rank = rank;
  array.sizes = sizes;
  return array;
}

/// y = relu(x * 2 - 1) over 4 elements, in the IR's text.
constexpr char kModel[] = R"(
  const @w: f32[4] = splat<2>
  const @b: f32[4] = splat<-1>
  method forward(%x: f32[4]) {
    %w: f32[4] = const @w
    %b: f32[4] = const @b
    %a: f32[4] = aten::mul.Tensor(%x, %w)
    %c: f32[4] = aten::add.Tensor(%a, %b)
    %y: f32[4] = aten::relu(%c)
    return %y
  })";

/// The program of a model in the IR's text.
inline std::vector<uint8_t> compiled(const std::string& text, const std::vector<berth_option>& options = {},
                                     const berth_machine* machine = nullptr) {
  CError error;
  auto model = sized<berth_source>();
  model.bytes = {text.data(), text.size()};
  auto how = sized<berth_compile_options>();
  how.machine = machine;
  how.options = options.data();
  how.num_options = options.size();
  berth_blob* blob = nullptr;
  EXPECT_EQ(berth_compile(&model, 1, &how, &blob, nullptr, error), BERTH_OK) << error.text();
  if (blob == nullptr) return {};
  const berth_bytes bytes = berth_blob_bytes(blob);
  const auto* const first = static_cast<const uint8_t*>(bytes.data);
  std::vector<uint8_t> copy(first, first + bytes.size);
  EXPECT_EQ(berth_blob_close(blob, error), BERTH_OK);
  return copy;
}

}  // namespace berth::testing
