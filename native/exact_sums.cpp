#include "exact_sums.hpp"

#include <algorithm>
#include <numeric>

#include "exact.hpp"

namespace viewpass {

namespace {

constexpr std::size_t kTogether = 64;  // rows whose values are near one another in cache

template <class T>
std::size_t add_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> which,
                     int sign, Span<int64_t> sums) {
  const auto add_rows = dense_kernels(kernels(), view.data).add_rows;
  const T* taken[kTogether];
  double scales[kTogether];
  std::size_t n_added = 0, n_taken = 0;
  auto flush = [&] {
    add_rows(taken, scales, n_taken, view.width, sign, sums.data());
    n_added += n_taken;
    n_taken = 0;
  };
  for (uint32_t i : which)
    if (const double scale = inverse[i]; scale > 0.0) {
      taken[n_taken] = view[i];
      scales[n_taken++] = scale;
      if (n_taken == kTogether) flush();
    }
  if (n_taken) flush();
  return n_added;
}

template <class T, class Index>
std::size_t add_view(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> which,
                     int sign, Span<int64_t> sums) {
  std::size_t n_added = 0;
  for (uint32_t i : which)
    if (const double scale = inverse[i]; scale > 0.0) {
      const SparseRow<T, Index> row = view[i];
      for (std::size_t p = 0; p < row.n; ++p) {
        const uint64_t steps = bits_of(double(row.values[p]) * scale + kRounder) - kRounderBits;
        int64_t& sum = sums[std::size_t(row.columns[p])];
        sum = int64_t(sign > 0 ? uint64_t(sum) + steps : uint64_t(sum) - steps);
      }
      ++n_added;
    }
  return n_added;
}

}  // namespace

void ExactSums::add(const Rows& rows, std::size_t v, std::size_t k, Span<const uint32_t> which,
                    int sign) const {
  if (which.empty()) return;
  std::visit(
      [&](const auto& view) {
        if constexpr (!is_none<std::decay_t<decltype(view)>>) {
          const std::size_t n = add_view(view, rows.inverse[v], which, sign, sums[v][k]);
          counts[v][k] += sign * int64_t(n);
        }
      },
      rows.views[v]);
}

void ExactSums::add(const ExactSums& other, std::size_t k) const {
  for (std::size_t v = 0; v < n_views(); ++v)
    if (other.counts[v][k]) {
      const Span<int64_t> mine = sums[v][k], theirs = other.sums[v][k];
      for (std::size_t j = 0; j < theirs.size(); ++j) mine[j] += theirs[j];
      counts[v][k] += other.counts[v][k];
    }
}

void ExactSums::clear(std::size_t k) const {
  for (std::size_t v = 0; v < n_views(); ++v)
    if (counts[v][k]) {
      std::fill(sums[v][k].begin(), sums[v][k].end(), 0);
      counts[v][k] = 0;
    }
}

int64_t ExactSums::count(std::size_t k) const {
  int64_t most = 0;
  for (std::size_t v = 0; v < n_views(); ++v) most = std::max(most, counts[v][k]);
  return most;
}

OwnSums::OwnSums(std::size_t n_clusters, const std::vector<std::size_t>& widths) {
  sums_.n_clusters = n_clusters;
  held_.reserve(2 * widths.size());
  for (std::size_t width : widths) {
    held_.emplace_back(n_clusters * width, 0);
    sums_.sums.emplace_back(held_.back().data(), n_clusters, width);
    held_.emplace_back(n_clusters, 0);
    sums_.counts.emplace_back(held_.back());
  }
}

std::vector<double> mean_row(const Rows& rows, std::size_t v, std::size_t n) {
  Rows one;
  one.views = {rows.views[v]}, one.n_rows = rows.n_rows, one.inverse = {rows.inverse[v]};
  const OwnSums total(1, {width_of(rows.views[v])});
  std::vector<uint32_t> everyone(rows.n_rows);
  std::iota(everyone.begin(), everyone.end(), 0u);
  total.get().add(one, 0, 0, everyone, 1);
  const auto number = double(n ? int64_t(n) : total.get().counts[0][0]);
  std::vector<double> mean;
  for (int64_t steps : total.get().sums[0][0]) mean.push_back(to_double(steps) * kStep / number);
  return mean;
}

}  // namespace viewpass
