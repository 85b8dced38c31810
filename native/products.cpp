#include "products.hpp"

#include <algorithm>

#include "fixed_order.hpp"

namespace viewpass {

void products(Grid<const double> a, Grid<const double> b, Grid<double> out) {
  constexpr std::size_t TILE = 16;  // rows of b that stay in the cache
  const bool same = a.data() == b.data() && a.n_rows() == b.n_rows();
  for (std::size_t first = 0; first < b.n_rows(); first += TILE) {
    const std::size_t last = std::min(first + TILE, b.n_rows());
    for (std::size_t i = 0; i < (same ? last : a.n_rows()); ++i)
      for (std::size_t j = same ? std::max(first, i) : first; j < last; ++j) {
        out[i][j] = lane_dot(a[i], b[j]);
        if (same) out[j][i] = out[i][j];
      }
  }
}

}  // namespace viewpass
