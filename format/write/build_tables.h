// The FlatBuffer of a program file.
#pragma once

#include "format/schema.h"
#include "format/write/segment_layout.h"

namespace berth::format {

/// Builds the tables of `program` and finishes the buffer, with the identifier but without the extended header.
void build_tables(const ProgramDesc& program, const SegmentLayout& layout, flatbuffers::FlatBufferBuilder& builder);

/// An estimate of the bytes that build_tables() needs; at least a quarter of them.
uint64_t estimate_table_bytes(const ProgramDesc& program);

}  // namespace berth::format
