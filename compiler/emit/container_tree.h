// How a method's inputs and outputs nest, in the words of PyTorch's pytree, for ExecuTorch's Python bindings.
#pragma once

#include <string>

namespace berth::emit {

/// JSON text of a call with `count` positional arguments and no named ones.
std::string input_tree(size_t count);

/// JSON text of a result: the value itself when there is one, a tuple otherwise.
std::string output_tree(size_t count);

}  // namespace berth::emit
