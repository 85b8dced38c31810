#include "near_merges.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ratio(double above, double below) { return below > 0.0 ? above / below : 0.0; }

struct Entry {
  double price;
  uint32_t a, b;                  // a < b
  uint32_t version_a, version_b;  // that the price is of

  bool operator>(const Entry& other) const {
    if (price != other.price) return price > other.price;
    return a != other.a ? a > other.a : b > other.b;
  }
};

class NearMerging {
 public:
  explicit NearMerging(const NearClusters& of)
      : of_(of),
        n_(of.counts.width()),
        counts_(of.sums.size()),
        squares_(of.sums.size()),
        version_(n_, 0),
        alive_(n_, 1),
        near_(n_) {
    for (size_t v = 0; v < of.sums.size(); ++v) {
      counts_[v].assign(of.counts[v].begin(), of.counts[v].end());
      for (size_t k = 0; k < n_; ++k) squares_[v].push_back(ordered_dot(of.sums[v][k], of.sums[v][k]));
    }
    for (uint32_t a = 0; a < n_; ++a)
      for (auto at = of.starts[a]; at < of.starts[a + 1]; ++at)
        if (const auto b = uint32_t(of.others[size_t(at)]); a != b) near_[a].insert(b), near_[b].insert(a);
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b : near_[a])
        if (b > a) push(a, b);
  }

  MergeOrder run(size_t most) {
    MergeOrder order;
    for (size_t step = 0; step < most && step + 1 < n_; ++step) {
      const Entry found = cheapest();
      order.pairs.insert(order.pairs.end(), {int64_t(found.a), int64_t(found.b)});
      order.prices.push_back(found.price);
      merge(found.a, found.b);
    }
    return order;
  }

 private:
  double price_of(uint32_t a, uint32_t b) const {
    double price = 0.0;
    for (size_t v = 0; v < of_.sums.size(); ++v) {
      const double own = counts_[v][a], theirs = counts_[v][b], ridge = of_.ridges[v];
      const double dot = ordered_dot(of_.sums[v][b], of_.sums[v][a]);
      const double both = (squares_[v][a] + squares_[v][b]) + 2.0 * dot;
      price += ratio(squares_[v][a], own + ridge) + ratio(squares_[v][b], theirs + ridge);
      price -= ratio(both, (own + theirs) + ridge);
    }
    return price;
  }

  void push(uint32_t a, uint32_t b) {
    const double price = price_of(a, b);
    queue_.push({price, std::min(a, b), std::max(a, b), version_[std::min(a, b)], version_[std::max(a, b)]});
  }

  double n_rows(size_t k) const {
    double sum = 0.0;
    for (const auto& counts : counts_) sum += counts[k];
    return sum;
  }

  Entry cheapest() {
    while (!queue_.empty()) {
      const Entry found = queue_.top();
      queue_.pop();
      if (alive_[found.a] && alive_[found.b] && version_[found.a] == found.version_a &&
          version_[found.b] == found.version_b)
        return found;
    }
    uint32_t smallest = uint32_t(n_), best = uint32_t(n_);
    for (uint32_t k = 0; k < n_; ++k)
      if (alive_[k] && (smallest == n_ || n_rows(k) < n_rows(smallest))) smallest = k;
    double least = kInfinity;
    for (uint32_t k = 0; k < n_; ++k)
      if (alive_[k] && k != smallest) {
        const double price = price_of(smallest, k);
        if (best == n_ || price < least) least = price, best = k;
      }
    return {least, std::min(smallest, best), std::max(smallest, best), 0, 0};
  }

  void merge(uint32_t kept, uint32_t gone) {
    alive_[gone] = 0;
    ++version_[kept];
    for (size_t v = 0; v < of_.sums.size(); ++v) {
      counts_[v][kept] += counts_[v][gone];
      const auto to = of_.sums[v][kept], from = of_.sums[v][gone];
      for (size_t j = 0; j < to.size(); ++j) to[j] += from[j];
      squares_[v][kept] = ordered_dot(to, to);
    }
    for (uint32_t b : near_[gone]) {
      near_[b].erase(gone);
      if (b != kept) near_[b].insert(kept), near_[kept].insert(b);
    }
    near_[gone].clear();
    for (uint32_t b : near_[kept]) push(kept, b);
  }

  const NearClusters& of_;
  size_t n_;
  std::vector<std::vector<double>> counts_, squares_;  // of each view: T and |R|^2
  std::vector<uint32_t> version_;
  std::vector<char> alive_;
  std::vector<std::set<uint32_t>> near_;  // candidates
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

MergeOrder merge_near(const NearClusters& clusters, size_t most) { return NearMerging(clusters).run(most); }

}  // namespace viewpass
