// Non-negative least squares of many rows that share one small Gram matrix (the compared factorisations).
#pragma once

#include "span.hpp"
#include "threads.hpp"

namespace viewpass {

/// Minimises y G y' - 2 p y' over y >= 0 for every row (Lawson and Hanson, warm-started). `gram` is K x K,
/// positive definite; `products` are the rows' p.  INOUT out: a start, then the minimisers.
void nnls(Grid<const double> gram, Grid<const double> products, Grid<double> out, Team& team);

}  // namespace viewpass
