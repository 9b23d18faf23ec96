// A model's inputs as the tensors that a program takes: a sequence is its elements, x[0], x[1] and so on, as many as
// --input-shape names (x[0]=scalar is one without dimensions); an optional value is what it holds, or with
// --input-shape x=none nothing.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "compiler/import/onnx/input_shapes.h"
#include "compiler/import/onnx/model.h"

namespace berth::onnx {

/// One input of the model: `tensors[first, first + count)` of what it belongs to.
struct InputParts {
  const ValueInfo* input = nullptr;
  size_t first = 0;
  size_t count = 0;
  bool is_nothing = false;
};

struct CallerInputs {
  std::vector<const ValueInfo*> tensors;
  std::vector<InputParts> parts;
  ImportOptions options;  // the caller's, with shapes for the tensors alone

  // What the tensors point to that are elements of an input. A deque would allocate when it is moved.
  std::list<std::string> names;
  std::list<ValueInfo> elements;
};

/// Borrows `inputs`. Fails with the input as place where it does not say how many elements a sequence has.
Expected<CallerInputs> caller_inputs(const std::vector<const ValueInfo*>& inputs, const ImportOptions& options);

}  // namespace berth::onnx
