// What describes the pages of a Parquet column: page headers, the footer, and the sizes that compressed
// bytes state themselves. Stricter than the format: whatever is unknown or unusual is refused. Every read is
// checked against the bytes that are left.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "span.hpp"

namespace viewpass {

using Bytes = Span<const uint8_t>;

/// The bytes are damaged, or of a form that is not read here. A ValueError in Python.
struct Refused : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Reads the bytes of a file in order.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(Bytes bytes) : rest_(bytes) {}

  size_t left() const { return rest_.size(); }
  Bytes rest() const { return rest_; }

  Bytes take(size_t length) {
    if (length > rest_.size()) throw Refused("the bytes end too early");
    const Bytes taken = rest_.part(0, length);
    rest_ = rest_.part(length, rest_.size() - length);
    return taken;
  }

  uint8_t byte() { return take(1)[0]; }

  /// A number of `length` bytes (at most 8), the lowest first.
  uint64_t fixed(size_t length) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (const uint8_t byte : take(length)) {
      value |= uint64_t{byte} << shift;
      shift += 8;
    }
    return value;
  }

  /// A number in groups of seven bits, the lowest first, that fits into `bits` (at most 64).
  uint64_t varint(unsigned bits) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
      const uint8_t here = byte();
      const uint64_t group = here & 0x7FU;
      if (bits - shift < 7 && group >> (bits - shift) != 0) break;
      value |= group << shift;
      if (here < 0x80) return value;
    }
    throw Refused("a number is larger than it may be");
  }

 private:
  Bytes rest_;
};

// Numbers as in the format's own definition.
enum class Number : uint8_t { float32 = 4, float64 = 5 };
enum class Codec : uint8_t { none = 0, snappy = 1, zstd = 6 };
enum class PageKind : uint8_t { data = 0, dictionary = 2, data_v2 = 3 };

struct PageHeader {
  PageKind kind;
  size_t length;                            // of the header itself, in bytes
  size_t packed_size, full_size;            // of the page, compressed and not
  size_t n_entries;                         // values, nulls and empty lists
  bool uses_dictionary;                     // values are given by their index in the dictionary
  bool is_packed;                           // values are compressed, if the column has a codec
  size_t repetition_size, definition_size;  // of the levels; 0 where the page states them itself
};

/// The header that the bytes begin with.
PageHeader read_page_header(Bytes bytes);

/// The part of a column that lies in one row group.
struct ColumnChunk {
  uint64_t n_rows, n_entries;
  uint64_t first, length;  // bytes of the file
  Codec codec;
};

/// A column's chunks, one per row group, by the footer that begins at byte `footer_start` of the file. Values
/// of the column have definition level `value_level`.
std::vector<ColumnChunk> read_column_chunks(Bytes footer, uint64_t footer_start, size_t column, Number number,
                                            unsigned value_level);

/// The full size that compressed bytes state. The libraries of both codecs fail where it is not true.
uint64_t stated_size(Codec codec, Bytes packed);

}  // namespace viewpass
