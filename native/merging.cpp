#include "merging.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "fixed_order.hpp"

namespace viewpass {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

double ratio(double above, double below) { return below > 0.0 ? above / below : 0.0; }

/// The products of R - T g, where g is the mean of all rows.  IN counts; INOUT products.
void centre(Span<const double> counts, Grid<double> products) {
  const std::size_t n = counts.size();
  const double n_rows = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (n_rows == 0.0) return;
  std::vector<double> along(n);  // R g
  for (std::size_t k = 0; k < n; ++k) along[k] = lane_sum(products[k]) / n_rows;
  const double square = lane_sum(along) / n_rows;  // |g|^2
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      products[i][j] =
          products[i][j] - (counts[i] * along[j] + counts[j] * along[i]) + square * (counts[i] * counts[j]);
}

/// The prices of all pairs, kept up to date while clusters are merged.
class Board {
 public:
  Board(ClusterProducts total, Ridge ridge)
      : n_(total.counts.width()),
        n_views_(total.counts.n_rows()),
        alpha_(ridge.alpha),
        products_(total.sums),
        counts_(n_views_ * n_),
        energy_(n_views_ * n_),
        prices_(n_ * n_),
        alive_(n_, true),
        best_(n_, INFINITE),
        best_at_(n_, 0) {
    for (std::size_t v = 0; v < n_views_; ++v) {
      const auto from = total.counts[v];
      std::transform(from.begin(), from.end(), counts(v).begin(),
                     [](auto count) { return static_cast<double>(count); });
      if (ridge.to_mean) centre(counts(v), products_[v]);
      for (std::size_t k = 0; k < n_; ++k) set_energy(v, k);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      set_prices(i, i + 1);
      for (std::size_t j = 0; j < i; ++j) price(i, j) = price(j, i);
    }
    for (std::size_t i = 0; i < n_; ++i) find_best(i);
    for (std::size_t k = 0; k < n_; ++k)
      if (n_rows_of(k) == 0.0) waiting_.push_back(k);
    if (waiting_.size() == n_) waiting_.clear();
    n_empty_ = waiting_.size();
  }

  MergeOrder run() {
    MergeOrder order{{}, n_empty_};
    for (std::size_t at = 0; at + 1 < n_; ++at) {
      const Pair pair = at < n_empty_ ? with_largest(waiting_[at]) : cheapest();
      order.merges.push_back(
          {static_cast<std::int64_t>(pair.kept), static_cast<std::int64_t>(pair.gone), pair.price});
      merge(pair.kept, pair.gone);
    }
    return order;
  }

 private:
  struct Pair {
    std::size_t kept, gone;
    double price;
    Pair(std::size_t a, std::size_t b, double of) : kept(std::min(a, b)), gone(std::max(a, b)), price(of) {}
  };

  Span<double> counts(std::size_t v) { return Span<double>(counts_).part(v * n_, n_); }
  double& energy(std::size_t v, std::size_t k) { return energy_[v * n_ + k]; }
  double& price(std::size_t i, std::size_t j) { return prices_[i * n_ + j]; }

  double n_rows_of(std::size_t k) {
    double sum = 0.0;
    for (std::size_t v = 0; v < n_views_; ++v) sum += counts(v)[k];
    return sum;
  }

  void set_energy(std::size_t v, std::size_t k) {
    energy(v, k) = ratio(products_[v][k][k], counts(v)[k] + alpha_);
  }

  /// What merging cluster i with each from `first` on costs; infinite where there is no price.
  void set_prices(std::size_t i, std::size_t first) {
    price(i, i) = INFINITE;
    for (std::size_t j = first; j < n_; ++j) price(i, j) = i != j && alive_[j] ? price_of(i, j) : INFINITE;
  }

  double price_of(std::size_t i, std::size_t j) {
    double sum = 0.0;
    bool shared = false;
    for (std::size_t v = 0; v < n_views_; ++v) {
      const auto count = counts(v);
      const double both = products_[v][i][i] + products_[v][j][j] + 2.0 * products_[v][i][j];
      sum += energy(v, i) + energy(v, j) - ratio(both, count[i] + count[j] + alpha_);
      shared = shared || (count[i] > 0.0 && count[j] > 0.0);
    }
    return shared ? sum : INFINITE;
  }

  void find_best(std::size_t i) {
    const auto row = Span<const double>(prices_).part(i * n_, n_);
    const auto* least = std::min_element(row.begin(), row.end());
    best_[i] = *least;
    best_at_[i] = static_cast<std::size_t>(least - row.begin());
  }

  Pair with_largest(std::size_t empty) {
    std::size_t largest = n_;
    double most = -1.0;
    for (std::size_t k = 0; k < n_; ++k)
      if (k != empty && alive_[k] && n_rows_of(k) > most) {
        largest = k;
        most = n_rows_of(k);
      }
    return {empty, largest, 0.0};
  }

  Pair cheapest() {
    const auto a = static_cast<std::size_t>(std::min_element(best_.begin(), best_.end()) - best_.begin());
    return best_[a] < INFINITE ? Pair(a, best_at_[a], best_[a]) : two_smallest();
  }

  /// The two clusters with the fewest rows: nothing that shares a view is left.
  Pair two_smallest() {
    std::vector<std::size_t> left;
    std::vector<double> sizes(n_, 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t v = 0; v < n_views_; ++v) sizes[k] = std::max(sizes[k], counts(v)[k]);
      if (alive_[k]) left.push_back(k);
    }
    std::stable_sort(left.begin(), left.end(), [&](auto i, auto j) { return sizes[i] < sizes[j]; });
    return {left[0], left[1], 0.0};
  }

  void merge(std::size_t kept, std::size_t gone) {
    alive_[gone] = false;
    for (std::size_t v = 0; v < n_views_; ++v) {
      const auto products = products_[v];
      counts(v)[kept] += counts(v)[gone];
      for (std::size_t j = 0; j < n_; ++j) products[kept][j] += products[gone][j];
      for (std::size_t i = 0; i < n_; ++i) products[i][kept] += products[i][gone];
      set_energy(v, kept);
    }
    set_prices(kept, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      price(i, gone) = price(gone, i) = INFINITE;
      price(i, kept) = price(kept, i);
    }
    best_[gone] = INFINITE;
    find_best(kept);
    for (std::size_t i = 0; i < n_; ++i) {
      if (i == kept || !alive_[i]) continue;
      const double now = price(i, kept);
      if (best_at_[i] == kept || best_at_[i] == gone) {
        find_best(i);
      } else if (now < best_[i] || (now == best_[i] && kept < best_at_[i])) {
        best_[i] = now;
        best_at_[i] = kept;
      }
    }
  }

  std::size_t n_, n_views_, n_empty_ = 0;
  double alpha_;
  std::vector<Grid<double>> products_;
  std::vector<double> counts_, energy_;  // views x clusters
  std::vector<double> prices_;           // clusters x clusters
  std::vector<bool> alive_;
  std::vector<double> best_;  // the least price of each cluster, and with whom
  std::vector<std::size_t> best_at_, waiting_;
};

}  // namespace

MergeOrder merge_order(ClusterProducts total, Ridge ridge) { return Board(std::move(total), ridge).run(); }

}  // namespace viewpass
