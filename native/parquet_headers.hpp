// What describes the pages of a Parquet column: page headers, the footer, and the sizes that compressed
// bytes state themselves. Stricter than the format: whatever is unknown or unusual is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "byte_reader.hpp"

namespace viewpass {

// Numbers as in the format's own definition.
enum class Number : std::uint8_t { float32 = 4, float64 = 5 };
enum class Codec : std::uint8_t { none = 0, snappy = 1, zstd = 6 };
enum class PageKind : std::uint8_t { data = 0, dictionary = 2, data_v2 = 3 };

struct PageHeader {
  PageKind kind;
  std::size_t length;                            // of the header itself, in bytes
  std::size_t packed_size, full_size;            // of the page, compressed and not
  std::size_t n_entries;                         // values, nulls and empty lists
  bool uses_dictionary;                          // values are given by their index in the dictionary
  bool is_packed;                                // values are compressed, if the column has a codec
  std::size_t repetition_size, definition_size;  // of the levels; 0 where the page states them itself
};

/// The header that the bytes begin with.
PageHeader read_page_header(Bytes bytes);

/// The part of a column that lies in one row group.
struct ColumnChunk {
  std::uint64_t n_rows, n_entries;
  std::uint64_t first, length;  // bytes of the file
  Codec codec;
};

/// A column's chunks, one per row group, by the footer that begins at byte `footer_start` of the file. Values
/// of the column have definition level `value_level`.
std::vector<ColumnChunk> read_column_chunks(Bytes footer, std::uint64_t footer_start, std::size_t column,
                                            Number number, unsigned value_level);

/// The full size that compressed bytes state. The libraries of both codecs fail where it is not true.
std::uint64_t stated_size(Codec codec, Bytes packed);

}  // namespace viewpass
