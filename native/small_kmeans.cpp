#include "small_kmeans.hpp"

#include <algorithm>
#include <cmath>

#include "exact.hpp"
#include "soft_assignment.hpp"

namespace viewpass {
namespace {

constexpr size_t kMostIterations = 100;

/// Seeds are tried so many at a time: 2 + log K, about.
size_t n_trials(size_t n_clusters) {
  size_t log2 = 0;
  while (n_clusters >> (log2 + 1)) ++log2;
  return 2 + 7 * log2 / 10;
}

/// The first index whose running sum is above the target; the last index if there is none.
size_t drawn(Span<const double> running, double target) {
  const auto at = size_t(std::upper_bound(running.begin(), running.end(), target) - running.begin());
  return std::min(at, running.size() - 1);
}

/// Centres as columns, so that a point is compared with many of them at a time.
class CentreTable {
 public:
  CentreTable(size_t n_centres, size_t width)
      : n_centres_(n_centres), width_(width), columns_(n_centres * width), squares_(n_centres) {}

  /// IN centres: n_centres x width.
  void set(Grid<const double> centres) {
    std::fill(squares_.begin(), squares_.end(), 0.0);
    for (size_t k = 0; k < n_centres_; ++k)
      for (size_t j = 0; j < width_; ++j) {
        const double value = centres[k][j];
        columns_[j * n_centres_ + k] = value;
        squares_[k] += value * value;
      }
  }

  /// The centre c of least |c|^2 - 2 p.c, the lowest of equals; both sums run over the columns in order.
  size_t nearest(Span<const double> point) {
    distances_.assign(n_centres_, 0.0);
    const Span<const double> columns(columns_);
    accumulate(distances_, width_,
               [&](size_t j) { return times(point[j], columns.part(j * n_centres_, n_centres_)); });
    for (size_t k = 0; k < n_centres_; ++k) distances_[k] = squares_[k] - 2.0 * distances_[k];
    return size_t(std::min_element(distances_.begin(), distances_.end()) - distances_.begin());
  }

 private:
  size_t n_centres_, width_;
  std::vector<double> columns_, squares_, distances_;
};

class KMeans {
 public:
  KMeans(WeightedPoints points, size_t n_clusters)
      : places_(points.places),
        weights_(points.weights),
        n_clusters_(n_clusters),
        columns_(size() * width()),
        running_(size()),
        table_(n_clusters, width()) {
    for (size_t i = 0; i < size(); ++i)
      for (size_t j = 0; j < width(); ++j) columns_[j * size() + i] = places_[i][j];
  }

  Clustering run(Draws& draws) {
    Clustering found{std::vector<size_t>(size()), seeds(draws), 0.0};
    assign(found);
    for (size_t iteration = 0; iteration < kMostIterations; ++iteration) {
      update(found);
      if (!assign(found)) break;
    }
    for (size_t i = 0; i < size(); ++i) found.inertia += weights_[i] * own_distance(found, i);
    return found;
  }

 private:
  size_t size() const { return places_.n_rows(); }
  size_t width() const { return places_.width(); }
  Grid<double> grid(std::vector<double>& held) const { return {held.data(), n_clusters_, width()}; }

  /// Squared distances of all points from one of them, at most as far as they are now.  IN now; OUT out.
  void distances_from(size_t seed, Span<const double> now, Span<double> out) const {
    std::fill(out.begin(), out.end(), 0.0);
    accumulate(out, width(), [&](size_t j) {
      const double value = places_[seed][j];
      const double* column = Span<const double>(columns_).part(j * size(), size()).data();
      return [=](size_t i) { return (column[i] - value) * (column[i] - value); };
    });
    for (size_t i = 0; i < size(); ++i) out[i] = std::min(out[i], now[i]);
  }

  /// Running sums of weights times distances.  IN distances; OUT running_. Returns the whole.
  double run_up(Span<const double> distances) {
    double sum = 0.0;
    for (size_t i = 0; i < size(); ++i) running_[i] = sum += weights_[i] * distances[i];
    return sum;
  }

