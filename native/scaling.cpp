#include "scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exact.hpp"
#include "kernels.hpp"

namespace viewpass {
namespace {

constexpr size_t kTaskValues = size_t(1) << 16;

// A centred row whose largest number is below the first is a row equal to the mean but for rounding; above
// the second it is brought to size 1; where it overflows, everything is shrunk first.
constexpr double kSmallest = 0x1p-30, kLargest = 0x1p60, kShrink = 0x1p-1000;
constexpr double kHalf = 0.5;  // the difference of two halves does not overflow

template <class T>
double largest_of(Span<const T> row, Span<const double> mean, Span<const double> weights, double shrink) {
  double largest = 0.0;
  bool wild = false;
  for (size_t j = 0; j < row.size(); ++j) {
    const double value = std::abs((double(row[j]) * shrink - mean[j] * shrink) * weights[j]);
    wild |= !(value <= std::numeric_limits<double>::max());
    largest = value > largest ? value : largest;
  }
  return wild ? std::numeric_limits<double>::infinity() : largest;
}

/// What a row is before it is scaled: absent, to be refused when it is measured, or sound.
enum class Found { absent, wild, sound };

template <class T>
Found look_at(Span<const T> row, bool wanted) {
  size_t n_zero = 0, n_wild = 0, n_nan = 0;
  for (size_t j = 0; wanted && j < row.size(); ++j) {
    n_zero += row[j] == T(0);
    n_wild += !(std::abs(row[j]) <= std::numeric_limits<T>::max());
    n_nan += row[j] != row[j];
  }
  if (!wanted || n_zero == row.size() || n_nan == row.size()) return Found::absent;
  return n_wild ? Found::wild : Found::sound;
}

template <class T>
bool standardise_row(Span<const T> row, bool wanted, Span<const double> mean, Span<const double> weights,
                     Span<T> out) {
  const Found found = look_at(row, wanted);
  if (found == Found::wild) {
    std::copy(row.begin(), row.end(), out.begin());
    return true;
  }
  bool present = found == Found::sound;
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
    for (size_t j = 0; j < row.size(); ++j) out[j] = T((double(row[j]) - mean[j]) * weights[j]);
  else
    for (size_t j = 0; j < row.size(); ++j)
      out[j] = T((double(row[j]) * shrink - mean[j] * shrink) * weights[j] * factor);
  return present;
}

/// Gives |x|^2 of the row before it is shortened.
template <class T>
double centre_row(Span<const T> row, Span<const double> mean, double weight, double longest, Span<T> out) {
  double largest = 0.0;
  for (size_t j = 0; j < row.size(); ++j)
    largest = std::max(largest, std::abs((double(row[j]) * kHalf - mean[j] * kHalf) * weight));
  const bool far = !(largest <= kLargest);
  double square = 0.0;
  if (far) {  // brought to size 1, then to its length: only its direction is known
    int exponent = 0;
    double half = 0.0;
    for (size_t j = 0; j < row.size(); ++j)
      half = std::max(half, std::abs(double(row[j]) * kHalf - mean[j] * kHalf));
    std::frexp(half, &exponent);
    for (size_t j = 0; j < row.size(); ++j)
      out[j] = T(std::ldexp(double(row[j]) * kHalf - mean[j] * kHalf, -exponent));
  } else {
    for (size_t j = 0; j < row.size(); ++j) out[j] = T((double(row[j]) - mean[j]) * weight);
  }
  square = kernels().of(out.data()).square(out.data(), out.size());
  if (far || square > longest * longest) {
    const double factor = longest / std::sqrt(square);
    for (size_t j = 0; j < row.size(); ++j) out[j] = T(double(out[j]) * factor);
  }
  return far ? std::numeric_limits<double>::infinity() : square;
}

/// Rows of one task.
size_t task_rows(size_t width) { return std::max<size_t>(1, kTaskValues / std::max<size_t>(width, 1)); }

}  // namespace

template <class T>
void standardise(Grid<const T> rows, Span<const bool> wanted, Span<const double> mean,
                 Span<const double> weights, Grid<T> out, Span<bool> present, Team& team) {
  team.each_range(rows.n_rows(), task_rows(rows.width()), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i)
      present[i] = standardise_row(rows[i], wanted[i], mean, weights, out[i]);
  });
}

template <class T>
void centre_rows(Grid<const T> rows, Span<const bool> wanted, Span<const double> mean, double weight,
                 double longest, Grid<T> out, Span<bool> present, Span<double> squares, Team& team) {
  team.each_range(rows.n_rows(), task_rows(rows.width()), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const Found found = look_at(rows[i], wanted[i]);
      present[i] = found != Found::absent;
      squares[i] = 0.0;
      if (found == Found::sound)
        squares[i] = centre_row(rows[i], mean, weight, longest, out[i]);
      else if (found == Found::wild)
        std::copy(rows[i].begin(), rows[i].end(), out[i].begin());
      else
        std::fill(out[i].begin(), out[i].end(), T(0));
    }
  });
}

