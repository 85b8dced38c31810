// The kernels for any processor.
// clang-format off: the kernels are written for the vectors that stand before them
#include "simd_portable.hpp"
#include "kernels_body.hpp"
// clang-format on

namespace viewpass {

const Kernels kPortableKernels = table("portable");

}  // namespace viewpass
