// Memory that knows its length. Reads past the end are caught in debug builds.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace viewpass {

/// A view of `size` numbers that lie one after another and belong to somebody else.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, U>>>
  Span(std::vector<U>& held) : data_(held.data()), size_(held.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<T, const U>>>
  Span(const std::vector<U>& held) : data_(held.data()), size_(held.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  constexpr T& operator[](std::size_t i) const {
    assert(i < size_);
    return data_[i];
  }
  constexpr Span part(std::size_t first, std::size_t length) const {
    assert(first <= size_ && length <= size_ - first);
    return {data_ + first, length};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A matrix whose rows lie one after another.
template <class T>
class Grid {
 public:
  constexpr Grid() = default;
  constexpr Grid(T* data, std::size_t n_rows, std::size_t width)
      : data_(data), n_rows_(n_rows), width_(width) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Grid(Grid<U> other) : data_(other.data()), n_rows_(other.n_rows()), width_(other.width()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t n_rows() const { return n_rows_; }
  constexpr std::size_t width() const { return width_; }
  constexpr Span<T> operator[](std::size_t i) const {
    assert(i < n_rows_);
    return {data_ + i * width_, width_};
  }

 private:
  T* data_ = nullptr;
  std::size_t n_rows_ = 0, width_ = 0;
};

}  // namespace viewpass
