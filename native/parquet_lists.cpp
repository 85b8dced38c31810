#include "parquet_lists.hpp"

#include <algorithm>
#include <cstring>

namespace viewpass {
namespace {

constexpr unsigned max_index_bits = 24;

Run read_run(ByteReader& in, unsigned bits) {
  const auto head = static_cast<std::size_t>(in.varint(32));
  const std::size_t count = head >> 1;
  Run run;
  run.is_packed = (head & 1U) != 0;
  if (count == 0) throw Refused("a run of no numbers");
  if (!run.is_packed) {
    run.left = count;
    run.value = static_cast<std::uint32_t>(in.fixed((bits + 7) / 8));
    if (run.value >> bits != 0) throw Refused("a run of a number that is too large");
    return run;
  }
  if (count > in.left() / bits) throw Refused("a run that is longer than its bytes");
  run.packed = in.take(count * bits);
  run.left = 8 * count;
  return run;
}

/// A part of the bytes with a size before it.
Bytes sized_part(ByteReader& in) { return in.take(static_cast<std::size_t>(in.fixed(4))); }

}  // namespace

std::size_t Levels::pass(unsigned value, std::size_t most) {
  std::size_t n_passed = 0;
  while (n_passed < most) {
    if (run_.left == 0) run_ = read_run(in_, bits_);
    const std::size_t here = std::min(run_.left, most - n_passed);
    std::size_t n_equal = run_.value == value ? here : 0;
    if (run_.is_packed) {
      n_equal = equal_packed(value, here);
      run_.bit += n_equal * bits_;
    }
    run_.left -= n_equal;
    n_passed += n_equal;
    if (n_equal < here) break;
  }
  return n_passed;
}

std::size_t Levels::equal_packed(unsigned value, std::size_t most) const {
  const unsigned mask = (1U << bits_) - 1;
  const unsigned repeated = value * (bits_ == 1 ? 0xFFU : 0x55U);
  const std::size_t end = run_.bit + most * bits_;
  std::size_t bit = run_.bit;
  while (bit < end) {
    const unsigned byte = run_.packed[bit / 8];
    if (bit % 8 == 0 && byte == repeated && end - bit >= 8) {
      bit += 8;
    } else if ((byte >> bit % 8 & mask) == value) {
      bit += bits_;
    } else {
      break;
    }
  }
  return (bit - run_.bit) / bits_;
}

template <class T>
void Indices::look_up(Span<const T> dictionary, Span<T> values) {
  if (bits_ == 0 || bits_ > max_index_bits) throw Refused("indices of an unusual size");
  for (std::size_t done = 0; done < values.size();) {
    if (run_.left == 0) run_ = read_run(in_, bits_);
    const std::size_t here = std::min(run_.left, values.size() - done);
    const Span<T> target = values.part(done, here);
    if (!run_.is_packed) {
      if (run_.value >= dictionary.size()) throw Refused("an index past the dictionary");
      std::fill(target.begin(), target.end(), dictionary[run_.value]);
    } else {
      const std::uint32_t mask = (std::uint32_t{1} << bits_) - 1;
      for (T& value : target) {
        std::uint32_t index = 0;
        const std::size_t first = run_.bit / 8, last = (run_.bit + bits_ - 1) / 8;  // at most four bytes
        for (std::size_t i = last + 1; i-- > first;) index = index << 8 | run_.packed[i];
        index = index >> run_.bit % 8 & mask;
        if (index >= dictionary.size()) throw Refused("an index past the dictionary");
        value = dictionary[index];
        run_.bit += bits_;
      }
    }
    run_.left -= here;
    done += here;
  }
}

template <class T>
ListReader<T>::ListReader(ListLevels levels) : levels_(levels) {
  if (levels.value < 1 || levels.value > 3) throw Refused("not a column of lists of numbers");
}

template <class T>
void ListReader<T>::begin_chunk(std::uint64_t n_rows, std::uint64_t n_entries) {
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
  if (n_page_ > 0 || header.n_entries == 0 || header.n_entries > n_entries_) {
    throw Refused("a page with more entries than the row group, or none");
  }
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
  repetition_ = Levels(repetition, 1);
  definition_ = Levels(definition, levels_.value == 1 ? 1 : 2);
  uses_dictionary_ = header.uses_dictionary;
  plain_ = ByteReader(uses_dictionary_ ? Bytes() : values);
  indices_ = Indices(uses_dictionary_ ? values : Bytes());
  n_page_ = header.n_entries;
  n_entries_ -= header.n_entries;
  has_pages_ = true;
}

template <class T>
std::size_t ListReader<T>::first_length() const {
  Levels repetition = repetition_, definition = definition_;
  for (std::size_t left = n_page_; left > 0; --left) {
    if (repetition.pass(0, 1) != 1) return 0;
    if (definition.pass(0, 1) == 1) continue;
    const std::size_t length = 1 + repetition.pass(1, left - 1);
    return length < left ? length : 0;
  }
  return 0;
}

template <class T>
std::size_t ListReader<T>::place(Grid<T> rows, Span<std::uint8_t> present, std::size_t n_done) {
  const std::size_t width = rows.width();
  if (width == 0 || n_done > rows.n_rows() || present.size() != rows.n_rows() || n_missing_ > width * n_done) {
    throw Refused("no room for the rows");
  }
  while (n_page_ > 0 && (n_missing_ > 0 || n_done < rows.n_rows())) {
    if (n_missing_ == 0) {
      present[n_done] = begin_row(rows[n_done]);
      ++n_done;
    } else {
      const std::size_t here = std::min(n_missing_, n_page_);
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
  const std::size_t here = std::min(row.size(), n_page_);
  const std::size_t n_found = definition_.pass(levels_.value, here);
  if (n_found == 0) {
    if (!levels_.may_lack_a_list || definition_.pass(0, 1) != 1) throw Refused("a list that is empty or begins with a null");
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
    if (n_missing_ == 0 && Levels(repetition_).pass(0, 1) != 1) throw Refused("a list that is longer than the others");
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
