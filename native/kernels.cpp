#include "kernels.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#if defined(VIEWPASS_AVX2) && defined(_MSC_VER)
#include <intrin.h>
#endif

namespace viewpass {

#if defined(VIEWPASS_AVX2)
extern const Kernels kAvx2Kernels;

namespace {

bool processor_has_avx2() {
#if defined(_MSC_VER)
  int words[4];
  __cpuidex(words, 1, 0);
  const bool fused = words[2] & (1 << 12), saved = words[2] & (1 << 27);
  __cpuidex(words, 7, 0);
  return fused && saved && (_xgetbv(0) & 6) == 6 && (words[1] & (1 << 5));
#else
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

}  // namespace

const Kernels* avx2_kernels() { return processor_has_avx2() ? &kAvx2Kernels : nullptr; }
#else
const Kernels* avx2_kernels() { return nullptr; }
#endif

namespace {

const Kernels& choose() {
  const Kernels* best = avx2_kernels();
  const char* name = std::getenv("VIEWPASS_KERNELS");
  if (!name || !*name) return best ? *best : kPortableKernels;
  for (const Kernels* one : {&kPortableKernels, best})
    if (one && std::strcmp(one->name, name) == 0) return *one;
  throw std::runtime_error(std::string("VIEWPASS_KERNELS is '") + name + "': this build and processor have " +
                           (best ? "'portable' and 'avx2'." : "'portable'."));
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace viewpass
