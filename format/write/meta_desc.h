// MetaDesc: the content of "berth.meta" as plain data (format/meta.fbs explains the fields).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/schema.h"
#include "format/write/program_desc.h"

namespace berth::format {

struct ValueNameDesc {
  int32_t value = 0;
  std::string name;
  std::string node;
};

struct SymbolDesc {
  std::string name;
  fb::SymbolKind kind = fb::SymbolKind::INPUT;
  int64_t min = 0;
  int64_t max = 0;
  /// Operands of computed symbols; symbol -1: the constant.
  fb::Operand a{0, -1};
  fb::Operand b{0, -1};
  int64_t step = 1;  // of inputs
};

struct SizeRelationDesc {
  fb::SizeRelationKind kind = fb::SizeRelationKind::EQUAL;
  fb::Operand a{0, -1};
  fb::Operand b{0, -1};
  std::string text;
  std::vector<int32_t> symbols;
};

struct ArenaPlanDesc {
  uint32_t memory_id = 1;
  uint32_t alignment = 16;
  uint64_t lower_bound = 0;
  fb::Proof proof = fb::Proof::OPEN;
  int32_t step = -1;
  std::string bank;
  uint64_t capacity = 0;
};

struct OwnOperatorDesc {
  int32_t index = 0;
  uint32_t in_place = 0;
};

struct StackDesc {
  uint32_t memory_id = 1;
  uint32_t alignment = 16;
  /// From the lowest.
  struct Block {
    std::vector<int32_t> values;
    std::vector<uint32_t> supports;
  };
  std::vector<Block> blocks;
};

struct MethodMetaDesc {
  std::string name;
  /// Sorted by value, each at most once.
  std::vector<ValueNameDesc> values;
  std::vector<SymbolDesc> symbols;
  std::vector<fb::SymbolicDimension> dimensions;
  std::vector<fb::Relation> relations;
  std::vector<ArenaPlanDesc> arenas;
  /// Empty, or a name for each output; "" stands for its value's name.
  std::vector<std::string> outputs;
  /// Sorted by index, each at most once.
  std::vector<OwnOperatorDesc> own_operators;
  std::vector<StackDesc> stacks;
  std::vector<SizeRelationDesc> size_relations;
};

struct MetaDesc {
  std::string producer;
  std::vector<MethodMetaDesc> methods;
};

/// The blob for ProgramDesc::named_data, key kMetaKey included.
NamedDataDesc meta_blob(const MetaDesc& meta);

}  // namespace berth::format
