// The same vectors as simd_portable.hpp in AVX2 registers; products of floats are fused.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace viewpass {
namespace {

constexpr size_t kFloats = 8, kDoubles = 4;

struct Floats {
  __m256 v;
};
struct Doubles {
  __m256d v;
};
struct Words {
  __m256i v;
};

inline Floats load(const float* from) { return {_mm256_loadu_ps(from)}; }
inline void store(float* to, Floats a) { _mm256_storeu_ps(to, a.v); }
inline Floats spread(float x) { return {_mm256_set1_ps(x)}; }
inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats multiply_add(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats smaller(Floats a, Floats b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Floats larger(Floats a, Floats b) { return {_mm256_max_ps(a.v, b.v)}; }
inline uint32_t at_most(Floats a, Floats b) {
  return uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)));
}
inline Floats where_above(Floats a, Floats b, Floats other) {
  return {_mm256_blendv_ps(other.v, a.v, _mm256_cmp_ps(a.v, b.v, _CMP_GT_OQ))};
}

inline Doubles load4(const double* from) { return {_mm256_loadu_pd(from)}; }
inline Doubles load4(const float* from) { return {_mm256_cvtps_pd(_mm_loadu_ps(from))}; }
inline void store4(double* to, Doubles a) { _mm256_storeu_pd(to, a.v); }
inline Doubles spread4(double x) { return {_mm256_set1_pd(x)}; }
inline Doubles operator+(Doubles a, Doubles b) { return {_mm256_add_pd(a.v, b.v)}; }
inline Doubles operator-(Doubles a, Doubles b) { return {_mm256_sub_pd(a.v, b.v)}; }
inline Doubles operator*(Doubles a, Doubles b) { return {_mm256_mul_pd(a.v, b.v)}; }

inline Words bits_of4(Doubles a) { return {_mm256_castpd_si256(a.v)}; }
inline Words load_words(const int64_t* from) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
}
inline void store_words(int64_t* to, Words a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a.v); }
inline Words spread_word(uint64_t x) { return {_mm256_set1_epi64x(int64_t(x))}; }
inline Words operator+(Words a, Words b) { return {_mm256_add_epi64(a.v, b.v)}; }
inline Words operator-(Words a, Words b) { return {_mm256_sub_epi64(a.v, b.v)}; }

}  // namespace
}  // namespace viewpass
