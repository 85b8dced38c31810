// Agglomeration of clusters by what each merge adds to the objective J, and the products it works on.
//
// graph/cut.py says what a price is.
#pragma once

#include <cstdint>
#include <vector>

#include "span.hpp"

namespace viewpass {

/// out_ij = a_i.b_j, the same bits as ordered_dot.  IN a (K x d), b (L x d); OUT out (K x L).
/// Where a and b are the same memory only half of the pairs are computed.
void products(Grid<const double> a, Grid<const double> b, Grid<double> out);

struct MergeOrder {
  std::vector<int64_t> pairs;  // merges x 2: the second cluster goes into the first, the lower index
  std::vector<double> prices;  // what each merge adds to J
  size_t n_empty = 0;          // of the first merges: those of clusters without rows
};

/// The first `most` merges, or all down to one cluster, the cheapest first.  IN counts (views x clusters);
/// INOUT products: R R' of each view (clusters x clusters), used up. `to_mean`: alpha pulls centres to the
/// mean of all rows, not to the origin.
MergeOrder agglomerate(Grid<const int64_t> counts, const std::vector<Grid<double>>& products,
                       Span<const double> alpha, bool to_mean, size_t most = SIZE_MAX);

}  // namespace viewpass
