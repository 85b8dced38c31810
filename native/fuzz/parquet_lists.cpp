// A libFuzzer target: the pages of a column, as the Parquet list reader takes them.
//
// An input is six bytes of claims (see Claims), then page headers and uncompressed pages, one after another.
// Rows that the reader hands out are compared with those of a plain decoder that looks at one entry at a
// time.
#include "parquet_lists.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace viewpass {
namespace {

struct Claims {
  explicit Claims(ByteReader& in) : flags(in.byte()) {
    width = in.byte();
    n_rows = in.byte();
    n_entries = static_cast<std::size_t>(in.fixed(2));
    batch = std::max<std::size_t>(1, in.byte());
  }
  bool is_double() const { return (flags & 1U) != 0; }
  ListLevels levels() const { return {flags >> 2 & 3U, (flags & 2U) != 0}; }

  unsigned flags;
  std::size_t width, n_rows, n_entries, batch;  // width 0: that of the first list
};

/// Numbers in runs, decoded one by one; fewer than `most` where they end.
std::vector<std::uint64_t> decoded(ByteReader in, unsigned bits, std::size_t most) {
  std::vector<std::uint64_t> numbers;
  try {
    while (numbers.size() < most) {
      const std::uint64_t head = in.varint(32);
      if ((head & 1U) == 0) {
        const std::uint64_t value = in.fixed((bits + 7) / 8);
        for (std::uint64_t i = 0; i < head >> 1 && numbers.size() < most; ++i) numbers.push_back(value);
        continue;
      }
      for (std::uint64_t group = 0; group < head >> 1 && numbers.size() < most; ++group) {
        const Bytes packed = in.take(bits);
        for (std::size_t i = 0; i < 8; ++i) {
          std::uint64_t number = 0;
          for (std::size_t b = 0; b < bits; ++b) {
            const std::size_t bit = i * bits + b;
            number |= static_cast<std::uint64_t>(packed[bit / 8] >> bit % 8 & 1) << b;
          }
          numbers.push_back(number);
        }
      }
    }
  } catch (const Refused&) {
  }
  numbers.resize(std::min(numbers.size(), most));
  return numbers;
}

template <class T>
struct Row {
  bool is_present;
  std::vector<T> values;
};

/// Every row of the pages seen so far.
template <class T>
struct Expected {
  std::vector<Row<T>> rows;
  std::vector<T> dictionary;

  void add(const PageHeader& header, ListLevels levels, Bytes level_bytes, Bytes value_bytes) {
    ByteReader in(header.kind == PageKind::data ? value_bytes : level_bytes), values(value_bytes);
    const bool is_sized = header.kind == PageKind::data;
    const Bytes first = in.take(is_sized ? static_cast<std::size_t>(in.fixed(4)) : header.repetition_size);
    const Bytes second = in.take(is_sized ? static_cast<std::size_t>(in.fixed(4)) : header.definition_size);
    if (is_sized) values = in;
    const auto repetition = decoded(ByteReader(first), 1, header.n_entries);
    const auto definition = decoded(ByteReader(second), levels.value == 1 ? 1 : 2, header.n_entries);
    std::vector<std::uint64_t> indices;
    if (header.uses_dictionary && values.left() > 0) {
      const unsigned bits = values.byte();
      indices = decoded(values, bits, header.n_entries);
    }
    std::size_t n_values = 0;
    for (std::size_t i = 0; i < std::min(repetition.size(), definition.size()); ++i) {
      if (repetition[i] == 0) rows.push_back({definition[i] != 0 || !levels.lists_can_be_null, {}});
      if (definition[i] != levels.value || rows.empty()) continue;
      T value{};
      if (header.uses_dictionary) {
        if (n_values >= indices.size() || indices[n_values] >= dictionary.size()) return;
        value = dictionary[indices[n_values++]];
      } else {
        if (values.left() < sizeof(T)) return;
        std::memcpy(&value, values.take(sizeof(T)).data(), sizeof(T));
      }
      rows.back().values.push_back(value);
    }
  }

  void compare(std::size_t first, const std::vector<T>& placed, const std::vector<std::uint8_t>& present,
               std::size_t width) const {
    for (std::size_t i = 0; i < present.size(); ++i) {
      const std::vector<T> none(width, T{0});
      const Row<T>& row = rows.at(first + i);
      const std::vector<T>& values = row.is_present ? row.values : none;
      const bool is_same = row.is_present == (present[i] != 0) && values.size() == width &&
                           std::memcmp(values.data(), placed.data() + i * width, width * sizeof(T)) == 0;
      if (!is_same) {
        std::fprintf(stderr, "row %zu is not as expected\n", first + i);
        std::abort();
      }
    }
  }
};

template <class T>
void read(const Claims& claims, ByteReader in) {
  ListReader<T> reader(claims.levels());
  Expected<T> expected;
  const auto next_page = [&] {
    while (reader.needs_page()) {
      ByteReader ahead = in;
      const PageHeader header = read_page_header(ahead.take(ahead.left()));
      in.take(header.length);
      ByteReader body(in.take(header.packed_size));
      if (header.full_size != header.packed_size) throw Refused("compressed");
      const Bytes levels = body.take(header.repetition_size + header.definition_size);
      const Bytes values = body.take(body.left());
      if (header.kind == PageKind::dictionary) {
        reader.set_dictionary(header, values);
        expected.dictionary.resize(header.n_entries);
        if (!values.empty()) std::memcpy(expected.dictionary.data(), values.data(), values.size());
      } else {
        reader.begin_page(header, levels, values);
        expected.add(header, claims.levels(), levels, values);
      }
    }
  };
  if (claims.n_rows == 0) return;
  reader.begin_chunk(claims.n_rows, claims.n_entries);
  next_page();
  const std::size_t width =
      claims.width > 0 ? claims.width : std::min<std::size_t>(reader.first_length(), 1000);
  for (std::size_t first = 0; first < claims.n_rows;) {
    const std::size_t n_rows = std::min(claims.batch, claims.n_rows - first);
    std::vector<T> rows(n_rows * width);
    std::vector<std::uint8_t> present(n_rows);
    std::size_t n_done = reader.place({rows.data(), n_rows, width}, present, 0);
    while (n_done < n_rows || !reader.is_settled()) {
      if (!reader.needs_page()) throw Refused("no more rows");
      next_page();
      n_done = reader.place({rows.data(), n_rows, width}, present, n_done);
    }
    expected.compare(first, rows, present, width);
    first += n_rows;
  }
  if (expected.rows.size() != claims.n_rows) std::abort();  // a row was left out
}

}  // namespace
}  // namespace viewpass

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace viewpass;
  try {
    ByteReader in(Bytes(data, size));
    const Claims claims(in);
    if (claims.flags >> 5 == 7) {
      read_column_chunks(in.take(in.left()), claims.n_entries, claims.width, Number::float32, 3);
    } else if (claims.flags >> 5 == 6) {
      stated_size((claims.flags & 1U) != 0 ? Codec::zstd : Codec::snappy, in.take(in.left()));
    } else if (claims.is_double()) {
      read<double>(claims, in);
    } else {
      read<float>(claims, in);
    }
  } catch (const Refused&) {
  }
  return 0;
}
