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

/// Small numbers of so many bits each, in runs of equal ones or packed without gaps.
class Runs {
 public:
  Runs() = default;
  Runs(Bytes bytes, unsigned bits) : in_(bytes), bits_(bits) {}

  /// Passes over numbers as long as they equal `value`, at most so many. Returns how many. For 1 or 2 bits.
  std::size_t pass(unsigned value, std::size_t most);

  /// Reads as many numbers as there is room for values: the indices of these in the dictionary.
  template <class T>
  void look_up(Span<const T> dictionary /* IN */, Span<T> values /* OUT */);

 private:
  void begin_run();
  std::size_t n_equal(unsigned value, std::size_t most) const;
  std::uint64_t next_bits(std::size_t bit) const;

  ByteReader in_;
  unsigned bits_ = 0;
  std::size_t left_ = 0;  // numbers of the run that were not read yet
  bool is_packed_ = false;
  std::uint32_t value_ = 0;  // of a run of equal ones
  Bytes packed_;             // the run and what comes after it: reading goes by eight bytes
  std::size_t bit_ = 0;      // where the next packed number begins
};

/// What the schema says about a column of lists.
struct ListLevels {
  unsigned value;          // the definition level of a value
  bool lists_can_be_null;  // level 0 is a null, not an empty list
};

/// Reads one column. T is the type of its numbers. Bytes handed over must live until the next ones are.
template <class T>
class ListReader {
 public:
  explicit ListReader(ListLevels levels);

  void begin_chunk(std::uint64_t n_rows, std::uint64_t n_entries);
  void set_dictionary(const PageHeader& header /* IN */, Bytes values /* IN */);
  /// `levels` is empty where they lie in `values`, each after its size.
  void begin_page(const PageHeader& header /* IN */, Bytes levels /* IN */, Bytes values /* IN */);

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
  Runs repetition_, definition_, indices_;
  ByteReader plain_;
};

extern template class ListReader<float>;
extern template class ListReader<double>;

}  // namespace viewpass
