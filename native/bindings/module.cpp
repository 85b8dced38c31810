// The extension module viewpass._native: what Python sees of native/.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) { m.doc() = "The compiled core of viewpass."; }
