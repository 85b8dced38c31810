// The kernels for x86-64 processors with AVX2 and FMA; compiled for these, called only where they are.
#include "kernels_body.hpp"
#include "simd_avx2.hpp"

namespace viewpass {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = table("avx2");

}  // namespace viewpass
