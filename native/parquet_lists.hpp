// Rows of a Parquet column of lists of numbers, where each list has the same length or is null.
//
// A page holds for each entry whether it begins a row (its repetition level: 0, else 1) and what it is (its
// definition level: the highest for a value, 0 for a null list), and then the values. Levels come in runs of
// equal ones, or packed in groups of eight. Whatever differs from the above is refused, not interpreted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "byte_reader.hpp"
#include "parquet_headers.hpp"
#include "span.hpp"

namespace viewpass {

/// Numbers that are equal, or packed in so many bits each.
struct Run {
  std::size_t left = 0;  // numbers not read yet
  bool is_packed = false;
  std::uint32_t value = 0;  // of all, if they are equal
  Bytes packed;
  std::size_t bit = 0;  // where in the packed bytes the next number begins
};

/// Levels of one page, which have one or two bits.
class Levels {
 public:
  Levels() = default;
  Levels(Bytes bytes, unsigned bits) : in_(bytes), bits_(bits) {}

  /// Passes over levels as long as they equal `value`, at most so many. Returns their number.
  std::size_t pass(unsigned value, std::size_t most);

 private:
  std::size_t equal_packed(unsigned value, std::size_t most) const;

  ByteReader in_;
  unsigned bits_ = 1;
  Run run_;
};

/// Values of one page, given by their indices in a dictionary.
class Indices {
 public:
  Indices() = default;
  explicit Indices(Bytes bytes) : in_(bytes), bits_(bytes.empty() ? 0 : in_.byte()) {}

  template <class T>
  void look_up(Span<const T> dictionary /* IN */, Span<T> values /* OUT */);

 private:
  ByteReader in_;
  unsigned bits_ = 0;
  Run run_;
};

/// What the schema says about a column of lists.
struct ListLevels {
  unsigned value;         // the definition level of a value
  bool may_lack_a_list;   // level 0 is a null, not an empty list
};

/// Reads one column. T is the type of its numbers. Bytes handed over must live until the next ones are.
template <class T>
class ListReader {
 public:
  explicit ListReader(ListLevels levels);

  void begin_chunk(std::uint64_t n_rows, std::uint64_t n_entries);
  void set_dictionary(const PageHeader& header, Bytes values);
  /// `levels` is empty where they lie in `values`, each after its size.
  void begin_page(const PageHeader& header, Bytes levels, Bytes values);

  /// The length of the page's first list; 0 if it has none that ends in the page.
  std::size_t first_length() const;

  /// Places rows after the first `n_done` until the page ends or all are done. Returns how many are done.
  std::size_t place(Grid<T> rows /* INOUT */, Span<std::uint8_t> present /* INOUT */, std::size_t n_done);

  /// Whether it is certain that the last row placed ends there: the next one begins, or the chunk ends.
  bool is_settled() const { return n_missing_ == 0 && (n_page_ > 0 || n_entries_ == 0); }
  bool needs_page() const { return n_page_ == 0 && n_entries_ > 0; }

 private:
  bool begin_row(Span<T> row);
  void take_values(Span<T> row);
  void check_end() const;

  ListLevels levels_;
  std::vector<T> dictionary_;
  bool has_dictionary_ = false, uses_dictionary_ = false, has_pages_ = false;
  std::uint64_t n_rows_ = 0, n_entries_ = 0;  // that the chunk still has, after this page
  std::size_t n_page_ = 0;                    // entries that the page still has
  std::size_t n_missing_ = 0;                 // values that the last row still lacks
  Levels repetition_, definition_;
  ByteReader plain_;
  Indices indices_;
};

extern template class ListReader<float>;
extern template class ListReader<double>;

}  // namespace viewpass
