// Vectors of eight floats, four doubles and four 64-bit words in plain C++, which any compiler can vectorise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace viewpass {
namespace {

constexpr size_t kFloats = 8, kDoubles = 4;

template <class T, size_t N>
struct Pack {
  T lane[N];
};
using Floats = Pack<float, kFloats>;
using Doubles = Pack<double, kDoubles>;
using Words = Pack<uint64_t, kDoubles>;

/// combine(a, b) in every lane.
template <class T, size_t N, class Combine>
inline Pack<T, N> lanewise(Pack<T, N> a, Pack<T, N> b, Combine combine) {
  for (size_t n = 0; n < N; ++n) a.lane[n] = combine(a.lane[n], b.lane[n]);
  return a;
}
template <class T, size_t N>
inline Pack<T, N> operator+(Pack<T, N> a, Pack<T, N> b) {
  return lanewise(a, b, [](T x, T y) { return x + y; });
}
template <class T, size_t N>
inline Pack<T, N> operator-(Pack<T, N> a, Pack<T, N> b) {
  return lanewise(a, b, [](T x, T y) { return x - y; });
}
template <class T, size_t N>
inline Pack<T, N> operator*(Pack<T, N> a, Pack<T, N> b) {
  return lanewise(a, b, [](T x, T y) { return x * y; });
}
template <class To, class From>
inline To copied(const From* from) {
  To v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline Floats load(const float* from) { return copied<Floats>(from); }
inline void store(float* to, Floats v) { std::memcpy(to, &v, sizeof v); }
inline Floats spread(float x) { return {{x, x, x, x, x, x, x, x}}; }
inline Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
inline Floats smaller(Floats a, Floats b) {
  return lanewise(a, b, [](float x, float y) { return x < y ? x : y; });
}
inline Floats larger(Floats a, Floats b) {
  return lanewise(a, b, [](float x, float y) { return x > y ? x : y; });
}
/// A bit per lane in which a <= b.
inline uint32_t at_most(Floats a, Floats b) {
  uint32_t bits = 0;
  for (size_t n = 0; n < kFloats; ++n) bits |= uint32_t(a.lane[n] <= b.lane[n]) << n;
  return bits;
}
/// `a` where a > b, else `other`.
inline Floats where_above(Floats a, Floats b, Floats other) {
  for (size_t n = 0; n < kFloats; ++n) other.lane[n] = a.lane[n] > b.lane[n] ? a.lane[n] : other.lane[n];
  return other;
}

inline Doubles load4(const double* from) { return copied<Doubles>(from); }
inline Doubles load4(const float* from) {
  return {{double(from[0]), double(from[1]), double(from[2]), double(from[3])}};
}
inline void store4(double* to, Doubles v) { std::memcpy(to, &v, sizeof v); }
inline Doubles spread4(double x) { return {{x, x, x, x}}; }

inline Words bits_of4(Doubles v) { return copied<Words>(&v); }
inline Words load_words(const int64_t* from) { return copied<Words>(from); }
inline void store_words(int64_t* to, Words w) { std::memcpy(to, &w, sizeof w); }
inline Words spread_word(uint64_t x) { return {{x, x, x, x}}; }

}  // namespace
}  // namespace viewpass
