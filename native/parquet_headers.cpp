#include "parquet_headers.hpp"

#include <algorithm>
#include <array>

namespace viewpass {
namespace {

// ---- Thrift's compact protocol

enum class Kind : uint8_t { none, yes, no, byte, i16, i32, i64, real, text, list, set, map, record };

constexpr unsigned kMaxDepth = 8;

/// Fields of a struct by their numbers: the number as it is encoded, the size of a text, of others the kind
/// only.
struct Fields {
  std::array<Kind, 32> kinds{};
  std::array<uint64_t, 32> numbers{};
  unsigned last = 0;

  bool has(unsigned field) const { return kinds[field] != Kind::none; }
  uint64_t count(unsigned field, Kind kind) const {
    const uint64_t zigzag = numbers[field];
    if (kinds[field] != kind) throw Refused("a field is missing or of another type");
    if ((zigzag & 1U) != 0) throw Refused("a count or size is negative");
    return zigzag >> 1;
  }
  size_t size(unsigned field) const { return size_t(count(field, Kind::i32)); }
};

void skip(ByteReader& in, Kind kind, unsigned depth);

/// Reads a struct. `visit` is called for fields that are neither numbers nor texts, and says whether it read
/// them.
template <class Visit>
Fields read_struct(ByteReader& in, unsigned depth, Visit visit) {
  if (depth > kMaxDepth) throw Refused("structs are nested too deeply");
  Fields fields;
  while (const unsigned head = in.byte()) {
    const auto kind = Kind(head & 15U);
    fields.last += head >> 4;
    if (head < 16 || fields.last >= fields.kinds.size()) throw Refused("a field number is unusual");
    fields.kinds[fields.last] = kind;
    if (kind == Kind::i32 || kind == Kind::i64) {
      fields.numbers[fields.last] = in.varint(kind == Kind::i32 ? 32 : 64);
    } else if (kind == Kind::text) {
      fields.numbers[fields.last] = in.varint(31);
      in.take(size_t(fields.numbers[fields.last]));
    } else if (kind != Kind::yes && kind != Kind::no && !visit(fields.last, kind)) {
      skip(in, kind, depth);
    }
  }
  return fields;
}

Fields read_struct(ByteReader& in, unsigned depth) {
  return read_struct(in, depth, [](unsigned, Kind) { return false; });
}

/// Calls `read` with the position of each element of a list. Elements must be of the kind that the format
/// says: other readers ignore the kind that the list states.
template <class Read>
void each_element(ByteReader& in, Kind kind, Read read) {
  const unsigned head = in.byte();
  const uint64_t length = head < 0xF0 ? head >> 4 : in.varint(31);
  if (Kind(head & 15U) != kind) throw Refused("a list of another kind");
  for (uint64_t i = 0; i < length; ++i) read(i);
}

void skip(ByteReader& in, Kind kind, unsigned depth) {
  if (kind == Kind::record) {
    read_struct(in, depth + 1);
  } else if (kind >= Kind::i16 && kind <= Kind::i64) {
    in.varint(64);
  } else if (kind == Kind::text) {
    in.take(size_t(in.varint(31)));
  } else if (kind == Kind::real || kind == Kind::byte) {
    in.take(kind == Kind::real ? 8 : 1);
  } else {
    throw Refused("a field is of an unusual type");
  }
}

// ---- what the structs mean

enum Encoding : uint8_t { plain = 0, plain_dictionary = 2, rle = 3, rle_dictionary = 8 };

bool uses_dictionary(size_t encoding) {
  if (encoding != plain && encoding != plain_dictionary && encoding != rle_dictionary) {
    throw Refused("values are encoded otherwise");
  }
  return encoding != plain;
}

struct ChunkFields {
  Fields chunk, about, statistics;
  std::array<uint64_t, 32> n_levels{};  // of the histograms in fields 2 and 3; 1: whether texts are counted
};

ChunkFields read_chunk(ByteReader& in) {
  ChunkFields found;
  const auto read_histogram = [&](unsigned field, Kind kind) {
    if (kind != Kind::list) throw Refused("a histogram that is not a list");
    each_element(in, Kind::i64, [&](uint64_t) { skip(in, Kind::i64, 4), ++found.n_levels[field]; });
    return true;
  };
  const auto read_about = [&](unsigned field, Kind kind) {
    const Kind element = field == 2 ? Kind::i32 : field == 3 ? Kind::text : Kind::record;
    const bool is_sizes = field == 16 && kind == Kind::record;
    if (is_sizes) found.n_levels[1] = read_struct(in, 4, read_histogram).has(1) ? 1 : 0;
    const bool is_statistics = field == 12 && kind == Kind::record;
    if (is_statistics) found.statistics = read_struct(in, 4);
    if (kind == Kind::list) each_element(in, element, [&](uint64_t) { skip(in, element, 4); });
    return is_sizes || is_statistics || kind == Kind::list;
  };
  found.chunk = read_struct(in, 2, [&](unsigned field, Kind kind) {
    const bool is_about = field == 3 && kind == Kind::record;
    if (is_about) found.about = read_struct(in, 3, read_about);
    return is_about;
  });
  return found;
}

ColumnChunk read_row_group(ByteReader& in, size_t column, Number number, unsigned value_level) {
  ChunkFields found;
  const Fields fields = read_struct(in, 1, [&](unsigned field, Kind kind) {
    if (kind != Kind::list) return false;
    each_element(in, Kind::record, [&](uint64_t i) {
      if (field != 1) return skip(in, Kind::record, 1);
      const ChunkFields chunk = read_chunk(in);
      if (i == column) found = chunk;
    });
    return true;
  });
  const auto& [chunk, about, statistics, n_levels] = found;
  for (const unsigned limit : {1U, 2U, 5U, 6U}) {  // the least and the largest value, under old and new names
    const bool is_sized = statistics.numbers[limit] == (number == Number::float32 ? 4 : 8);
    const bool is_value = statistics.kinds[limit] == Kind::text && is_sized;
    if (statistics.last > 9 || (statistics.has(limit) && !is_value)) throw Refused("unusual statistics");
  }
  const auto fits = [](uint64_t n, uint64_t wanted) { return n == 0 || n == wanted; };
  if (n_levels[1] > 0 || !fits(n_levels[2], 2) || !fits(n_levels[3], value_level + 1))
    throw Refused("levels of another column");
  if (chunk.has(1) || chunk.has(8) || chunk.has(9)) throw Refused("a column in another file, or encrypted");
  if (about.size(1) != size_t(number)) throw Refused("numbers of another type");
  const size_t codec = about.size(4);
  if (codec != 0 && codec != 1 && codec != 6) throw Refused("the codec cannot prove the size of a page");
  const uint64_t data = about.count(9, Kind::i64);
  const uint64_t dictionary = about.has(11) ? about.count(11, Kind::i64) : 0;
  const uint64_t first = dictionary > 0 ? std::min(data, dictionary) : data;
  return {fields.count(3, Kind::i64), about.count(5, Kind::i64), first, about.count(7, Kind::i64),
          Codec(codec)};
}

}  // namespace

PageHeader read_page_header(Bytes bytes) {
  ByteReader in(bytes);
  Fields about;
  const Fields fields = read_struct(in, 0, [&](unsigned, Kind kind) {
    if (kind == Kind::record) about = read_struct(in, 1);
    return kind == Kind::record;
  });
  PageHeader header{};
  header.packed_size = fields.size(3);
  header.full_size = fields.size(2);
  header.n_entries = about.size(1);
  header.is_packed = true;
  const size_t kind = fields.size(1);
  header.kind = PageKind(kind);
  unsigned description = 5, last = 5;
  if (header.kind == PageKind::data) {
    header.uses_dictionary = uses_dictionary(about.size(2));
    if (about.size(3) != rle || about.size(4) != rle) throw Refused("levels are encoded otherwise");
  } else if (header.kind == PageKind::dictionary) {
    description = 7, last = 3;
    if (about.size(2) != plain && about.size(2) != plain_dictionary) throw Refused("an encoded dictionary");
  } else {
    description = last = 8;
    header.uses_dictionary = uses_dictionary(about.size(4));
    header.definition_size = about.size(5);
    header.repetition_size = about.size(6);
    header.is_packed = about.kinds[7] != Kind::no;
    if (header.kind != PageKind::data_v2 || about.size(2) + about.size(3) > 2 * header.n_entries) {
      throw Refused("a page of another kind, or with more rows or nulls than entries");
    }
  }
  const bool has_two = fields.has(5) + fields.has(6) + fields.has(7) + fields.has(8) > 1;
  const bool is_described = fields.kinds[description] == Kind::record;
  if (kind > 3 || !is_described || has_two || fields.last > 8 || about.last > last) {
    throw Refused("a page header with missing or unknown fields");
  }
  const size_t levels_size = header.repetition_size + header.definition_size;
  if (levels_size > std::min(header.packed_size, header.full_size))
    throw Refused("levels larger than the page");
  header.length = bytes.size() - in.left();
  return header;
}

std::vector<ColumnChunk> read_column_chunks(Bytes footer, uint64_t footer_start, size_t column, Number number,
                                            unsigned value_level) {
  ByteReader in(footer);
  std::vector<ColumnChunk> chunks;
  const Fields fields = read_struct(in, 0, [&](unsigned field, Kind kind) {
    if (kind != Kind::list) return false;
    each_element(in, Kind::record, [&](uint64_t) {
      if (field != 4) return skip(in, Kind::record, 0);
      chunks.push_back(read_row_group(in, column, number, value_level));
    });
    return true;
  });
  if (fields.has(8) || in.left() > 0)
    throw Refused("an encrypted file, or one whose footer is longer than it needs");
  for (const ColumnChunk& chunk : chunks) {
    if (chunk.first > footer_start || chunk.length > footer_start - chunk.first)
      throw Refused("a column past the end");
    if (chunk.n_entries < chunk.n_rows || (chunk.n_rows == 0 && chunk.n_entries > 0))
      throw Refused("rows and entries do not fit");
  }
  return chunks;
}

uint64_t stated_size(Codec codec, Bytes packed) {
  ByteReader in(packed);
  if (codec == Codec::none) return packed.size();
  if (codec == Codec::snappy) return in.varint(32);
  constexpr uint64_t zstd_magic = 0xFD2FB528;
  const bool is_zstd = in.fixed(4) == zstd_magic;
  const unsigned descriptor = in.byte();
  const bool has_window = (descriptor & 0x20U) == 0;
  if (!is_zstd || (descriptor & 0x0BU) != 0) throw Refused("not a plain frame of zstd");
  if (has_window) in.byte();
  const unsigned form = descriptor >> 6;
  if (form == 0 && has_window) throw Refused("a frame of zstd that does not state its size");
  return form == 1 ? in.fixed(2) + 256 : in.fixed(form == 0 ? 1 : form == 2 ? 4 : 8);
}

}  // namespace viewpass
