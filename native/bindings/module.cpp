// The extension module viewpass._native: what Python sees of native/.
#include <cstdlib>

#include "arrays.hpp"

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of viewpass.";
  // What threads hold when the interpreter ends is no leak that a user could mend. A test wants the report.
  nb::set_leak_warnings(std::getenv("VIEWPASS_LEAKS") != nullptr);
  viewpass::bind_rows(m);
  viewpass::bind_steps(m);
  viewpass::bind_starts(m);
  viewpass::bind_graph(m);
  viewpass::bind_parquet_lists(m);
}
