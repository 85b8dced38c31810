// Arithmetic that every processor does alike: unit rows on a grid of 2^-33, sums of them as whole numbers,
// and norms added in a fixed order. Compiled without contraction: a fused multiplication rounds differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace viewpass {

constexpr double kStep = 0x1p-33;  // of the grid
// Adding this to a number of size at most 1 rounds it to the grid, half to even; the bits then count steps.
constexpr double kRounder = 0x1.8p19;
constexpr uint64_t kRounderBits = 0x4128000000000000;
constexpr std::size_t kLanes = 64;  // column j is added up in lane j % 64; lanes are then added in halves

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

/// A whole number as a double, rounded once, by two exact halves: vectorises where there is no such
/// instruction.
inline double to_double(int64_t x) {
  const uint64_t low = (uint64_t(x) & 0xffffffff) | 0x4330000000000000;  // 2^52 + low
  const uint64_t high = (uint64_t(x) >> 32) ^ 0x4530000080000000;        // 2^84 + 2^63 + 2^32 high
  return (double_of(high) - 0x1.00000801p84) + double_of(low);
}

/// Adds lanes in halves.  INOUT lanes.
inline double fold(double (&lanes)[kLanes]) {
  for (std::size_t half = kLanes / 2; half; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

}  // namespace viewpass
