// Vectors of eight floats and four doubles in plain C++: what any compiler can turn into what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace viewpass {
namespace {

constexpr std::size_t kFloats = 8, kDoubles = 4;

struct Floats {
  float lane[kFloats];
};
struct Doubles {
  double lane[kDoubles];
};
struct Words {
  uint64_t lane[kDoubles];
};

inline Floats load(const float* from) {
  Floats v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store(float* to, Floats v) { std::memcpy(to, &v, sizeof v); }
inline Floats spread(float x) {
  Floats v;
  for (float& lane : v.lane) lane = x;
  return v;
}
inline Floats operator+(Floats a, Floats b) {
  for (std::size_t n = 0; n < kFloats; ++n) a.lane[n] += b.lane[n];
  return a;
}
inline Floats operator-(Floats a, Floats b) {
  for (std::size_t n = 0; n < kFloats; ++n) a.lane[n] -= b.lane[n];
  return a;
}
inline Floats operator*(Floats a, Floats b) {
  for (std::size_t n = 0; n < kFloats; ++n) a.lane[n] *= b.lane[n];
  return a;
}
inline Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
inline Floats smaller(Floats a, Floats b) {
  for (std::size_t n = 0; n < kFloats; ++n) a.lane[n] = a.lane[n] < b.lane[n] ? a.lane[n] : b.lane[n];
  return a;
}
inline Floats larger(Floats a, Floats b) {
  for (std::size_t n = 0; n < kFloats; ++n) a.lane[n] = a.lane[n] > b.lane[n] ? a.lane[n] : b.lane[n];
  return a;
}
/// A bit per lane in which a <= b.
inline uint32_t at_most(Floats a, Floats b) {
  uint32_t bits = 0;
  for (std::size_t n = 0; n < kFloats; ++n) bits |= uint32_t(a.lane[n] <= b.lane[n]) << n;
  return bits;
}
/// `a` where a > b, else `other`.
inline Floats where_above(Floats a, Floats b, Floats other) {
  for (std::size_t n = 0; n < kFloats; ++n) other.lane[n] = a.lane[n] > b.lane[n] ? a.lane[n] : other.lane[n];
  return other;
}

inline Doubles no_doubles() { return Doubles{{0.0, 0.0, 0.0, 0.0}}; }
inline Doubles load4(const double* from) {
  Doubles v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline Doubles load4(const float* from) {
  Doubles v;
  for (std::size_t n = 0; n < kDoubles; ++n) v.lane[n] = double(from[n]);
  return v;
}
inline void store4(double* to, Doubles v) { std::memcpy(to, &v, sizeof v); }
inline Doubles spread4(double x) { return Doubles{{x, x, x, x}}; }
inline Doubles operator+(Doubles a, Doubles b) {
  for (std::size_t n = 0; n < kDoubles; ++n) a.lane[n] += b.lane[n];
  return a;
}
inline Doubles operator-(Doubles a, Doubles b) {
  for (std::size_t n = 0; n < kDoubles; ++n) a.lane[n] -= b.lane[n];
  return a;
}
inline Doubles operator*(Doubles a, Doubles b) {
  for (std::size_t n = 0; n < kDoubles; ++n) a.lane[n] *= b.lane[n];
  return a;
}

inline Words no_words() { return Words{{0, 0, 0, 0}}; }
inline Words bits_of4(Doubles v) {
  Words w;
  std::memcpy(&w, &v, sizeof w);
  return w;
}
inline Words load_words(const int64_t* from) {
  Words w;
  std::memcpy(&w, from, sizeof w);
  return w;
}
inline void store_words(int64_t* to, Words w) { std::memcpy(to, &w, sizeof w); }
inline Words spread_word(uint64_t x) { return Words{{x, x, x, x}}; }
inline Words operator+(Words a, Words b) {
  for (std::size_t n = 0; n < kDoubles; ++n) a.lane[n] += b.lane[n];
  return a;
}
inline Words operator-(Words a, Words b) {
  for (std::size_t n = 0; n < kDoubles; ++n) a.lane[n] -= b.lane[n];
  return a;
}

}  // namespace
}  // namespace viewpass
