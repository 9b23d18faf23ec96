#include "tools/npy.h"

#include <cctype>
#include <cstring>
#include <string_view>

#include "base/mapped_file.h"
#include "base/math.h"
#include "base/output_file.h"

namespace berth::tool {
namespace {

constexpr size_t kMaxHeader = 64 * 1024;
constexpr size_t kMaxRank = 64;

struct Descr {
  const char* text;
  DType dtype;
};
// Writing uses the first row of a dtype, reading the first of a text. What NumPy calls V or f1 are types of ml_dtypes,
// which do not say which they are: their bits.
constexpr Descr kDescrs[] = {
    {"|b1", DType::kBool},      {"|u1", DType::kU8},          {"|i1", DType::kI8},   {"<i2", DType::kI16},
    {"<i4", DType::kI32},       {"<i8", DType::kI64},         {"<f2", DType::kF16},  {"<f4", DType::kF32},
    {"<f8", DType::kF64},       {"<u2", DType::kU16},         {"<u4", DType::kU32},  {"<u8", DType::kU64},
    {"<c8", DType::kComplex64}, {"<c16", DType::kComplex128}, {"<u2", DType::kBF16}, {"<u4", DType::kComplex32},
    {"|i1", DType::kI2},        {"|i1", DType::kI4},          {"|V1", DType::kU8},   {"<V1", DType::kU8},
    {"<f1", DType::kU8},        {"|V2", DType::kU16},         {"<V2", DType::kU16},
};

// The value of 'key' in the header's Python dictionary, up to the comma or brace that ends it.
std::string_view field(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  size_t begin = header.find(':', at);
  if (begin == std::string_view::npos) return {};
  ++begin;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  const char* const ends = begin < header.size() && header[begin] == '(' ? ")" : ",}";
  size_t end = header.find_first_of(ends, begin);
  if (end == std::string_view::npos) return {};
  return header.substr(begin, end - begin);
}

bool parse_shape(std::string_view text, std::vector<int64_t>* shape) {
  if (text.empty() || text.front() != '(') return false;
  int64_t number = -1;
  for (char c : text.substr(1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number = (number < 0 ? 0 : number) * 10 + (c - '0');
      if (number > (int64_t{1} << 48)) return false;
    } else if (c == ',') {
      if (number < 0 || shape->size() == kMaxRank) return false;
      shape->push_back(number);
      number = -1;
    } else if (c != ' ') {
      return false;
    }
  }
  if (number >= 0) shape->push_back(number);
  return true;
}

std::string header_of(const Array& array) {
  const char* descr = nullptr;
  for (const Descr& d : kDescrs) {
    if (descr == nullptr && d.dtype == array.dtype) descr = d.text;
  }
  if (descr == nullptr) descr = "|u1";  // one-byte types that NumPy does not have
  std::string shape;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    shape += std::to_string(array.shape[i]);
    if (array.shape.size() == 1 || i + 1 < array.shape.size()) shape += ',';
    if (i + 1 < array.shape.size()) shape += ' ';
  }
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  return header + '\n';
}

}  // namespace

Expected<Array> read_npy(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  return parse_npy(file->bytes(), path);
}

Expected<Array> parse_npy(Span<const uint8_t> file, const std::string& place) {
  const auto failure = [&](const char* message) { return Failure{Error::kInvalidExternalData, place, message}; };
  if (file.size() >= 4 && std::memcmp(file.data(), "PK\3\4", 4) == 0) {
    return failure("is an archive (.npz); unzip it and use the .npy files in it");
  }
  if (file.size() < 12 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0) return failure("is not a .npy file");
  const int version = file[6];
  if (version < 1 || version > 3) return failure("has a .npy version other than 1, 2 and 3");
  const size_t start = version == 1 ? 10 : 12;
  size_t length = file[8] | static_cast<size_t>(file[9]) << 8;
  if (version > 1) length |= static_cast<size_t>(file[10]) << 16 | static_cast<size_t>(file[11]) << 24;
  if (length > kMaxHeader) return failure("has a header of more than 64 KiB");
  if (length > file.size() - start) return failure("ends within its header");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + start, length);

  Array array;
  const std::string_view descr = field(header, "descr");
  bool known = false;
  for (const Descr& d : kDescrs) {
    if (!known && descr.size() >= 2 && descr.substr(1, descr.size() - 2) == d.text) {
      array.dtype = d.dtype;
      known = true;
    }
  }
  if (!known) return failure("has an element type that is not a little-endian number or bool; save it with .astype()");
  if (field(header, "fortran_order") != "False") {
    return failure("is in column-major order; save numpy.ascontiguousarray(x) instead");
  }
  if (!parse_shape(field(header, "shape"), &array.shape)) return failure("has an invalid shape");
  size_t bytes = element_size(array.dtype);
  for (int64_t dim : array.shape) {
    if (!checked_mul(bytes, static_cast<size_t>(dim), &bytes)) return failure("has a shape that overflows");
  }
  const size_t data = start + length;
  if (file.size() - data != bytes) return failure("does not have as many bytes as its shape needs");
  array.bytes.assign(file.begin() + data, file.end());
  return array;
}

Status write_npy(const std::string& path, const Array& array) {
  const std::string header = header_of(array);
  return write_whole_file(path, [&](OutputFile& out) -> Status {
    const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const uint8_t length[] = {static_cast<uint8_t>(header.size() & 0xff), static_cast<uint8_t>(header.size() >> 8)};
    BERTH_TRY(out.write(magic, sizeof magic));
    BERTH_TRY(out.write(length, sizeof length));
    BERTH_TRY(out.write(header.data(), header.size()));
    return out.write(array.bytes.data(), array.bytes.size());
  });
}

}  // namespace berth::tool
