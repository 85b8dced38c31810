#include "products.hpp"

#include <algorithm>

#include "fixed_order.hpp"

namespace viewpass {
namespace {

constexpr std::size_t PAIR = 2;   // rows of each side that are multiplied together
constexpr std::size_t GROUP = 4;  // lanes that are kept in registers
constexpr std::size_t TILE = 16;  // rows of b that stay in the cache

/// The lanes of PAIR x PAIR products.
struct Lanes {
  double of[PAIR][PAIR][LANES];
};

/// Add whole groups of LANES columns.  IN a, b; INOUT lanes.
void add_whole(const double* const (&a)[PAIR], const double* const (&b)[PAIR], std::size_t size,
               Lanes& lanes) {
  for (std::size_t group = 0; group < LANES; group += GROUP) {
    double sums[PAIR][PAIR][GROUP];
    for (std::size_t i = 0; i < PAIR; ++i)
      for (std::size_t j = 0; j < PAIR; ++j) std::copy_n(lanes.of[i][j] + group, GROUP, sums[i][j]);
    for (std::size_t start = group; start < size; start += LANES)
      for (std::size_t i = 0; i < PAIR; ++i)
        for (std::size_t j = 0; j < PAIR; ++j)
          for (std::size_t lane = 0; lane < GROUP; ++lane)
            sums[i][j][lane] += a[i][start + lane] * b[j][start + lane];
    for (std::size_t i = 0; i < PAIR; ++i)
      for (std::size_t j = 0; j < PAIR; ++j) std::copy_n(sums[i][j], GROUP, lanes.of[i][j] + group);
  }
}

/// Add the last columns, fewer than LANES.
void add_rest(const double* const (&a)[PAIR], const double* const (&b)[PAIR], std::size_t size,
              Lanes& lanes) {
  for (std::size_t i = 0; i < PAIR; ++i)
    for (std::size_t j = 0; j < PAIR; ++j)
      for (std::size_t lane = 0; lane < size; ++lane) lanes.of[i][j][lane] += a[i][lane] * b[j][lane];
}

/// PAIR x PAIR entries from row i of a and row j of b on; at the edge the last row is taken twice.
void multiply(Grid<const double> a, Grid<const double> b, std::size_t i, std::size_t j, Grid<double> out) {
  const std::size_t width = a.width(), whole = width - width % LANES;
  const std::size_t rows[PAIR] = {i, std::min(i + 1, a.n_rows() - 1)};
  const std::size_t others[PAIR] = {j, std::min(j + 1, b.n_rows() - 1)};
  Lanes lanes = {};
  const double* const mine[PAIR] = {a[rows[0]].data(), a[rows[1]].data()};
  const double* const theirs[PAIR] = {b[others[0]].data(), b[others[1]].data()};
  add_whole(mine, theirs, whole, lanes);
  const double* const my_rest[PAIR] = {mine[0] + whole, mine[1] + whole};
  const double* const their_rest[PAIR] = {theirs[0] + whole, theirs[1] + whole};
  add_rest(my_rest, their_rest, width - whole, lanes);
  for (std::size_t p = 0; p < PAIR; ++p)
    for (std::size_t q = 0; q < PAIR; ++q) out[rows[p]][others[q]] = halved({lanes.of[p][q], LANES});
}

}  // namespace

void products(Grid<const double> a, Grid<const double> b, Grid<double> out) {
  const bool same = a.data() == b.data() && a.n_rows() == b.n_rows();
  for (std::size_t first = 0; first < b.n_rows(); first += TILE)
    for (std::size_t i = 0; i < (same ? std::min(first + TILE, a.n_rows()) : a.n_rows()); i += PAIR)
      for (std::size_t j = first; j < std::min(first + TILE, b.n_rows()); j += PAIR)
        if (!same || i <= j) multiply(a, b, i, j, out);
  if (!same) return;
  for (std::size_t i = 0; i < a.n_rows(); ++i)
    for (std::size_t j = 0; j < i; ++j) out[i][j] = out[j][i];
}

}  // namespace viewpass
