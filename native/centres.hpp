// The centres U (Eq. 13): exact, and laid out for the float32 filter with what it may be off by.
#pragma once

#include "exact_sums.hpp"

namespace viewpass {

/// What becomes of the centre of a cluster without rows: zero, the chunk's mean, or what it was.
enum class Fill { zero, chunk_mean, last_centre };

/// Centres of one view.
class ViewCentres {
 public:
  size_t width = 0, n_clusters = 0;
  bool ready = false;           // whether there are any yet
  std::vector<double> squares;  // |u|^2
  std::vector<double> traces;   // u.R, of the sums the loss is of
  std::vector<char> known;      // whether a cluster ever had a centre here
  std::vector<float> base;      // |u|^2 in float32, infinite beyond the last cluster

  ViewCentres() = default;
  /// Zero centres; `sparse`: of a view whose rows are CSR.
  ViewCentres(size_t n, size_t columns, bool sparse);

  bool sparse() const { return sparse_; }
  size_t n_padded() const { return base.size(); }
  Span<double> values() { return values_; }
  Span<const double> values() const { return values_; }
  Span<const double> centre(size_t k) const { return values().part(k * width, width); }
  /// A centre in float32 (dense views only).
  const float* narrow(size_t k) const { return narrow_.data() + k * width; }
  /// Dense: panels of kPanel clusters, column by column. Sparse: columns x n_padded.
  const float* layout() const { return layout_.data(); }
  size_t panel_stride() const { return width * kPanel; }
  double longest() const;
  /// u.R.
  double trace_of(size_t k, Span<const int64_t> sums) const;
  /// A cluster's term of the loss: |u|^2 (T + alpha) - 2 u.R.
  double loss(size_t k, int64_t count, double alpha, double trace) const {
    return squares[k] * (double(count) + alpha) - 2.0 * trace;
  }

  /// Eq. 13 for one cluster: u = R / (T + alpha); without rows it is filled, by `mean` where it has no last
  /// centre. Gives |u - u before|^2.
  double renew(size_t k, Span<const int64_t> sums, int64_t count, double alpha, Fill fill,
               const std::vector<double>& mean);
  /// Whether a cluster without rows keeps its last centre.
  bool keeps(size_t k, Fill fill) const { return fill == Fill::last_centre && ready && known[k]; }
  /// Replaces a centre. Gives the squared distance between old and new.
  double replace(size_t k, Span<const double> by);
  /// The float32 layout consists of parts that can be updated concurrently.
  size_t n_layout_parts() const;
  void lay_out(size_t part, Span<const char> changed);
  void lay_out();
  /// The layout for rows of the other kind.
  void set_sparse(bool sparse);
  /// Becomes some clusters of another, with only what the filter needs.
  void pick(const ViewCentres& all, Span<const uint32_t> clusters);

 private:
  void derive(size_t k, double square);
  void allocate();

  bool sparse_ = false;
  std::vector<double> values_;  // clusters x columns
  std::vector<float> narrow_, layout_;
};

/// Centres of every view.
struct Centres {
  size_t n_clusters = 0;
  std::vector<ViewCentres> views;

  size_t n_views() const { return views.size(); }
  size_t n_padded() const { return round_up(n_clusters, kVector); }
  void pick(const Centres& all, Span<const uint32_t> clusters);
  /// Lays every view out as the rows need it; views without centres get their width from the rows.
  void suit(const Rows& rows);
  /// Whether every view is laid out as the rows need it.
  bool suits(const Rows& rows) const;
};

/// Eq. 13 for all views and clusters: what centres are updated from.
struct CentreUpdate {
  const ExactSums& total;
  Span<const char> seen;                          // views whose centres are to be updated
  Span<const char> changed;                       // clusters whose sums changed since the last update
  const std::vector<std::vector<double>>& means;  // per view: for clusters without rows and last centre
  Span<const double> alpha;                       // per view
  Fill fill;

  /// One cluster of view v. `traces`: also updates traces of views that are not seen. Gives
  /// |u - u before|^2.  INOUT u.
  double renew(ViewCentres& u, size_t v, size_t k, bool traces) const;
  /// After all clusters of a view that is seen, and its layout.  INOUT u.
  void finish(ViewCentres& u, size_t v) const;
  /// All of it on one thread.  INOUT centres.
  void run(Centres& centres) const;
};

/// L = sum of |u|^2 (T + alpha) - 2 u.R, in this order (Eq. 17-20 without S); alpha of each view.
double loss(const Centres& centres, const ExactSums& total, Span<const double> alpha);

}  // namespace viewpass
