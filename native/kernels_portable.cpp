// The kernels for any processor.
#include "simd_portable.hpp"

#include "kernels_body.hpp"

namespace viewpass {

const Kernels kPortableKernels = table("portable");

}  // namespace viewpass
