#include "soft_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace viewpass {

void SoftRows::resize(size_t n_rows, size_t n_anchors) {
  n_near = neighbours(n_anchors);
  near.assign(n_rows * n_near, 0);
  weights.assign(n_rows * n_near, 0);
}

namespace {

/// The n-th least of the distances, n small.
float nth_least(Span<const float> line, size_t n, std::vector<float>& least) {
  least.assign(n, std::numeric_limits<float>::infinity());
  for (size_t k = 0; k < line.size(); ++k)
    if (line[k] < least[n - 1]) {
      size_t place = n - 1;
      for (; place > 0 && line[k] < least[place - 1]; --place) least[place] = least[place - 1];
      least[place] = line[k];
    }
  return least[n - 1];
}

}  // namespace

double soft_assign_row(const Rows& rows, size_t i, const Centres& anchors, Met met, double slack,
                       SoftRows& soft, SoftScratch& scratch) {
  const size_t n_near = soft.n_near;
  int32_t* near = soft.near.data() + i * n_near;
  int64_t* weights = soft.weights.data() + i * n_near;
  if (!rows.has_any(i)) {
    for (size_t j = 0; j < n_near; ++j)
      near[j] = int32_t(std::min(j, anchors.n_clusters - 1)), weights[j] = 0;
    return 0.0;
  }
  if (anchors.n_clusters == 1) {
    near[0] = 0, weights[0] = int64_t(kUnit);
    return double(met.distances[0]);
  }
  // Anchors beyond the (r + 1)-th by more than the error cannot be among the r + 1 nearest.
  const double reach = double(nth_least(met.distances, n_near + 1, scratch.least)) + 2.0 * slack;
  scratch.near.clear();
  for (size_t k = 0; k < met.distances.size(); ++k)
    if (!(double(met.distances[k]) > reach)) scratch.near.push_back(met.anchor(k));
  exact_distances(rows, i, anchors, scratch.near, scratch.found);
  auto& order = scratch.order;  // the nearest first, ties to the lowest index
  order.clear();
  for (size_t p = 0; p < scratch.near.size(); ++p) order.emplace_back(scratch.found[p], scratch.near[p]);
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(n_near + 1), order.end());
  const double farthest = order[n_near].first;
  double whole = 0.0;
  for (size_t j = 0; j < n_near; ++j) whole += farthest - order[j].first;
  for (size_t j = 0; j < n_near; ++j) {
    const double share = whole > 0.0 ? (farthest - order[j].first) / whole : 1.0 / double(n_near);
    near[j] = int32_t(order[j].second);
    weights[j] = int64_t(std::nearbyint(share * kUnit));
  }
  return order[0].first;
}

void soft_assign(const Rows& rows, const Centres& anchors, SoftRows& soft, Team& team) {
  soft.resize(rows.n_rows, anchors.n_clusters);
  const ErrorBounds errors(anchors, rows);
  std::vector<PassScratch> pass(team.size());
  std::vector<SoftScratch> scratch(team.size());
  team.each_range(rows.n_rows, tile_rows(rows), [&](size_t begin, size_t end, size_t worker) {
    const std::vector<float*>& line_of = pass[worker].line_of;
    std::vector<uint32_t> which(end - begin);
    std::iota(which.begin(), which.end(), uint32_t(begin));
    pass[worker].make_lines(which.size(), anchors.n_padded());
    distance_pass(rows, which, anchors, line_of, pass[worker]);
    for (size_t i = begin; i < end; ++i)
      soft_assign_row(rows, i, anchors, {{line_of[i - begin], anchors.n_clusters}, {}},
                      errors.of_pass(rows, i, anchors), soft, scratch[worker]);
  });
}

void add_links(Span<const int32_t> near, Span<const int64_t> weights, size_t n_near, Grid<int64_t> links,
               Span<const int64_t> copies) {
  for (size_t at = 0, i = 0; at < near.size(); at += n_near, ++i) {
    const int64_t times = copies.empty() ? 1 : copies[i];
    for (size_t a = 0; a < n_near; ++a)
      for (size_t b = 0; b < n_near; ++b)
        links[size_t(near[at + a])][size_t(near[at + b])] += times * weights[at + a] * weights[at + b];
  }
}

}  // namespace viewpass
