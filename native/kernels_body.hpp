// The kernels written once, for whichever vectors the including file has chosen (simd_*.hpp).
// Everything here has internal linkage, so that code for one instruction set never serves another.
#pragma once

#include <limits>
#include <utility>

#include "exact.hpp"
#include "kernels.hpp"

namespace viewpass {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

template <class T>
inline T least(T a, T b) {
  return a < b ? a : b;
}

// ---- the float32 filter

/// Products of kTall rows with one panel of centres.
template <size_t kVectors>
inline void subtract_panel(const ProductTile& tile, const float* panel, size_t first_row,
                           size_t first_cluster) {
  Floats sums[kTall][kVectors];
  for (size_t r = 0; r < kTall; ++r)
    for (size_t n = 0; n < kVectors; ++n) sums[r][n] = spread(0.0f);
  const float* const* rows = tile.rows + first_row;
  for (size_t j = 0; j < tile.n_columns; ++j) {
    Floats centres[kVectors];
    for (size_t n = 0; n < kVectors; ++n) centres[n] = load(panel + j * kPanel + n * kFloats);
    for (size_t r = 0; r < kTall; ++r) {
      const Floats value = spread(rows[r][j]);
      for (size_t n = 0; n < kVectors; ++n) sums[r][n] = multiply_add(centres[n], value, sums[r][n]);
    }
  }
  for (size_t r = 0; r < kTall; ++r) {
    const Floats twice = spread(tile.twice[first_row + r]);
    for (size_t n = 0; n < kVectors; ++n) {
      float* at = tile.lines[first_row + r] + first_cluster + n * kFloats;
      store(at, load(at) - sums[r][n] * twice);
    }
  }
}

void subtract_products(const ProductTile& tile) {
  for (size_t first = 0; first < tile.n_clusters; first += kPanel) {
    const float* panel = tile.panels + first / kPanel * tile.panel_stride;
    const bool half = tile.n_clusters - first <= kFloats;
    for (size_t r = 0; r < tile.n_rows; r += kTall)
      half ? subtract_panel<1>(tile, panel, r, first) : subtract_panel<2>(tile, panel, r, first);
  }
}

template <size_t kVectors, class T, class Index>
inline void subtract_entries(SparseRow<T, Index> row, double scale, const float* table, size_t n_padded,
                             float* line) {
  constexpr size_t kChains = 4 / kVectors;  // sums side by side: each addition waits for the last
  Floats sums[kChains][kVectors];
  for (size_t c = 0; c < kChains; ++c)
    for (size_t n = 0; n < kVectors; ++n) sums[c][n] = spread(0.0f);
  constexpr bool kNarrowed = sizeof(T) > sizeof(float);  // float32 values are multiplied as they are
  auto add = [&](size_t p, Floats(&to)[kVectors]) {
    const Floats value = spread(kNarrowed ? float(double(row.values[p]) * scale) : float(row.values[p]));
    const float* centres = table + size_t(row.columns[p]) * n_padded;
    for (size_t n = 0; n < kVectors; ++n) to[n] = multiply_add(load(centres + n * kFloats), value, to[n]);
  };
  size_t p = 0;
  for (; p + kChains <= row.n; p += kChains)
    for (size_t c = 0; c < kChains; ++c) add(p + c, sums[c]);
  for (; p < row.n; ++p) add(p, sums[0]);
  for (size_t n = 0; n < kVectors; ++n) {
    Floats sum = sums[0][n];
    for (size_t c = 1; c < kChains; ++c) sum = sum + sums[c][n];
    float* at = line + n * kFloats;
    store(at, load(at) - sum * spread(kNarrowed ? 2.0f : float(2.0 * scale)));
  }
}

template <class T, class Index>
void subtract_sparse_row(SparseRow<T, Index> row, double scale, const float* table, size_t n_padded,
                         float* line) {
  for (size_t from = 0; from < row.n; from += kBlock) {
    const size_t n = least(row.n - from, kBlock);
    const SparseRow<T, Index> part{row.values + from, row.columns + from, n};
    size_t k = 0;
    for (; k + 4 * kFloats <= n_padded; k += 4 * kFloats)
      subtract_entries<4>(part, scale, table + k, n_padded, line + k);
    const size_t n_left = (n_padded - k) / kFloats;
    if (n_left == 3) subtract_entries<3>(part, scale, table + k, n_padded, line + k);
    if (n_left == 2) subtract_entries<2>(part, scale, table + k, n_padded, line + k);
    if (n_left == 1) subtract_entries<1>(part, scale, table + k, n_padded, line + k);
  }
}

inline float sum_of(Floats v) {
  float lanes[kFloats];
  store(lanes, v);
  for (size_t half = kFloats / 2; half; half /= 2)
    for (size_t n = 0; n < half; ++n) lanes[n] += lanes[n + half];
  return lanes[0];
}

inline float least_of(Floats v) {
  float lanes[kFloats];
  store(lanes, v);
  for (size_t n = 1; n < kFloats; ++n) lanes[0] = least(lanes[n], lanes[0]);
  return lanes[0];
}

void two_products(const float* row, const float* a, const float* b, size_t width, double* products) {
  Floats of_a[2] = {spread(0.0f), spread(0.0f)}, of_b[2] = {spread(0.0f), spread(0.0f)};
  size_t j = 0;
  for (; j + 2 * kFloats <= width; j += 2 * kFloats)
    for (size_t n = 0; n < 2; ++n) {
      const Floats value = load(row + j + n * kFloats);
      of_a[n] = multiply_add(value, load(a + j + n * kFloats), of_a[n]);
      of_b[n] = multiply_add(value, load(b + j + n * kFloats), of_b[n]);
    }
  float rest_a = 0.0f, rest_b = 0.0f;
  for (; j < width; ++j) rest_a += row[j] * a[j], rest_b += row[j] * b[j];
  products[0] = double(sum_of(of_a[0] + of_a[1]) + rest_a);
  products[1] = double(sum_of(of_b[0] + of_b[1]) + rest_b);
}

TwoNearest two_nearest(const float* line, size_t n_padded) {
  Floats first = spread(kInfinite), second = first;  // in each lane
  for (size_t k = 0; k < n_padded; k += kFloats) {
    const Floats value = load(line + k);
    second = smaller(second, larger(first, value));
    first = smaller(first, value);
  }
  float firsts[kFloats], seconds[kFloats];
  store(firsts, first), store(seconds, second);
  TwoNearest found{kInfinite, kInfinite};
  for (size_t n = 0; n < kFloats; ++n) {
    const float behind = found.nearest > firsts[n] ? found.nearest : firsts[n];
    found.second = least(least(found.second, seconds[n]), behind);
    found.nearest = least(found.nearest, firsts[n]);
  }
  return found;
}

/// The least of each lane of one vector, or of two where n is large; of these, the n-th least.
float nth_bound(const float* line, size_t n_padded, size_t n) {
  Floats even = spread(kInfinite), odd = even;
  size_t k = 0;
  for (; k + 2 * kFloats <= n_padded; k += 2 * kFloats) {
    even = smaller(even, load(line + k));
    odd = smaller(odd, load(line + k + kFloats));
  }
  if (k < n_padded) even = smaller(even, load(line + k));
  const size_t n_lanes = n + 2 <= kFloats ? kFloats : 2 * kFloats;
  float least[2 * kFloats],
      largest[2 * kFloats];  // of the lanes; as many of the largest as are above the n-th
  store(least, n_lanes == kFloats ? smaller(even, odd) : even), store(least + kFloats, odd);
  const size_t n_largest = n_lanes - n + 1;
  for (size_t m = 0; m < n_largest; ++m) largest[m] = -kInfinite;
  for (size_t p = 0; p < n_lanes; ++p) {
    float value = least[p];
    for (size_t m = 0; m < n_largest; ++m) {
      const float above = largest[m] > value ? largest[m] : value;
      value = viewpass::least(largest[m], value);
      largest[m] = above;
    }
  }
  return largest[n_largest - 1];
}

float lower(float* line, size_t n_padded, const float* const* changes, size_t n_lists, size_t own) {
  const float mine = line[own];
  line[own] = kInfinite;
  Floats least = spread(kInfinite);
  for (size_t k = 0; k < n_padded; k += kFloats) {
    Floats value = load(line + k);
    for (size_t v = 0; v < n_lists; ++v) value = value + load(changes[v] + k);
    store(line + k, value);
    least = smaller(least, value);
  }
  line[own] = mine;
  return least_of(least);
}

size_t within(const float* line, size_t n_padded, float limit, size_t most, uint32_t* found, float* beyond) {
  const Floats reach = spread(limit), nowhere = spread(kInfinite);
  Floats least = nowhere;
  size_t n = 0;
  for (size_t k = 0; k < n_padded && n <= most; k += kFloats) {
    const Floats value = load(line + k);
    least = smaller(least, where_above(value, reach, nowhere));
    const uint32_t bits = at_most(value, reach);
    // Without a branch: which bits are set is not predictable.
    for (uint32_t place = 0; bits && place < kFloats; ++place) {
      found[n] = uint32_t(k) + place;
      n += bits >> place & 1;
    }
  }
  *beyond = least_of(least);
  return n;
}

// ---- what is exact

constexpr size_t kHalf = kPartialSums / 2,
                 kSums = kHalf / kDoubles;  // half of the partial sums fit into registers
using HalfSums = Doubles[kSums];

/// Adds terms j, j + 1 ... of four each to the sums, up to term n; `rest` are the last ones, and zeros.
/// A partial sum is never -0, so that zeros may be added to it.  INOUT sums.
template <class Terms, size_t... kEach>
inline void add_some(size_t j, size_t n, Terms terms, const double* rest, HalfSums& sums,
                     std::index_sequence<kEach...>) {
  const auto add = [&](size_t at, Doubles& sum) {
    if (at + kDoubles <= n)
      sum = sum + terms(at);
    else if (at < n)
      sum = sum + load4(rest);
  };
  (add(j + kEach * kDoubles, sums[kEach]), ...);
}

/// The sum of term(0) ... term(n - 1) in fixed order; terms(j) gives four from j on.
template <class Terms, class Term>
inline double ordered_sum(size_t n, Terms terms, Term term) {
  double rest[kDoubles] = {};
  for (size_t j = n / kDoubles * kDoubles; j < n; ++j) rest[j % kDoubles] = term(j);
  HalfSums halves[2];
  for (size_t half = 0; half < 2; ++half) {
    HalfSums sums;
    for (size_t c = 0; c < kSums; ++c) sums[c] = spread4(0.0);
    size_t j = half * kHalf;
    for (; j + kHalf <= n; j += kPartialSums)
      for (size_t c = 0; c < kSums; ++c) sums[c] = sums[c] + terms(j + c * kDoubles);
    if (j < n) add_some(j, n, terms, rest, sums, std::make_index_sequence<kSums>());
    for (size_t c = 0; c < kSums; ++c) halves[half][c] = sums[c];
  }
  for (size_t c = 0; c < kSums; ++c) halves[0][c] = halves[0][c] + halves[1][c];
  for (size_t some = kSums / 2; some; some /= 2)
    for (size_t c = 0; c < some; ++c) halves[0][c] = halves[0][c] + halves[0][c + some];
  double last[kDoubles];
  store4(last, halves[0][0]);
  return (last[0] + last[2]) + (last[1] + last[3]);
}

template <class T>
double dot(const T* a, const T* b, size_t width) {
  return ordered_sum(
      width, [a, b](size_t j) { return load4(a + j) * load4(b + j); },
      [a, b](size_t j) { return double(a[j]) * double(b[j]); });
}

template <class T>
double square(const T* row, size_t width) {
  return ordered_sum(
      width,
      [row](size_t j) {
        const Doubles x = load4(row + j);
        return x * x;
      },
      [row](size_t j) { return double(row[j]) * double(row[j]); });
}

double distance(const double* a, const double* b, size_t width) {
  return ordered_sum(
      width,
      [a, b](size_t j) {
        const Doubles x = load4(a + j) - load4(b + j);
        return x * x;
      },
      [a, b](size_t j) { return (a[j] - b[j]) * (a[j] - b[j]); });
}

/// work(j, n) for columns j to j + n, all partial sums (n is constant, and the loop vectorised) or the rest.
template <class Work>
inline void for_partial_sums(size_t width, Work work) {
  size_t j = 0;
  for (; j + kPartialSums <= width; j += kPartialSums) work(j, kPartialSums);
  work(j, width - j);
}

double trace(const double* centre, const int64_t* sums, size_t width) {
  double partial[kPartialSums] = {};
  for_partial_sums(width, [&](size_t j, size_t n) {
    for (size_t p = 0; p < n; ++p) partial[p] += centre[j + p] * (to_double(sums[j + p]) * kStep);
  });
  return fold(partial);
}

template <class T>
void add_rows(const T* const* rows, const double* scales, size_t n_rows, size_t width, int sign,
              int64_t* sums) {
  constexpr size_t kVectors = 4, kStrip = kVectors * kDoubles;
  const uint64_t off = n_rows * kRounderBits;  // sums of bits wrap on the way: these are whole numbers
  const Words offs = spread_word(off);
  const Doubles rounder = spread4(kRounder);
  size_t j = 0;
  for (; j + kStrip <= width; j += kStrip) {  // the sums of a strip stay in registers
    Words total[kVectors];
    for (size_t c = 0; c < kVectors; ++c) total[c] = spread_word(0);
    for (size_t r = 0; r < n_rows; ++r) {
      const Doubles scale = spread4(scales[r]);
      for (size_t c = 0; c < kVectors; ++c)
        total[c] = total[c] + bits_of4(load4(rows[r] + j + c * kDoubles) * scale + rounder);
    }
    for (size_t c = 0; c < kVectors; ++c) {
      int64_t* at = sums + j + c * kDoubles;
      const Words steps = total[c] - offs;
      store_words(at, sign > 0 ? load_words(at) + steps : load_words(at) - steps);
    }
  }
  for (; j < width; ++j) {
    uint64_t steps = 0 - off;
    for (size_t r = 0; r < n_rows; ++r) steps += bits_of(double(rows[r][j]) * scales[r] + kRounder);
    sums[j] = int64_t(uint64_t(sums[j]) + (sign > 0 ? steps : 0 - steps));
  }
}

template <class T>
void narrow(const T* row, double scale, size_t width, float* to) {
  for (size_t j = 0; j < width; ++j) to[j] = float(double(row[j]) * scale);
}

template <class T>
void unit(const T* row, double scale, size_t width, double* to) {
  for (size_t j = 0; j < width; ++j) to[j] = on_grid(double(row[j]) * scale);
}

Renewed renew_centre(const int64_t* sums, double factor, size_t width, double* centre) {
  double squares[kPartialSums] = {}, shifts[kPartialSums] = {};
  for_partial_sums(width, [&](size_t j, size_t n) {
    for (size_t p = 0; p < n; ++p) {
      const double value = to_double(sums[j + p]) * factor, move = value - centre[j + p];
      squares[p] += value * value;
      shifts[p] += move * move;
      centre[j + p] = value;
    }
  });
  return {fold(squares), fold(shifts)};
}

void exact_products(const double* row, const double* panel, size_t width, double* products) {
  Doubles low = spread4(0.0), high = spread4(0.0);
  for (size_t j = 0; j < width; ++j) {
    const Doubles x = spread4(row[j]);
    low = low + x * load4(panel + j * kExact);
    high = high + x * load4(panel + j * kExact + kDoubles);
  }
  store4(products, low), store4(products + kDoubles, high);
}

void exact_products2(const double* a, const double* b, const double* panel, size_t width, double* products) {
  Doubles sums[4] = {spread4(0.0), spread4(0.0), spread4(0.0), spread4(0.0)};
  for (size_t j = 0; j < width; ++j) {
    const Doubles low = load4(panel + j * kExact), high = load4(panel + j * kExact + kDoubles);
    const Doubles x = spread4(a[j]), y = spread4(b[j]);
    sums[0] = sums[0] + x * low, sums[1] = sums[1] + x * high;
    sums[2] = sums[2] + y * low, sums[3] = sums[3] + y * high;
  }
  for (size_t n = 0; n < 4; ++n) store4(products + n * kDoubles, sums[n]);
}

void subtract_rows(const double* factors, const double* stripe, size_t n, double* row) {
  constexpr size_t kVectors = kStripe / kDoubles;
  Doubles sums[kVectors];
  for (size_t c = 0; c < kVectors; ++c) sums[c] = load4(row + c * kDoubles);
  for (size_t k = 0; k < n; ++k) {
    const Doubles factor = spread4(factors[k]);
    for (size_t c = 0; c < kVectors; ++c)
      sums[c] = sums[c] - factor * load4(stripe + k * kStripe + c * kDoubles);
  }
  for (size_t c = 0; c < kVectors; ++c) store4(row + c * kDoubles, sums[c]);
}

template <class T>
constexpr RowKernels<T> row_table() {
  return {square<T>,
          dot<T>,
          add_rows<T>,
          narrow<T>,
          unit<T>,
          subtract_sparse_row<T, int32_t>,
          subtract_sparse_row<T, int64_t>};
}

constexpr Kernels table(const char* name) {
  return {name,           subtract_products,  two_products,        two_nearest, nth_bound, lower,
          within,         row_table<float>(), row_table<double>(), distance,    trace,     renew_centre,
          exact_products, exact_products2,    subtract_rows};
}

}  // namespace
}  // namespace viewpass
