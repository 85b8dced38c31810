// Arithmetic with the same bits on every processor: unit rows on a grid of 2^-33, sums of them as whole
// numbers, other sums in a fixed order. Compiled without contraction: a fused multiplication rounds
// differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels.hpp"
#include "span.hpp"

namespace viewpass {

constexpr double kStep = 0x1p-33;  // of the grid
// Adding this to a number of size at most 1 rounds it to the grid, half to even; the bits then count steps.
constexpr double kRounder = 0x1.8p19;
constexpr uint64_t kRounderBits = 0x4128000000000000;
// Inner products: column j is added to partial sum j % 64, and these are then added in halves.
constexpr size_t kPartialSums = 64;

inline uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double double_of(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline double on_grid(double x) { return (x + kRounder) - kRounder; }

/// A whole number as a double, rounded once, by two exact halves: vectorises without such an instruction.
inline double to_double(int64_t x) {
  const uint64_t low = (uint64_t(x) & 0xffffffff) | 0x4330000000000000;  // 2^52 + low
  const uint64_t high = (uint64_t(x) >> 32) ^ 0x4530000080000000;        // 2^84 + 2^63 + 2^32 high
  return (double_of(high) - 0x1.00000801p84) + double_of(low);
}

/// The total of partial sums, added in halves.  INOUT partial.
inline double fold(double (&partial)[kPartialSums]) {
  for (size_t half = kPartialSums / 2; half; half /= 2)
    for (size_t p = 0; p < half; ++p) partial[p] += partial[p + half];
  return partial[0];
}

/// The inner product of two vectors of one length, in the fixed order.
inline double ordered_dot(Span<const double> a, Span<const double> b) {
  return kernels().f64.dot(a.data(), b.data(), a.size());
}

/// sums_k += term_0(k) + term_1(k) + ..., one after another, where term_t = make(t).
/// Four at a time, so that the sums are read and written less often.  INOUT sums.
template <class Make>
void accumulate(Span<double> sums, size_t n_terms, Make make) {
  double* const out = sums.data();
  size_t t = 0;
  for (; t + 4 <= n_terms; t += 4) {
    const auto a = make(t), b = make(t + 1), c = make(t + 2), d = make(t + 3);
    for (size_t k = 0; k < sums.size(); ++k) out[k] = out[k] + a(k) + b(k) + c(k) + d(k);
  }
  for (; t < n_terms; ++t) {
    const auto a = make(t);
    for (size_t k = 0; k < sums.size(); ++k) out[k] += a(k);
  }
}

/// A vector times a number, as a term of a sum.  IN row.
inline auto times(double weight, Span<const double> row) {
  return [weight, from = row.data()](size_t k) { return weight * from[k]; };
}

/// Pseudo-random numbers by counting (splitmix64): draw t is a hash of seed and t.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  /// The next number in [0, 1), a multiple of 2^-53.
  double next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return double(z >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

}  // namespace viewpass
