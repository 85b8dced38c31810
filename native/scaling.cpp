#include "scaling.hpp"

#include <algorithm>
#include <cmath>

namespace viewpass {

namespace {

// A centred row whose largest number is below the first is a row equal to the mean but for rounding; above
// the second it is brought to size 1; where it cannot be told, everything is shrunk first.
constexpr double kSmallest = 0x1p-30, kLargest = 0x1p60, kShrink = 0x1p-1000;

template <class T>
double largest_of(Span<const T> row, Span<const double> mean, Span<const double> weights, double shrink) {
  double largest = 0.0;
  bool wild = false;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double value = std::abs((double(row[j]) * shrink - mean[j] * shrink) * weights[j]);
    wild |= !(value <= std::numeric_limits<double>::max());
    largest = value > largest ? value : largest;
  }
  return wild ? std::numeric_limits<double>::infinity() : largest;
}

template <class T>
bool standardise_row(Span<const T> row, bool wanted, Span<const double> mean, Span<const double> weights,
                     Span<T> out) {
  std::size_t n_zero = 0, n_wild = 0, n_nan = 0;
  for (std::size_t j = 0; wanted && j < row.size(); ++j) {
    n_zero += row[j] == T(0);
    n_wild += !(std::abs(row[j]) <= std::numeric_limits<T>::max());
    n_nan += row[j] != row[j];
  }
  bool present = wanted && n_zero < row.size() && n_nan < row.size();
  if (present && n_wild) {
    std::copy(row.begin(), row.end(), out.begin());
    return true;
  }
  double shrink = 1.0, factor = 1.0;
  if (present) {
    double largest = largest_of(row, mean, weights, shrink);
    if (!(largest <= std::numeric_limits<double>::max())) {
      shrink = kShrink;
      largest = largest_of(row, mean, weights, shrink);
    }
    if (largest > kLargest || shrink < 1.0) {
      int exponent = 0;
      std::frexp(largest, &exponent);
      factor = std::ldexp(1.0, -exponent);
    }
    present = largest >= kSmallest || shrink < 1.0;
  }
  if (!present)
    std::fill(out.begin(), out.end(), T(0));
  else if (factor == 1.0)
    for (std::size_t j = 0; j < row.size(); ++j) out[j] = T((double(row[j]) - mean[j]) * weights[j]);
  else
    for (std::size_t j = 0; j < row.size(); ++j)
      out[j] = T((double(row[j]) * shrink - mean[j] * shrink) * weights[j] * factor);
  return present;
}

}  // namespace

template <class T>
void standardise(Grid<const T> rows, Span<const bool> wanted, Span<const double> mean,
                 Span<const double> weights, Grid<T> out, Span<bool> present) {
  for (std::size_t i = 0; i < rows.n_rows(); ++i)
    present[i] = standardise_row(rows[i], wanted[i], mean, weights, out[i]);
}

template <class T>
void weigh_rows(Grid<const T> rows, Span<const double> weights, Grid<T> out) {
  for (std::size_t i = 0; i < rows.n_rows(); ++i)
    for (std::size_t j = 0; j < rows.width(); ++j) out[i][j] = T(double(rows[i][j]) * weights[j]);
}

template <class T, class Index>
void weigh_entries(Span<const T> values, Span<const Index> columns, Span<const double> weights, Span<T> out) {
  for (std::size_t e = 0; e < values.size(); ++e) {
    const Index j = columns[e];
    const bool exists = j >= 0 && std::size_t(j) < weights.size();
    out[e] = exists ? T(double(values[e]) * weights[std::size_t(j)]) : values[e];
  }
}

template void standardise(Grid<const float>, Span<const bool>, Span<const double>, Span<const double>,
                          Grid<float>, Span<bool>);
template void standardise(Grid<const double>, Span<const bool>, Span<const double>, Span<const double>,
                          Grid<double>, Span<bool>);
template void weigh_rows(Grid<const float>, Span<const double>, Grid<float>);
template void weigh_rows(Grid<const double>, Span<const double>, Grid<double>);
template void weigh_entries(Span<const float>, Span<const int32_t>, Span<const double>, Span<float>);
template void weigh_entries(Span<const float>, Span<const int64_t>, Span<const double>, Span<float>);
template void weigh_entries(Span<const double>, Span<const int32_t>, Span<const double>, Span<double>);
template void weigh_entries(Span<const double>, Span<const int64_t>, Span<const double>, Span<double>);

}  // namespace viewpass
