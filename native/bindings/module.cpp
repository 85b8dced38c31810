// The extension module viewpass._native: what Python sees of native/.
#include "arrays.hpp"

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of viewpass.";
  viewpass::bind_rows(m);
  viewpass::bind_steps(m);
  viewpass::bind_starts(m);
  viewpass::bind_graph(m);
  viewpass::bind_parquet_lists(m);
}
