// Sums whose order of adding is part of the specification, so that every processor gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "span.hpp"

namespace viewpass {

/// The inner product of two vectors of one length, in the order of the lanes.
inline double lane_dot(Span<const double> a, Span<const double> b) {
  return kernels().f64.dot(a.data(), b.data(), a.size());
}

/// sums_k += term_0(k) + term_1(k) + ..., one after another, where term_t = make(t).
/// Four at a time, so that the sums are read and written less often.  INOUT sums.
template <class Make>
void accumulate(Span<double> sums, std::size_t n_terms, Make make) {
  double* const out = sums.data();
  std::size_t t = 0;
  for (; t + 4 <= n_terms; t += 4) {
    const auto a = make(t), b = make(t + 1), c = make(t + 2), d = make(t + 3);
    for (std::size_t k = 0; k < sums.size(); ++k) out[k] = out[k] + a(k) + b(k) + c(k) + d(k);
  }
  for (; t < n_terms; ++t) {
    const auto a = make(t);
    for (std::size_t k = 0; k < sums.size(); ++k) out[k] += a(k);
  }
}

/// A vector times a number, as a term of a sum.  IN row.
inline auto times(double weight, Span<const double> row) {
  return [weight, from = row.data()](std::size_t k) { return weight * from[k]; };
}

/// Pseudo-random numbers by counting (splitmix64): draw t is a hash of seed and t.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  /// The next number in [0, 1), a multiple of 2^-53.
  double next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace viewpass
