// Rows of a Parquet column of lists of numbers, where each list has the same length or is null.
//
// A page holds for each entry whether it begins a row (its repetition level: 0, else 1) and what it is (its
// definition level: the highest for a value, 0 for a null list), and then the values. Levels come in runs of
// equal ones, or packed in groups of eight. Whatever differs from the above is refused, not interpreted.
#pragma once

#include "parquet_headers.hpp"

namespace viewpass {

/// Small numbers of so many bits each, in runs of equal ones or packed without gaps.
class Runs {
 public:
  Runs() = default;
  Runs(Bytes bytes, unsigned bits) : in_(bytes), bits_(bits) {}

  /// Passes over numbers as long as they equal `value`, at most so many. Returns how many. For 1 or 2 bits.
  size_t pass(unsigned value, size_t most);

  /// Reads one number per value: its index in the dictionary.  OUT values.
  template <class T>
  void look_up(Span<const T> dictionary, Span<T> values);

 private:
  void begin_run();
  size_t n_equal(unsigned value, size_t most) const;
  uint64_t next_bits(size_t bit) const;

  ByteReader in_;
  unsigned bits_ = 0;
  size_t left_ = 0;  // numbers of the run that were not read yet
  bool is_packed_ = false;
  uint32_t value_ = 0;  // of a run of equal ones
  Bytes packed_;        // the run and what comes after it: reading goes by eight bytes
  size_t bit_ = 0;      // where the next packed number begins
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

  void begin_chunk(uint64_t n_rows, uint64_t n_entries);
  void set_dictionary(const PageHeader& header, Bytes values);
  /// `levels` is empty where they lie in `values`, each after its size.
  void begin_page(const PageHeader& header, Bytes levels, Bytes values);

  /// The length of the page's first list; 0 if it has none that ends in the page.
  size_t first_length() const;

  /// Places rows after the first `n_done` until the page ends or all are done. Returns how many are done.
  /// INOUT rows, present.
  size_t place(Grid<T> rows, Span<uint8_t> present, size_t n_done);

  /// Whether the last row placed is complete: the next one begins, or the chunk ends.
  bool is_settled() const { return n_missing_ == 0 && (n_page_ > 0 || n_entries_ == 0); }
  bool needs_page() const { return n_page_ == 0 && n_entries_ > 0; }

 private:
  bool begin_row(Span<T> row);
  void take_values(Span<T> row);
  void check_end() const;

  ListLevels levels_;
  std::vector<T> dictionary_;
  bool has_dictionary_ = false, uses_dictionary_ = false, has_pages_ = false;
  uint64_t n_rows_ = 0, n_entries_ = 0;  // that the chunk still has, after this page
  size_t n_page_ = 0;                    // entries that the page still has
  size_t n_missing_ = 0;                 // values that the last row still lacks
  Runs repetition_, definition_, indices_;
  ByteReader plain_;
};

extern template class ListReader<float>;
extern template class ListReader<double>;

}  // namespace viewpass
