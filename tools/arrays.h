// Arrays of tensors, numbers of arrays: between what runs and what is printed, written to files and compared.
#pragma once

#include <vector>

#include "base/failure.h"
#include "compiler/eval/array.h"
#include "runtime/device_allocator.h"
#include "runtime/value.h"
#include "tools/npy.h"

namespace berth::tool {

/// The elements of `tensor`, copied from its device, in row-major order. `place` is that of failures.
Expected<Array> array_of(const Tensor& tensor, const DeviceAllocatorRegistry& registry, const std::string& place);
/// Of a number or a bool. REQUIRES: value.is_scalar().
Array array_of_scalar(const EValue& value);
Array array_of(const eval::Array& array);

/// The inverse: as an evaluated value whose dimensions lie in memory as `dim_order` says.
eval::Array evaluated(const Array& array, const std::vector<uint8_t>& dim_order);

/// Element `i` as a number; 0 of types that are not numbers. REQUIRES: i < the number of elements.
double number_at(const Array& array, size_t i);
/// All elements as numbers; of complex ones the real and the imaginary part in turns.
std::vector<double> numbers_of(const Array& array);

/// "f32[1,10]".
std::string type_text(DType dtype, const std::vector<int64_t>& shape);

}  // namespace berth::tool
