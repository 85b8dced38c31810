// The kernels for any processor.
// clang-format off: the kernels use the vectors that are included first
#include "simd_portable.hpp"
#include "kernels_body.hpp"
// clang-format on

namespace viewpass {

const Kernels kPortableKernels = table("portable");

}  // namespace viewpass
