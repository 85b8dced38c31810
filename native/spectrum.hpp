// The leading eigenpairs of D^-1/2 G D^-1/2, where G are the links of anchors and D their degrees.
//
// Subspace iteration with a Chebyshev filter: a block of vectors is multiplied by a polynomial of the
// matrix that is small between `low` and the block's lowest Ritz value and grows fast above it, made
// orthonormal, and turned into Ritz vectors. The start, the order of adding and the rule for stopping
// are fixed: the result has the same bits on every processor, whatever the multiplicities are.
#pragma once

#include <vector>

#include "links.hpp"

namespace viewpass {

struct Spectrum {
  std::vector<double> values;   // falling
  std::vector<double> vectors;  // one after another; the first entry of largest magnitude is positive
};

struct Eigenpairs {
  std::vector<double> values;  // falling
  Matrix vectors;              // a row each
};

/// All eigenpairs of a symmetric matrix whose entries are at most about 1 (entries below 2^-56 beside the
/// diagonal count as 0).
Eigenpairs all_eigenpairs(Matrix a);

/// n_leading is at most the number of anchors; `tie`: more links between any two anchors.
Spectrum leading_eigenpairs(const Links& links, size_t n_leading, int64_t tie = 0);

}  // namespace viewpass
