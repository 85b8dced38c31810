// The extension module viewpass._native: what Python sees of native/.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace viewpass {
void bind_parquet_lists(nb::module_& m);
}

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of viewpass.";
  viewpass::bind_parquet_lists(m);
}
