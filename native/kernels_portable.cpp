// The kernels for any processor.
#include "kernels_body.hpp"
#include "simd_portable.hpp"

namespace viewpass {

const Kernels kPortableKernels = table("portable");

}  // namespace viewpass
