// The kernels for x86-64 processors with AVX2 and FMA; compiled for these, called only where they are.
// clang-format off: the kernels use the vectors that are included first
#include "simd_avx2.hpp"
#include "kernels_body.hpp"
// clang-format on

namespace viewpass {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = table("avx2");

}  // namespace viewpass