  /// Greedy k-means++: of a few drawn points the one that leaves the least inertia.
  std::vector<double> seeds(Draws& draws) {
    std::vector<double> centres(n_clusters_ * width());
    std::vector<double> distances(size(), 1.0), tried(size()), best(size());
    double whole = run_up(distances);
    std::fill(distances.begin(), distances.end(), 0x1p1000);
    for (size_t k = 0; k < n_clusters_; ++k) {
      const std::vector<double> running = running_;
      const double drawn_from = whole;
      size_t chosen = size();
      for (size_t trial = 0; trial < (k == 0 ? 1 : n_trials(n_clusters_)); ++trial) {
        const size_t candidate = drawn(running, draws.next() * drawn_from);
        distances_from(candidate, distances, tried);
        const double left = run_up(tried);
        if (chosen == size() || left < whole) {
          chosen = candidate;
          whole = left;
          best.swap(tried);
        }
      }
      distances.swap(best);
      run_up(distances);
      std::copy_n(places_[chosen].begin(), width(), grid(centres)[k].begin());
    }
    return centres;
  }

  /// INOUT found: labels by its centres. Whether any of them moved.
  bool assign(Clustering& found) {
    table_.set(grid(found.centres));
    bool moved = false;
    for (size_t i = 0; i < size(); ++i) {
      const size_t label = table_.nearest(places_[i]);
      moved = moved || label != found.labels[i];
      found.labels[i] = label;
    }
    return moved;
  }

  double own_distance(Clustering& found, size_t i) const {
    const auto centre = grid(found.centres)[found.labels[i]];
    double sum = 0.0;
    for (size_t j = 0; j < width(); ++j) sum += (places_[i][j] - centre[j]) * (places_[i][j] - centre[j]);
    return sum;
  }

  /// INOUT found: centres as the means of their points; one that has nothing stays where it is.
  void update(Clustering& found) const {
    std::vector<double> sums(n_clusters_ * width()), masses(n_clusters_);
    for (size_t i = 0; i < size(); ++i) {
      const size_t label = found.labels[i];
      masses[label] += weights_[i];
      const auto sum = grid(sums)[label];
      for (size_t j = 0; j < width(); ++j) sum[j] += weights_[i] * places_[i][j];
    }
    for (size_t k = 0; k < n_clusters_; ++k)
      for (size_t j = 0; j < width(); ++j)
        if (masses[k] > 0.0) grid(found.centres)[k][j] = grid(sums)[k][j] / masses[k];
  }

  Grid<const double> places_;
  Span<const double> weights_;
  size_t n_clusters_;
  std::vector<double> columns_, running_;  // places transposed; running sums
  CentreTable table_;
};

}  // namespace

Clustering small_kmeans(WeightedPoints points, size_t n_clusters, size_t n_restarts, uint64_t seed) {
  KMeans kmeans(points, n_clusters);
  Draws draws(seed);
  Clustering best = kmeans.run(draws);
  for (size_t restart = 1; restart < n_restarts; ++restart) {
    Clustering found = kmeans.run(draws);
    if (found.inertia < best.inertia) best = std::move(found);
  }
  return best;
}

void normalise(Span<double> x) {
  double square = 0.0;
  for (const double value : x) square += value * value;
  const double length = std::sqrt(square);
  if (length > 0.0)
    for (double& value : x) value /= length;
}

void graph_labels(MixedRows rows, Grid<const double> places, Grid<const double> centres,
                  Span<int32_t> labels) {
  CentreTable table(centres.n_rows(), centres.width());
  table.set(centres);
  std::vector<double> mixed(places.width());
  for (size_t i = 0; i < labels.size(); ++i) {
    std::fill(mixed.begin(), mixed.end(), 0.0);
    for (size_t near = 0; near < rows.near.width(); ++near) {
      const auto place = places[size_t(rows.near[i][near])];
      const double weight = double(rows.weights[i][near]) / kUnit;
      for (size_t j = 0; j < mixed.size(); ++j) mixed[j] += weight * place[j];
    }
    normalise(mixed);
    labels[i] = int32_t(table.nearest(mixed));
  }
}

}  // namespace viewpass
