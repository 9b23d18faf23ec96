// The FlatBuffer of a program file.
#pragma once

#include "format/schema.h"
#include "format/write/segment_layout.h"

namespace berth::format {

/// Builds the tables of `program` and finishes the buffer, identifier included, extended header not.
void build_tables(const ProgramDesc& program, const SegmentLayout& layout, flatbuffers::FlatBufferBuilder& builder);

/// About as many bytes as build_tables() needs, and never fewer than a quarter of it.
uint64_t estimate_table_bytes(const ProgramDesc& program);

}  // namespace berth::format
