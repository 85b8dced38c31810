#include "parquet_lists.hpp"

#include <algorithm>
#include <cstring>

namespace viewpass {
namespace {

constexpr unsigned kMaxIndexBits = 24;

/// The position of the lowest bit that is set; there must be one.
size_t lowest_bit(uint64_t bits) {
  size_t position = 0;
  for (unsigned step = 32; step > 0; step /= 2) {
    const bool is_above = (bits & ((uint64_t{1} << step) - 1)) == 0;
    position += is_above ? step : 0;
    bits >>= is_above ? step : 0;
  }
  return position;
}

/// A part of the bytes with its size before it.
Bytes sized_part(ByteReader& in) { return in.take(size_t(in.fixed(4))); }

}  // namespace

void Runs::begin_run() {
  if (bits_ == 0) throw Refused("numbers of no bits");
  const uint64_t head = in_.varint(32), count = head >> 1;
  if (count == 0) throw Refused("a run of no numbers");
  is_packed_ = (head & 1U) != 0;
  if (is_packed_) {
    if (count * bits_ > in_.left()) throw Refused("a run that is longer than its bytes");
    packed_ = in_.rest();
    in_.take(size_t(count) * bits_);
    bit_ = 0;
    left_ = 8 * size_t(count);
  } else {
    value_ = uint32_t(in_.fixed((bits_ + 7) / 8));
    if (value_ >> bits_ != 0) throw Refused("a number of more bits than it may have");
    left_ = size_t(count);
  }
}

size_t Runs::pass(unsigned value, size_t most) {
  size_t n_passed = 0;
  while (n_passed < most) {
    if (left_ == 0) begin_run();
    const size_t possible = std::min(left_, most - n_passed);
    const size_t here = is_packed_ ? n_equal(value, possible) : value_ == value ? possible : 0;
    bit_ += here * bits_;
    left_ -= here;
    n_passed += here;
    if (here < possible) break;
  }
  return n_passed;
}

/// How many of the next packed numbers equal the value, 56 bits at a time.
size_t Runs::n_equal(unsigned value, size_t most) const {
  const uint64_t repeated = value * (bits_ == 1 ? ~uint64_t{0} : 0x5555555555555555U);
  size_t n = 0;
  while (n < most) {
    const size_t here = std::min<size_t>(most - n, bits_ == 1 ? 56 : 28);
    const uint64_t compared = (uint64_t{1} << here * bits_) - 1;
    const uint64_t difference = (next_bits(bit_ + n * bits_) ^ repeated) & compared;
    if (difference != 0) return n + lowest_bit(difference) / (bits_ == 1 ? 1 : 2);
    n += here;
  }
  return n;
}

/// The bits from `bit` on, the lowest first: 57 or more of them, or fewer at the end of the bytes.
uint64_t Runs::next_bits(size_t bit) const {
  const Bytes next = packed_.part(bit / 8, std::min<size_t>(8, packed_.size() - bit / 8));
  if (next.size() < 8) return ByteReader(next).fixed(next.size()) >> bit % 8;
  const auto byte = [&](unsigned i) { return uint64_t{next[i]} << 8 * i; };
  const uint64_t all = byte(0) | byte(1) | byte(2) | byte(3) | byte(4) | byte(5) | byte(6) | byte(7);
  return all >> bit % 8;  // compilers make one load of the line above
}

template <class T>
void Runs::look_up(Span<const T> dictionary, Span<T> values) {
  for (size_t done = 0; done < values.size();) {
    if (left_ == 0) begin_run();
    const size_t here = std::min(left_, values.size() - done);
    const uint64_t mask = (uint64_t{1} << bits_) - 1;
    for (T& value : values.part(done, here)) {
      const uint64_t index = is_packed_ ? next_bits(bit_) & mask : value_;
      if (index >= dictionary.size()) throw Refused("an index past the dictionary");
      value = dictionary[index];
      bit_ += bits_;
    }
    left_ -= here;
    done += here;
  }
}

template <class T>
ListReader<T>::ListReader(ListLevels levels) : levels_(levels) {
  if (levels.value < 1 || levels.value > 3) throw Refused("not a column of lists of numbers");
}

template <class T>
void ListReader<T>::begin_chunk(uint64_t n_rows, uint64_t n_entries) {
  if (n_page_ > 0 || n_entries_ > 0) throw Refused("entries are left in the row group before");
  check_end();
  n_rows_ = n_rows;
  n_entries_ = n_entries;
  has_dictionary_ = has_pages_ = false;
  check_end();
}

template <class T>
void ListReader<T>::set_dictionary(const PageHeader& header, Bytes values) {
  if (has_dictionary_ || has_pages_) throw Refused("a dictionary that is not the first page");
  if (header.n_entries > values.size() / sizeof(T) || header.n_entries * sizeof(T) != values.size()) {
    throw Refused("a dictionary of another size than it states");
  }
  dictionary_.resize(header.n_entries);
  if (!values.empty()) std::memcpy(dictionary_.data(), values.data(), values.size());
  has_dictionary_ = true;
}

template <class T>
void ListReader<T>::begin_page(const PageHeader& header, Bytes levels, Bytes values) {
  if (n_page_ > 0 || header.n_entries > n_entries_)
    throw Refused("a page with more entries than the row group");
  if (header.uses_dictionary && !has_dictionary_) throw Refused("a page without its dictionary");
  Bytes repetition, definition;
  ByteReader in(header.kind == PageKind::data ? values : levels);
  if (header.kind == PageKind::data) {
    repetition = sized_part(in);
    definition = sized_part(in);
    values = in.take(in.left());
  } else {
    repetition = in.take(header.repetition_size);
    definition = in.take(header.definition_size);
  }
  repetition_ = Runs(repetition, 1);
  definition_ = Runs(definition, levels_.value == 1 ? 1 : 2);
  plain_ = ByteReader(values);
  uses_dictionary_ = header.uses_dictionary;
  if (uses_dictionary_) {
    const unsigned bits = values.empty() ? 0 : plain_.byte();
    if (bits > kMaxIndexBits) throw Refused("indices of an unusual size");
    indices_ = Runs(plain_.take(plain_.left()), bits);
  }
  n_page_ = header.n_entries;
  n_entries_ -= header.n_entries;
  has_pages_ = true;
  if (n_page_ == 0) check_end();
}

template <class T>
size_t ListReader<T>::first_length() const {
  Runs repetition = repetition_, definition = definition_;
  const size_t n_null = definition.pass(0, n_page_), left = n_page_ - n_null;
  if (left == 0 || repetition.pass(0, n_null + 1) != n_null + 1) return 0;
  const size_t length = 1 + repetition.pass(1, left - 1);
  return length < left ? length : 0;
}

template <class T>
size_t ListReader<T>::place(Grid<T> rows, Span<uint8_t> present, size_t n_done) {
  const size_t width = rows.width();
  const bool has_room = n_done > 0 ? n_missing_ <= width : n_missing_ == 0;
  if (width == 0 || !has_room || n_done > rows.n_rows() || present.size() != rows.n_rows()) {
    throw Refused("an output that does not fit the rows");
  }
  while (n_page_ > 0 && (n_missing_ > 0 || n_done < rows.n_rows())) {
    if (n_missing_ == 0) {
      present[n_done] = begin_row(rows[n_done]);
      ++n_done;
    } else {
      const size_t here = std::min(n_missing_, n_page_);
      const bool goes_on = repetition_.pass(1, here) == here && definition_.pass(levels_.value, here) == here;
      if (!goes_on) throw Refused("a list that is shorter than the others, or with a null in it");
      take_values(rows[n_done - 1].part(width - n_missing_, here));
    }
  }
  check_end();
  return n_done;
}

/// Begins a row with as much of it as the page has. Returns whether there is a list.
template <class T>
bool ListReader<T>::begin_row(Span<T> row) {
  if (repetition_.pass(0, 1) != 1) throw Refused("a list that is longer than the others");
  if (n_rows_ == 0) throw Refused("more rows than the row group has");
  --n_rows_;
  const size_t here = std::min(row.size(), n_page_);
  const size_t n_found = definition_.pass(levels_.value, here);
  if (n_found == 0) {
    if (!levels_.lists_can_be_null || definition_.pass(0, 1) != 1)
      throw Refused("a list that is empty or begins with a null");
    std::fill(row.begin(), row.end(), T{0});
    --n_page_;
    return false;
  }
  if (n_found != here || repetition_.pass(1, here - 1) != here - 1) {
    throw Refused("a list that is shorter than the others, or with a null in it");
  }
  n_missing_ = row.size();
  take_values(row.part(0, here));
  return true;
}

template <class T>
void ListReader<T>::take_values(Span<T> row) {
  if (uses_dictionary_) {
    indices_.look_up<T>(dictionary_, row);
  } else {
    std::memcpy(row.data(), plain_.take(row.size() * sizeof(T)).data(), row.size() * sizeof(T));
  }
  n_missing_ -= row.size();
  n_page_ -= row.size();
}

/// Refuses what cannot be the end of a row, of a page or of a row group, where one is reached.
template <class T>
void ListReader<T>::check_end() const {
  if (n_page_ > 0) {
    if (n_missing_ == 0 && Runs(repetition_).pass(0, 1) != 1)
      throw Refused("a list that is longer than the others");
    if (n_missing_ == 0 && n_rows_ == 0) throw Refused("more rows than the row group has");
  } else if (plain_.left() > 0) {
    throw Refused("more values than entries");
  } else if (n_entries_ == 0 && (n_missing_ > 0 || n_rows_ > 0)) {
    throw Refused("fewer rows than the row group has");
  }
}

template class ListReader<float>;
template class ListReader<double>;

}  // namespace viewpass
