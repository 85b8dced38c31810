#include "small_kmeans.hpp"

#include <algorithm>

#include "fixed_order.hpp"
#include "places.hpp"

namespace viewpass {
namespace {

constexpr std::size_t MOST_ITERATIONS = 100;

/// Seeds are tried so many at a time: 2 + log K, about.
std::size_t n_trials(std::size_t n_clusters) {
  std::size_t log2 = 0;
  while (n_clusters >> (log2 + 1)) ++log2;
  return 2 + 7 * log2 / 10;
}

/// The first index whose running sum is above the target; the last index if there is none.
std::size_t drawn(Span<const double> running, double target) {
  const auto at =
      static_cast<std::size_t>(std::upper_bound(running.begin(), running.end(), target) - running.begin());
  return std::min(at, running.size() - 1);
}

class KMeans {
 public:
  KMeans(WeightedPoints points, std::size_t n_clusters)
      : places_(points.places),
        weights_(points.weights),
        n_clusters_(n_clusters),
        columns_(size() * width()),
        running_(size()),
        table_(n_clusters, width()),
        room_(n_clusters) {
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t j = 0; j < width(); ++j) columns_[j * size() + i] = places_[i][j];
  }

  Clustering run(Draws& draws) {
    Clustering found{std::vector<std::size_t>(size()), seeds(draws), 0.0};
    assign(found);
    for (std::size_t iteration = 0; iteration < MOST_ITERATIONS; ++iteration) {
      update(found);
      if (!assign(found)) break;
    }
    for (std::size_t i = 0; i < size(); ++i) found.inertia += weights_[i] * own_distance(found, i);
    return found;
  }

 private:
  std::size_t size() const { return places_.n_rows(); }
  std::size_t width() const { return places_.width(); }
  Grid<double> grid(std::vector<double>& held) const { return {held.data(), n_clusters_, width()}; }

  /// Squared distances of all points from one of them, at most as far as they are now.  IN now; OUT out.
  void distances_from(std::size_t seed, Span<const double> now, Span<double> out) const {
    std::fill(out.begin(), out.end(), 0.0);
    accumulate(out, width(), [&](std::size_t j) {
      const double value = places_[seed][j];
      const double* column = Span<const double>(columns_).part(j * size(), size()).data();
      return [=](std::size_t i) { return (column[i] - value) * (column[i] - value); };
    });
    for (std::size_t i = 0; i < size(); ++i) out[i] = std::min(out[i], now[i]);
  }

  /// Running sums of weights times distances.  IN distances; OUT running_. Returns the whole.
  double run_up(Span<const double> distances) {
    double sum = 0.0;
    for (std::size_t i = 0; i < size(); ++i) running_[i] = sum += weights_[i] * distances[i];
    return sum;
  }

  /// Greedy k-means++: of a few drawn points the one that leaves the least inertia.
  std::vector<double> seeds(Draws& draws) {
    std::vector<double> centres(n_clusters_ * width());
    std::vector<double> distances(size(), 1.0), tried(size()), best(size());
    double whole = run_up(distances);
    std::fill(distances.begin(), distances.end(), 0x1p1000);
    for (std::size_t k = 0; k < n_clusters_; ++k) {
      const std::vector<double> running = running_;
      const double drawn_from = whole;
      std::size_t chosen = size();
      for (std::size_t trial = 0; trial < (k == 0 ? 1 : n_trials(n_clusters_)); ++trial) {
        const std::size_t candidate = drawn(running, draws.next() * drawn_from);
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
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t label = table_.nearest(places_[i], room_);
      moved = moved || label != found.labels[i];
      found.labels[i] = label;
    }
    return moved;
  }

  double own_distance(Clustering& found, std::size_t i) const {
    const auto centre = grid(found.centres)[found.labels[i]];
    double sum = 0.0;
    for (std::size_t j = 0; j < width(); ++j)
      sum += (places_[i][j] - centre[j]) * (places_[i][j] - centre[j]);
    return sum;
  }

  /// INOUT found: centres as the means of their points; one that has nothing stays where it is.
  void update(Clustering& found) const {
    std::vector<double> sums(n_clusters_ * width()), masses(n_clusters_);
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t label = found.labels[i];
      masses[label] += weights_[i];
      const auto sum = grid(sums)[label];
      for (std::size_t j = 0; j < width(); ++j) sum[j] += weights_[i] * places_[i][j];
    }
    for (std::size_t k = 0; k < n_clusters_; ++k)
      for (std::size_t j = 0; j < width(); ++j)
        if (masses[k] > 0.0) grid(found.centres)[k][j] = grid(sums)[k][j] / masses[k];
  }

  Grid<const double> places_;
  Span<const double> weights_;
  std::size_t n_clusters_;
  std::vector<double> columns_, running_;  // places transposed; running sums
  CentreTable table_;
  std::vector<double> room_;
};

}  // namespace

Clustering small_kmeans(WeightedPoints points, std::size_t n_clusters, std::size_t n_restarts,
                        std::uint64_t seed) {
  KMeans kmeans(points, n_clusters);
  Draws draws(seed);
  Clustering best = kmeans.run(draws);
  for (std::size_t restart = 1; restart < n_restarts; ++restart) {
    Clustering found = kmeans.run(draws);
    if (found.inertia < best.inertia) best = std::move(found);
  }
  return best;
}

}  // namespace viewpass