template <class T>
void weigh_rows(Grid<const T> rows, Span<const double> weights, Grid<T> out, Team& team) {
  team.each_range(rows.n_rows(), task_rows(rows.width()), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < rows.width(); ++j) out[i][j] = T(double(rows[i][j]) * weights[j]);
  });
}

template <class T, class Index>
void weigh_entries(Span<const T> values, Span<const Index> columns, Span<const double> weights, Span<T> out,
                   Team& team) {
  team.each_range(values.size(), kTaskValues, [&](size_t begin, size_t end, size_t) {
    for (size_t e = begin; e < end; ++e) {
      const Index j = columns[e];
      const bool exists = j >= 0 && size_t(j) < weights.size();
      out[e] = exists ? T(double(values[e]) * weights[size_t(j)]) : values[e];
    }
  });
}

template <class T>
void map_rows(Grid<const T> rows, Span<const double> inverse, LinearMap map, Grid<T> out, Span<bool> present,
              Team& team) {
  const size_t width = rows.width(), n_mapped = map.offsets.size(), n_padded = round_up(n_mapped, kExact);
  std::vector<double> panels(n_padded * width, 0.0);  // kExact directions side by side, column by column
  for (size_t d = 0; d < n_mapped; ++d)
    for (size_t j = 0; j < width; ++j)
      panels[(d / kExact * width + j) * kExact + d % kExact] = map.directions[d][j];
  team.each_range(rows.n_rows(), task_rows(width), [&](size_t begin, size_t end, size_t) {
    std::vector<double> two(2 * width), products(2 * n_padded), both(2 * kExact);
    std::vector<size_t> which;
    const auto finish = [&](size_t i, const double* mine) {
      double largest = 0.0;
      for (size_t d = 0; d < n_mapped; ++d) {
        const double value = mine[d] * inverse[i] - map.offsets[d];
        largest = std::max(largest, std::abs(value));
        out[i][d] = T(value);
      }
      present[i] = largest >= kSmallest;
      if (!present[i]) std::fill(out[i].begin(), out[i].end(), T(0));
    };
    for (size_t i = begin; i < end; ++i) {
      if (inverse[i] > 0.0) {
        which.push_back(i);
      } else {
        present[i] = false;
        std::fill(out[i].begin(), out[i].end(), T(0));
      }
    }
    for (size_t at = 0; at < which.size(); at += 2) {
      const size_t a = which[at], b = which[std::min(at + 1, which.size() - 1)];
      std::copy(rows[a].begin(), rows[a].end(), two.begin());
      std::copy(rows[b].begin(), rows[b].end(), two.begin() + std::ptrdiff_t(width));
      for (size_t d = 0; d < n_padded; d += kExact) {
        kernels().exact_products2(two.data(), two.data() + width, panels.data() + d * width, width,
                                  both.data());
        std::copy_n(both.data(), kExact, products.data() + d);
        std::copy_n(both.data() + kExact, kExact, products.data() + n_padded + d);
      }
      finish(a, products.data());
      if (b != a) finish(b, products.data() + n_padded);
    }
  });
}

using Columns = Span<const double>;
template void map_rows(Grid<const float>, Columns, LinearMap, Grid<float>, Span<bool>, Team&);
template void map_rows(Grid<const double>, Columns, LinearMap, Grid<double>, Span<bool>, Team&);
template void standardise(Grid<const float>, Span<const bool>, Columns, Columns, Grid<float>, Span<bool>,
                          Team&);
template void standardise(Grid<const double>, Span<const bool>, Columns, Columns, Grid<double>, Span<bool>,
                          Team&);
template void centre_rows(Grid<const float>, Span<const bool>, Columns, double, double, Grid<float>,
                          Span<bool>, Span<double>, Team&);
template void centre_rows(Grid<const double>, Span<const bool>, Columns, double, double, Grid<double>,
                          Span<bool>, Span<double>, Team&);
template void weigh_rows(Grid<const float>, Columns, Grid<float>, Team&);
template void weigh_rows(Grid<const double>, Columns, Grid<double>, Team&);
template void weigh_entries(Span<const float>, Span<const int32_t>, Columns, Span<float>, Team&);
template void weigh_entries(Span<const float>, Span<const int64_t>, Columns, Span<float>, Team&);
template void weigh_entries(Span<const double>, Span<const int32_t>, Columns, Span<double>, Team&);
template void weigh_entries(Span<const double>, Span<const int64_t>, Columns, Span<double>, Team&);

}  // namespace viewpass
