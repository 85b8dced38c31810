// Rows for the driver. Making them is exact, but for the rounding to float32: no processor makes others.
#pragma once

#include <memory>

#include "exact.hpp"
#include "rows.hpp"

namespace viewpass {

/// Rows of four views (dense float32, dense float64, CSR of either kind): loose groups of rows of very
/// different lengths. Some rows lack some views, some all of them, and some repeat an earlier row.
class Example {
 public:
  explicit Example(std::size_t n_rows) : n_rows_(n_rows) {
    for (std::size_t i = 0; i < n_rows; ++i) add_row(i);
    rows.n_rows = n_rows;
    rows.views = {DenseRows<float>{narrow_.data(), n_rows, kWidths[0]},
                  DenseRows<double>{wide_.data(), n_rows, kWidths[1]},
                  CsrRows<float, int32_t>{first_.values.data(), first_.columns.data(), first_.starts.data(),
                                          n_rows, kWidths[2]},
                  CsrRows<double, int64_t>{second_.values.data(), second_.columns.data(),
                                           second_.starts.data(), n_rows, kWidths[3]}};
    rows.weights = {1.0, 0.75, 0.3, 0.6};
    rows.observed = {observed_.get(), n_rows, kViews};
    for (std::size_t v = 0; v < kViews; ++v) {
      rows.inverse.emplace_back(inverse_[v] = std::vector<double>(n_rows));
      rows.kinds.emplace_back(kinds_[v] = std::vector<Kind>(n_rows));
    }
  }

  Rows rows;  // not measured yet

  Grid<const float> narrow() const { return {narrow_.data(), n_rows_, kWidths[0]}; }
  Grid<const double> wide() const { return {wide_.data(), n_rows_, kWidths[1]}; }
  Span<const float> entries() const { return first_.values; }
  Span<const int32_t> entry_columns() const { return first_.columns; }

 private:
  static constexpr std::size_t kViews = 4, kGroups = 13, kReach = 8;
  static constexpr std::size_t kWidths[kViews] = {203, 97, 500, 150};

  template <class T, class Index>
  struct Entries {
    std::vector<T> values;
    std::vector<Index> columns, starts{0};
  };

  std::size_t below(std::size_t n) { return std::size_t(draws_.next() * double(n)); }

  /// What all rows of a group have in common: a whole number from -8 to 8.
  static double pattern(std::size_t group, std::size_t v, std::size_t j) {
    return double(int(Draws((group * kViews + v) * 1000 + j).next() * 17.0)) - 8.0;
  }

  void add_row(std::size_t i) {
    if (i > kReach && below(8) == 0) return repeat_row(i, i - 1 - below(kReach));
    const std::size_t group = below(kGroups);
    const bool nothing = below(50) == 0;
    const double length = double(uint64_t(1) << below(40)) * 0x1p-20;
    for (std::size_t v = 0; v < kViews; ++v) {
      observed_[i * kViews + v] = !nothing && below(4) != 0;
      for (std::size_t j = 0; j < kWidths[v]; ++j) {
        const bool stored = v < 2 || (j * 7 + group) % 16 == 0 || below(32) == 0;
        if (stored) add_value(v, j, (pattern(group, v, j) * 3.0 + draws_.next() * 64.0 - 32.0) * length);
      }
    }
    end_row();
  }

  void repeat_row(std::size_t i, std::size_t from) {
    for (std::size_t v = 0; v < kViews; ++v) observed_[i * kViews + v] = observed_[from * kViews + v];
    for (std::size_t j = 0; j < kWidths[0]; ++j) add_value(0, j, double(narrow_[from * kWidths[0] + j]));
    for (std::size_t j = 0; j < kWidths[1]; ++j) add_value(1, j, wide_[from * kWidths[1] + j]);
    repeat_entries(2, first_, from);
    repeat_entries(3, second_, from);
    end_row();
  }

  template <class T, class Index>
  void repeat_entries(std::size_t v, const Entries<T, Index>& of, std::size_t from) {
    for (auto p = std::size_t(of.starts[from]); p < std::size_t(of.starts[from + 1]); ++p)
      add_value(v, std::size_t(of.columns[p]), double(of.values[p]));
  }

  void add_value(std::size_t v, std::size_t j, double x) {
    if (v == 0) narrow_.push_back(float(x));
    if (v == 1) wide_.push_back(x);
    if (v == 2) first_.values.push_back(float(x)), first_.columns.push_back(int32_t(j));
    if (v == 3) second_.values.push_back(x), second_.columns.push_back(int64_t(j));
  }

  void end_row() {
    first_.starts.push_back(int32_t(first_.values.size()));
    second_.starts.push_back(int64_t(second_.values.size()));
  }

  std::size_t n_rows_;
  Draws draws_{20};
  std::vector<float> narrow_;
  std::vector<double> wide_;
  Entries<float, int32_t> first_;
  Entries<double, int64_t> second_;
  std::unique_ptr<bool[]> observed_ = std::make_unique<bool[]>(n_rows_ * kViews);
  std::vector<double> inverse_[kViews];
  std::vector<Kind> kinds_[kViews];
};

}  // namespace viewpass
