#include "centres.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr size_t kColumns = 4096;  // of a part of a sparse layout

}  // namespace

ViewCentres::ViewCentres(size_t n, size_t columns, bool sparse)
    : width(columns),
      n_clusters(n),
      squares(n, 0.0),
      traces(n, 0.0),
      known(n, 0),
      sparse_(sparse),
      values_(n * columns, 0.0) {
  allocate();
}

void ViewCentres::allocate() {
  base.assign(round_up(n_clusters, kVector), std::numeric_limits<float>::infinity());
  std::fill_n(base.begin(), n_clusters, 0.0f);
  narrow_.assign(sparse_ ? 0 : n_clusters * width, 0.0f);
  layout_.assign(sparse_ ? n_padded() * width : round_up(n_clusters, kPanel) * width, 0.0f);
}

double ViewCentres::longest() const {
  double square = 0.0;
  for (double s : squares) square = std::max(square, s);
  return std::sqrt(square);
}

double ViewCentres::trace_of(size_t k, Span<const int64_t> sums) const {
  return kernels().trace(centre(k).data(), sums.data(), width);
}

double ViewCentres::renew(size_t k, Span<const int64_t> sums, int64_t count, double alpha, Fill fill,
                          const std::vector<double>& mean) {
  if (count == 0) {
    traces[k] = 0.0;
    if (keeps(k, fill)) return 0.0;
    return replace(k, fill == Fill::zero ? std::vector<double>(width, 0.0) : mean);
  }
  double* centre = values_.data() + k * width;
  const Renewed made = kernels().renew_centre(sums.data(), kStep / (double(count) + alpha), width, centre);
  derive(k, made.square);
  traces[k] = (double(count) + alpha) * squares[k];  // u.R = u.u (T + alpha)
  return made.shift;
}

double ViewCentres::replace(size_t k, Span<const double> by) {
  double* mine = values_.data() + k * width;
  const double shift = kernels().distance(by.data(), mine, width);
  std::copy(by.begin(), by.end(), mine);
  derive(k, kernels().f64.square(mine, width));
  return shift;
}

/// Sets what is derived from a centre's values.
void ViewCentres::derive(size_t k, double square) {
  squares[k] = square;
  base[k] = float(square);
  if (!sparse_) kernels().f64.narrow(values_.data() + k * width, 1.0, width, narrow_.data() + k * width);
}

size_t ViewCentres::n_layout_parts() const {
  return sparse_ ? (width + kColumns - 1) / kColumns : (n_clusters + kPanel - 1) / kPanel;
}

void ViewCentres::lay_out(size_t part, Span<const char> changed) {
  if (sparse_) {  // some columns of all clusters
    const size_t from = part * kColumns, to = std::min(from + kColumns, width);
    std::vector<size_t> which;
    for (size_t k = 0; k < n_clusters; ++k)
      if (changed[k]) which.push_back(k);
    for (size_t j = from; j < to; ++j)
      for (size_t k : which) layout_[j * n_padded() + k] = float(values_[k * width + j]);
    return;
  }
  const size_t first = part * kPanel, n = std::min(kPanel, n_clusters - first);
  if (std::none_of(changed.begin() + first, changed.begin() + first + n, [](char c) { return c != 0; }))
    return;
  float* panel = layout_.data() + first * width;
  for (size_t j = 0; j < width; ++j)
    for (size_t c = 0; c < n; ++c) panel[j * kPanel + c] = narrow_[(first + c) * width + j];
}

void ViewCentres::lay_out() {
  const std::vector<char> all(n_clusters, 1);
  for (size_t part = 0; part < n_layout_parts(); ++part) lay_out(part, all);
}

void ViewCentres::set_sparse(bool sparse) {
  if (sparse == sparse_ && !layout_.empty()) return;
  sparse_ = sparse;
  allocate();
  for (size_t k = 0; k < n_clusters; ++k) derive(k, squares[k]);
  lay_out();
}

void ViewCentres::pick(const ViewCentres& all, Span<const uint32_t> clusters) {
  width = all.width, n_clusters = clusters.size(), ready = all.ready, sparse_ = all.sparse_;
  squares.resize(n_clusters);
  base.assign(round_up(n_clusters, kVector), std::numeric_limits<float>::infinity());
  for (size_t c = 0; c < n_clusters; ++c)
    base[c] = all.base[clusters[c]], squares[c] = all.squares[clusters[c]];
  if (sparse_) {
    layout_.resize(n_padded() * width);
    for (size_t j = 0; j < width; ++j)
      for (size_t c = 0; c < n_clusters; ++c)
        layout_[j * n_padded() + c] = all.layout_[j * all.n_padded() + clusters[c]];
    return;
  }
  layout_.resize(round_up(n_clusters, kPanel) * width);
  for (size_t first = 0; first < n_clusters; first += kPanel) {
    const size_t n = std::min(kPanel, n_clusters - first);
    float* panel = layout_.data() + first * width;
    for (size_t j = 0; j < width; ++j)
      for (size_t c = 0; c < n; ++c) panel[j * kPanel + c] = all.narrow(clusters[first + c])[j];
  }
}

void Centres::pick(const Centres& all, Span<const uint32_t> clusters) {
  n_clusters = clusters.size();
  views.resize(all.views.size());
  for (size_t v = 0; v < views.size(); ++v) views[v].pick(all.views[v], clusters);
}

void Centres::suit(const Rows& rows) {
  for (size_t v = 0; v < views.size(); ++v) {
    const size_t width = width_of(rows.views[v]);
    if (views[v].width == 0 && !views[v].ready && width) {
      std::vector<char> known = views[v].known;
      views[v] = ViewCentres(n_clusters, width, is_sparse(rows.views[v]));
      views[v].known = known;
    } else if (width) {
      views[v].set_sparse(is_sparse(rows.views[v]));
    }
  }
}

bool Centres::suits(const Rows& rows) const {
  for (size_t v = 0; v < views.size(); ++v)
    if (views[v].ready && width_of(rows.views[v]) && views[v].sparse() != is_sparse(rows.views[v]))
      return false;
  return true;
}

double CentreUpdate::renew(ViewCentres& u, size_t v, size_t k, bool traces) const {
  if (!seen[v] && traces && u.ready) u.traces[k] = u.trace_of(k, total.sums[v][k]);
  if (!seen[v] || (u.ready && !changed[k])) return 0.0;
  return u.renew(k, total.sums[v][k], total.counts[v][k], alpha[v], fill, means[v]);
}

void CentreUpdate::finish(ViewCentres& u, size_t v) const {
  u.ready = true;
  for (size_t k = 0; k < u.n_clusters; ++k) u.known[k] |= fill != Fill::zero || total.counts[v][k] > 0;
}

void CentreUpdate::run(Centres& centres) const {
  for (size_t v = 0; v < centres.n_views(); ++v) {
    ViewCentres& u = centres.views[v];
    for (size_t k = 0; k < total.n_clusters; ++k) renew(u, v, k, true);
    if (!seen[v]) continue;
    u.lay_out();
    finish(u, v);
  }
}

double loss(const Centres& centres, const ExactSums& total, Span<const double> alpha) {
  double value = 0.0;
  for (size_t v = 0; v < centres.n_views(); ++v) {
    const ViewCentres& u = centres.views[v];
    for (size_t k = 0; u.ready && k < u.n_clusters; ++k)
      value += u.loss(k, total.counts[v][k], alpha[v], u.traces[k]);
  }
  return value;
}

}  // namespace viewpass
