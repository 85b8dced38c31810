// Links between anchors: a symmetric matrix of whole numbers, by its entries that are not zero.
#pragma once

#include <cstdint>
#include <vector>

#include "span.hpp"

namespace viewpass {

/// Row by row, in the order of their columns, none negative; something else owns them.
struct Links {
  Span<const int64_t> starts, columns, values;

  size_t size() const { return starts.size() - 1; }
};

/// Links in memory of their own.
struct OwnLinks {
  std::vector<int64_t> starts, columns, values;
};

/// Rows as mixtures of anchors (soft_assignment.hpp): n_near anchors and weights each.
struct Mixtures {
  Span<const int32_t> near;
  Span<const int64_t> weights;
  size_t n_near;
  Span<const int64_t> copies;  // how often each row counts; empty: once
};

/// G = sum of z z' over the rows.
OwnLinks links_of(const Mixtures& rows, size_t n_anchors);

}  // namespace viewpass
