#include "exact_sums.hpp"

#include <algorithm>
#include <numeric>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr size_t kTogether = 64;  // rows whose values are near one another in cache

template <class T>
size_t add_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> which, int sign,
                Span<int64_t> sums) {
  const auto add_rows = kernels().of(view.data).add_rows;
  const T* taken[kTogether];
  double scales[kTogether];
  size_t n_added = 0, n_taken = 0;
  auto flush = [&] {
    add_rows(taken, scales, n_taken, view.width, sign, sums.data());
    n_added += n_taken;
    n_taken = 0;
  };
  for (uint32_t i : which)
    if (const double scale = inverse[i]; scale > 0.0) {
      taken[n_taken] = view[i].values;
      scales[n_taken++] = scale;
      if (n_taken == kTogether) flush();
    }
  if (n_taken) flush();
  return n_added;
}

template <class T, class Index>
size_t add_view(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> which,
                int sign, Span<int64_t> sums) {
  size_t n_added = 0;
  for (uint32_t i : which)
    if (const double scale = inverse[i]; scale > 0.0) {
      const SparseRow<T, Index> row = view[i];
      for (size_t p = 0; p < row.n; ++p) {
        const uint64_t steps = bits_of(double(row.values[p]) * scale + kRounder) - kRounderBits;
        int64_t& sum = sums[row.column(p)];
        sum = int64_t(sign > 0 ? uint64_t(sum) + steps : uint64_t(sum) - steps);
      }
      ++n_added;
    }
  return n_added;
}

/// The same for rows that count more than once, or not at all.
template <class View>
int64_t add_copies(const View& view, Span<const double> inverse, Span<const int64_t> copies,
                   Span<const uint32_t> which, int sign, Span<int64_t> sums) {
  int64_t n_added = 0;
  for (uint32_t i : which)
    if (const double scale = inverse[i]; scale > 0.0 && copies[i]) {
      const auto row = view[i];
      const auto times = uint64_t(sign * copies[i]);
      for (size_t p = 0; p < row.n; ++p) {
        const uint64_t steps = bits_of(double(row.values[p]) * scale + kRounder) - kRounderBits;
        int64_t& sum = sums[row.column(p)];
        sum = int64_t(uint64_t(sum) + steps * times);
      }
      n_added += copies[i];
    }
  return n_added;
}

}  // namespace

void ExactSums::add(const Rows& rows, size_t v, size_t k, Span<const uint32_t> which, int sign) const {
  if (which.empty()) return;
  with_rows(rows.views[v], [&](const auto& view) {
    counts[v][k] += sign * (rows.copies.empty()
                                ? int64_t(add_view(view, rows.inverse[v], which, sign, sums[v][k]))
                                : add_copies(view, rows.inverse[v], rows.copies, which, sign, sums[v][k]));
  });
}

void ExactSums::add(const ExactSums& other, size_t k) const {
  for (size_t v = 0; v < n_views(); ++v)
    if (other.counts[v][k]) {
      const Span<int64_t> mine = sums[v][k], theirs = other.sums[v][k];
      for (size_t j = 0; j < theirs.size(); ++j) mine[j] += theirs[j];
      counts[v][k] += other.counts[v][k];
    }
}

void ExactSums::clear(size_t k) const {
  for (size_t v = 0; v < n_views(); ++v)
    if (counts[v][k]) {
      std::fill(sums[v][k].begin(), sums[v][k].end(), 0);
      counts[v][k] = 0;
    }
}

OwnSums::OwnSums(size_t n_clusters, const std::vector<size_t>& widths) {
  sums_.n_clusters = n_clusters;
  held_.reserve(2 * widths.size());
  for (size_t width : widths) {
    held_.emplace_back(n_clusters * width, 0);
    sums_.sums.emplace_back(held_.back().data(), n_clusters, width);
    held_.emplace_back(n_clusters, 0);
    sums_.counts.emplace_back(held_.back());
  }
}

std::vector<double> mean_row(const Rows& rows, size_t v, int64_t n) {
  Rows one;
  one.views = {rows.views[v]}, one.n_rows = rows.n_rows, one.inverse = {rows.inverse[v]};
  one.copies = rows.copies;
  const OwnSums total(1, {width_of(rows.views[v])});
  std::vector<uint32_t> all(rows.n_rows);
  std::iota(all.begin(), all.end(), 0u);
  total.get().add(one, 0, 0, all, 1);
  const auto number = double(n ? n : total.get().counts[0][0]);
  std::vector<double> mean;
  for (int64_t steps : total.get().sums[0][0]) mean.push_back(to_double(steps) * kStep / number);
  return mean;
}

}  // namespace viewpass
