#include "format/write/meta_desc.h"

#include "format/program_view.h"

namespace berth::format {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Names repeat, because a node has several outputs, so each string is stored once.
Offset<flatbuffers::String> shared_text(FlatBufferBuilder& builder, const std::string& text) {
  return text.empty() ? 0 : builder.CreateSharedString(text);
}

Offset<fb::Stack> build(FlatBufferBuilder& builder, const StackDesc& stack) {
  std::vector<int32_t> values;
  std::vector<uint32_t> value_ends;
  std::vector<uint32_t> supports;
  std::vector<uint32_t> support_ends;
  for (const StackDesc::Block& block : stack.blocks) {
    values.insert(values.end(), block.values.begin(), block.values.end());
    value_ends.push_back(static_cast<uint32_t>(values.size()));
    supports.insert(supports.end(), block.supports.begin(), block.supports.end());
    support_ends.push_back(static_cast<uint32_t>(supports.size()));
  }
  return fb::CreateStack(builder, stack.memory_id, stack.alignment, builder.CreateVector(values),
                         builder.CreateVector(value_ends), builder.CreateVector(supports),
                         builder.CreateVector(support_ends));
}

Offset<fb::MethodMeta> build(FlatBufferBuilder& builder, const MethodMetaDesc& method) {
  std::vector<Offset<fb::ValueName>> values;
  for (const ValueNameDesc& value : method.values) {
    const auto name = shared_text(builder, value.name);
    const auto node = shared_text(builder, value.node);
    values.push_back(fb::CreateValueName(builder, value.value, name, node));
  }
  std::vector<Offset<fb::Symbol>> symbols;
  for (const SymbolDesc& symbol : method.symbols) {
    const bool computed = symbol.kind != fb::SymbolKind::INPUT;
    const auto name = shared_text(builder, symbol.name);
    symbols.push_back(fb::CreateSymbol(builder, name, symbol.kind, symbol.min, symbol.max,
                                       computed ? &symbol.a : nullptr, computed ? &symbol.b : nullptr,
                                       symbol.step == 1 ? 0 : symbol.step));
  }
  std::vector<Offset<fb::ArenaPlan>> arenas;
  for (const ArenaPlanDesc& arena : method.arenas) {
    arenas.push_back(fb::CreateArenaPlan(builder, arena.memory_id, arena.alignment, arena.lower_bound, arena.proof,
                                         arena.step, shared_text(builder, arena.bank), arena.capacity));
  }
  const auto name = builder.CreateString(method.name);
  const auto value_list = builder.CreateVector(values);
  const auto symbol_list = builder.CreateVector(symbols);
  const auto dimensions = builder.CreateVectorOfStructs(method.dimensions);
  const auto relations = builder.CreateVectorOfStructs(method.relations);
  const auto arena_list = builder.CreateVector(arenas);
  std::vector<Offset<fb::OwnOperator>> own;
  for (const OwnOperatorDesc& op : method.own_operators) {
    own.push_back(fb::CreateOwnOperator(builder, op.index, op.in_place));
  }
  const auto own_list = own.empty() ? 0 : builder.CreateVector(own);
  std::vector<Offset<fb::Stack>> stacks;
  for (const StackDesc& stack : method.stacks) stacks.push_back(build(builder, stack));
  const auto stack_list = stacks.empty() ? 0 : builder.CreateVector(stacks);
  std::vector<Offset<fb::SizeRelation>> sizes;
  for (const SizeRelationDesc& relation : method.size_relations) {
    const auto text = builder.CreateString(relation.text);
    const bool named = relation.kind == fb::SizeRelationKind::NAMED;
    sizes.push_back(fb::CreateSizeRelation(builder, relation.kind, &relation.a, named ? nullptr : &relation.b, text,
                                           builder.CreateVector(relation.symbols)));
  }
  const auto size_list = sizes.empty() ? 0 : builder.CreateVector(sizes);
  const auto outputs = method.outputs.empty() ? 0 : builder.CreateVectorOfStrings(method.outputs);
  return fb::CreateMethodMeta(builder, name, value_list, symbol_list, dimensions, relations, arena_list, outputs,
                              own_list, stack_list, size_list);
}

}  // namespace

NamedDataDesc meta_blob(const MetaDesc& meta) {
  FlatBufferBuilder builder;
  std::vector<Offset<fb::MethodMeta>> methods;
  for (const MethodMetaDesc& method : meta.methods) methods.push_back(build(builder, method));
  const auto producer = builder.CreateString(meta.producer);
  const auto method_list = builder.CreateVector(methods);
  fb::FinishMetaBuffer(builder, fb::CreateMeta(builder, kMetaVersion, producer, method_list));
  const uint8_t* start = builder.GetBufferPointer();
  return {kMetaKey, Bytes::of(std::vector<uint8_t>(start, start + builder.GetSize())), 16};
}

}  // namespace berth::format
