#include "agglomeration.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ratio(double above, double below) { return below > 0.0 ? above / below : 0.0; }

/// The products of R - T g, where g is the mean of all rows.  IN counts T; INOUT products.
void centre(const std::vector<double>& counts, Grid<double> products) {
  const size_t n = counts.size();
  const double n_rows = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (n_rows == 0.0) return;
  const std::vector<double> ones(n, 1.0);
  std::vector<double> along(n);  // R g
  for (size_t k = 0; k < n; ++k) along[k] = ordered_dot(products[k], ones) / n_rows;
  const double square = ordered_dot(along, ones) / n_rows;  // |g|^2
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      products[i][j] =
          products[i][j] - (counts[i] * along[j] + counts[j] * along[i]) + square * (counts[i] * counts[j]);
}

/// The prices of all merges, kept up to date while clusters are merged.
class PriceTable {
 public:
  PriceTable(Grid<const int64_t> counts, const std::vector<Grid<double>>& products, Span<const double> alpha,
             bool to_mean)
      : n_(counts.width()), prices_(n_ * n_), best_(n_), partner_(n_), alive_(n_, 1) {
    for (size_t v = 0; v < products.size(); ++v) {
      views_.push_back({alpha[v],
                        products[v],
                        {counts[v].begin(), counts[v].end()},
                        std::vector<double>(n_),
                        std::vector<double>(n_)});
      if (to_mean) centre(views_[v].counts, products[v]);
      for (size_t k = 0; k < n_; ++k) set_energy(views_[v], k);
    }
    for (size_t k = 0; k < n_; ++k) {
      for (size_t j = 0; j < n_; ++j) price(k, j) = price_of(k, j);
      find_best(k);
    }
  }

  MergeOrder run(size_t most) {
    std::vector<size_t> empty;
    for (size_t k = 0; k < n_; ++k)
      if (n_rows(k) == 0.0) empty.push_back(k);
    if (empty.size() == n_) empty.clear();
    MergeOrder order;
    order.n_empty = empty.size();
    for (size_t step = 0; step + 1 < n_ && step < most; ++step) {
      auto [a, b] = step < empty.size() ? Pair(empty[step], largest_but(empty[step])) : cheapest();
      const bool priced = step >= empty.size() && best_[a] < kInfinity;
      order.prices.push_back(priced ? best_[a] : 0.0);
      if (b < a) std::swap(a, b);
      order.pairs.insert(order.pairs.end(), {int64_t(a), int64_t(b)});
      merge(a, b);
    }
    return order;
  }

 private:
  using Pair = std::pair<size_t, size_t>;
  struct View {
    double alpha;
    Grid<double> products;
    std::vector<double> counts, squares, energy;  // T, |R|^2 and |R|^2 / (T + alpha)
  };

  double& price(size_t i, size_t j) { return prices_[i * n_ + j]; }

  double n_rows(size_t k) const {
    double sum = 0.0;
    for (const View& view : views_) sum += view.counts[k];
    return sum;
  }

  void set_energy(View& view, size_t k) const {
    view.squares[k] = view.products[k][k];
    view.energy[k] = ratio(view.squares[k], view.counts[k] + view.alpha);
  }

  /// What merging two clusters adds to J; infinite where they share no view.
  double price_of(size_t i, size_t j) const {
    if (i == j || !alive_[j]) return kInfinity;
    double sum = 0.0;
    bool shared = false;
    for (const auto& [alpha, products, counts, squares, energy] : views_) {
      const double both = squares[i] + squares[j] + 2.0 * products[i][j];
      sum += energy[i] + energy[j] - ratio(both, counts[i] + counts[j] + alpha);
      shared = shared || (counts[i] > 0.0 && counts[j] > 0.0);
    }
    return shared ? sum : kInfinity;
  }

  void find_best(size_t k) {
    const double* row = &price(k, 0);
    partner_[k] = size_t(std::min_element(row, row + n_) - row);
    best_[k] = row[partner_[k]];
  }

  size_t largest_but(size_t empty) const {
    size_t largest = n_;
    for (size_t k = 0; k < n_; ++k)
      if (k != empty && alive_[k] && (largest == n_ || n_rows(k) > n_rows(largest))) largest = k;
    return largest;
  }

  /// The cheapest pair; where no two clusters share a view, the two with the fewest rows.
  Pair cheapest() const {
    const auto a = size_t(std::min_element(best_.begin(), best_.end()) - best_.begin());
    if (best_[a] < kInfinity) return {a, partner_[a]};
    std::vector<std::pair<double, size_t>> sizes;
    for (size_t k = 0; k < n_; ++k) {
      double size = 0.0;
      for (const View& view : views_) size = std::max(size, view.counts[k]);
      if (alive_[k]) sizes.emplace_back(size, k);
    }
    std::partial_sort(sizes.begin(), sizes.begin() + 2, sizes.end());
    return {sizes[0].second, sizes[1].second};
  }

  void merge(size_t kept, size_t gone) {
    alive_[gone] = 0;
    for (View& view : views_) {
      view.counts[kept] += view.counts[gone];
      for (size_t j = 0; j < n_; ++j) view.products[kept][j] += view.products[gone][j];
      for (size_t i = 0; i < n_; ++i) view.products[i][kept] += view.products[i][gone];
      set_energy(view, kept);
    }
    for (size_t i = 0; i < n_; ++i) {
      price(i, gone) = price(gone, i) = kInfinity;
      price(i, kept) = price(kept, i) = price_of(kept, i);
    }
    for (size_t i = 0; i < n_; ++i) {
      const double now = price(i, kept);
      if (i == kept || i == gone || partner_[i] == kept || partner_[i] == gone)
        find_best(i);
      else if (now < best_[i] || (now == best_[i] && kept < partner_[i]))
        best_[i] = now, partner_[i] = kept;
    }
  }

  size_t n_;
  std::vector<View> views_;
  std::vector<double> prices_;   // clusters x clusters
  std::vector<double> best_;     // the least price of each cluster,
  std::vector<size_t> partner_;  // and with which one: the lowest of equals
  std::vector<char> alive_;
};

}  // namespace

void products(Grid<const double> a, Grid<const double> b, Grid<double> out) {
  constexpr size_t kTile = 16;  // rows of b that stay in the cache
  const bool same = a.data() == b.data() && a.n_rows() == b.n_rows();
  for (size_t first = 0; first < b.n_rows(); first += kTile) {
    const size_t last = std::min(first + kTile, b.n_rows());
    for (size_t i = 0; i < (same ? last : a.n_rows()); ++i)
      for (size_t j = same ? std::max(first, i) : first; j < last; ++j) {
        out[i][j] = ordered_dot(a[i], b[j]);
        if (same) out[j][i] = out[i][j];
      }
  }
}

MergeOrder agglomerate(Grid<const int64_t> counts, const std::vector<Grid<double>>& products,
                       Span<const double> alpha, bool to_mean, size_t most) {
  return PriceTable(counts, products, alpha, to_mean).run(most);
}

}  // namespace viewpass
