#include "soft_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace viewpass {

void SoftRows::resize(std::size_t n_rows, std::size_t n_anchors) {
  n_near = std::max<std::size_t>(1, std::min(kNeighbours, n_anchors - 1));
  near.assign(n_rows * n_near, 0);
  weights.assign(n_rows * n_near, 0);
}

namespace {

/// The n-th least of the distances, n at most kNeighbours + 1.
float nth_least(const float* line, std::size_t n_clusters, std::size_t n, std::vector<float>& least) {
  least.assign(n, std::numeric_limits<float>::infinity());
  for (std::size_t k = 0; k < n_clusters; ++k)
    if (line[k] < least[n - 1]) {
      std::size_t place = n - 1;
      for (; place > 0 && line[k] < least[place - 1]; --place) least[place] = least[place - 1];
      least[place] = line[k];
    }
  return least[n - 1];
}

}  // namespace

void soft_assign_row(const Rows& rows, std::size_t i, const Centres& anchors, const float* line, double slack,
                     SoftRows& soft, SoftScratch& scratch) {
  const std::size_t n_near = soft.n_near;
  int32_t* near = soft.near.data() + i * n_near;
  int64_t* weights = soft.weights.data() + i * n_near;
  if (!rows.has_any(i)) {
    for (std::size_t j = 0; j < n_near; ++j)
      near[j] = int32_t(std::min(j, anchors.n_clusters - 1)), weights[j] = 0;
    return;
  }
  if (anchors.n_clusters == 1) {
    near[0] = 0, weights[0] = int64_t(kUnit);
    return;
  }
  // Anchors beyond the (r + 1)-th by more than the error cannot be among the r + 1 nearest.
  const double reach = double(nth_least(line, anchors.n_clusters, n_near + 1, scratch.least)) + 2.0 * slack;
  scratch.near.clear();
  for (std::size_t k = 0; k < anchors.n_clusters; ++k)
    if (!(double(line[k]) > reach)) scratch.near.push_back(uint32_t(k));
  exact_distances(rows, i, anchors, scratch.near, scratch.found);
  // The nearest first, ties to the lowest index.
  for (std::size_t j = 0; j <= n_near; ++j) {
    std::size_t best = j;
    for (std::size_t p = j + 1; p < scratch.near.size(); ++p)
      if (scratch.found[p] < scratch.found[best] ||
          (scratch.found[p] == scratch.found[best] && scratch.near[p] < scratch.near[best]))
        best = p;
    std::swap(scratch.found[j], scratch.found[best]);
    std::swap(scratch.near[j], scratch.near[best]);
  }
  double whole = 0.0;
  for (std::size_t j = 0; j < n_near; ++j) whole += scratch.found[n_near] - scratch.found[j];
  for (std::size_t j = 0; j < n_near; ++j) {
    const double share =
        whole > 0.0 ? (scratch.found[n_near] - scratch.found[j]) / whole : 1.0 / double(n_near);
    near[j] = int32_t(scratch.near[j]);
    weights[j] = int64_t(std::nearbyint(share * kUnit));
  }
}

void soft_assign(const Rows& rows, const Centres& anchors, SoftRows& soft, Team& team) {
  struct Scratch {
    PassScratch pass;
    SoftScratch soft;
    Buffer<float> lines;
    std::vector<float*> line_of;
    std::vector<uint32_t> which;
  };
  soft.resize(rows.n_rows, anchors.n_clusters);
  const ErrorBounds errors(anchors);
  const std::size_t n_padded = anchors.n_padded(), size = tile_rows(rows);
  std::vector<Scratch> scratch(team.size());
  team.each((rows.n_rows + size - 1) / size, [&](std::size_t tile, std::size_t worker) {
    Scratch& mine = scratch[worker];
    mine.which.clear(), mine.line_of.clear();
    float* lines = mine.lines.room(size * n_padded).data();
    for (std::size_t i = tile * size; i < std::min((tile + 1) * size, rows.n_rows); ++i) {
      mine.line_of.push_back(lines + mine.which.size() * n_padded);
      mine.which.push_back(uint32_t(i));
    }
    distance_pass(rows, mine.which, anchors, mine.line_of, mine.pass);
    for (std::size_t r = 0; r < mine.which.size(); ++r) {
      const std::size_t i = mine.which[r];
      soft_assign_row(rows, i, anchors, mine.line_of[r], errors.of_pass(rows, i, anchors), soft, mine.soft);
    }
  });
}

void add_links(Span<const int32_t> near, Span<const int64_t> weights, std::size_t n_near,
               Grid<int64_t> links) {
  for (std::size_t at = 0; at < near.size(); at += n_near)
    for (std::size_t a = 0; a < n_near; ++a)
      for (std::size_t b = 0; b < n_near; ++b)
        links[std::size_t(near[at + a])][std::size_t(near[at + b])] += weights[at + a] * weights[at + b];
}

}  // namespace viewpass
