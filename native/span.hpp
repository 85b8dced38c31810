// Memory that knows its length. Reads past the end are caught in debug builds.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace viewpass {

/// Consecutive numbers that something else owns.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, U>>>
  Span(std::vector<U>& held) : data_(held.data()), size_(held.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<T, const U>>>
  Span(const std::vector<U>& held) : data_(held.data()), size_(held.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  constexpr T& operator[](size_t i) const {
    assert(i < size_);
    return data_[i];
  }
  constexpr Span part(size_t first, size_t length) const {
    assert(first <= size_ && length <= size_ - first);
    return {data_ + first, length};
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// A matrix whose rows lie one after another; something else owns it.
template <class T>
class Grid {
 public:
  constexpr Grid() = default;
  constexpr Grid(T* data, size_t n_rows, size_t width) : data_(data), n_rows_(n_rows), width_(width) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Grid(Grid<U> other) : data_(other.data()), n_rows_(other.n_rows()), width_(other.width()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t n_rows() const { return n_rows_; }
  constexpr size_t width() const { return width_; }
  constexpr Span<T> operator[](size_t i) const {
    assert(i < n_rows_);
    return {data_ + i * width_, width_};
  }

 private:
  T* data_ = nullptr;
  size_t n_rows_ = 0, width_ = 0;
};

/// Working memory, aligned to cache lines and reused; its content is undefined.
template <class T>
class Buffer {
 public:
  /// At least n values; growing loses the content.
  T* reserve(size_t n) {
    if (n > size_) {
      held_.reset();  // first: old and new need not exist at once
      held_.reset(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{64})));
      size_ = n;
    }
    return held_.get();
  }
  T* data() const { return held_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> held_;
  size_t size_ = 0;
};

/// A matrix that owns its numbers, zero at first. Rows begin an odd number of cache lines apart: the columns
/// of a matrix whose width is a power of two would compete for the same cache lines.
class Matrix {
 public:
  Matrix(size_t n_rows, size_t width)
      : n_rows_(n_rows), width_(width), stride_(((width + 7) / 8 | 1) * 8), held_(n_rows * stride_) {}
  Span<double> operator[](size_t i) { return Span<double>(held_).part(i * stride_, width_); }
  Span<const double> operator[](size_t i) const {
    return Span<const double>(held_).part(i * stride_, width_);
  }
  size_t n_rows() const { return n_rows_; }
  size_t width() const { return width_; }
  void swap(Matrix& other) noexcept { held_.swap(other.held_); }
  void fill(double value) { std::fill(held_.begin(), held_.end(), value); }

 private:
  size_t n_rows_, width_, stride_;
  std::vector<double> held_;
};

}  // namespace viewpass
