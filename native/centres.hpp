// The centres U (Eq. 13): exact, and laid out for the float32 filter with what it may be off by.
#pragma once

#include <memory>

#include "exact_sums.hpp"
#include "memory.hpp"

namespace viewpass {

/// What becomes of the centre of a cluster without rows: zero, the chunk's mean, or what it was.
enum class Fill { zero, chunk_mean, last_centre };

/// Centres of one view.
class ViewCentres {
 public:
  std::size_t width = 0, n_clusters = 0;
  bool ready = false;           // whether there are any yet
  std::vector<double> squares;  // |u|^2
  std::vector<double> traces;   // u.R, of the sums the loss is of
  std::vector<char> known;      // whether a cluster ever had a centre here
  std::vector<float> base;      // |u|^2 in float32, infinite beyond the last cluster

  ViewCentres() = default;
  /// Room for centres, all zero; `sparse`: of a view whose rows are CSR.
  ViewCentres(std::size_t n, std::size_t columns, bool sparse);

  bool sparse() const { return sparse_; }
  std::size_t n_padded() const { return base.size(); }
  Span<double> values() { return values_; }
  Span<const double> values() const { return values_; }
  Span<const double> centre(std::size_t k) const { return values().part(k * width, width); }
  /// A centre in float32 (dense views only).
  const float* narrow(std::size_t k) const { return narrow_.data() + k * width; }
  /// Dense: panels of kPanel clusters, column by column. Sparse: columns x n_padded.
  const float* layout() const { return layout_.data(); }
  std::size_t panel_stride() const { return width * kPanel; }
  double longest() const;
  double trace_of(std::size_t k, Span<const int64_t> sums) const;

  /// Eq. 13 for one cluster: u = R / (T + alpha); without rows it is filled, by `mean` where it has no last
  /// centre. Gives |u - u before|^2.
  double renew(std::size_t k, Span<const int64_t> sums, int64_t count, double alpha, Fill fill,
               const std::vector<double>& mean, std::vector<double>& scratch);
  /// Whether a cluster without rows keeps its last centre.
  bool keeps(std::size_t k, Fill fill) const { return fill == Fill::last_centre && ready && known[k]; }
  /// Puts another centre in place of one. Gives how far it is from it, squared.
  double replace(std::size_t k, Span<const double> by);
  /// Parts of the float32 layout that can be brought up to date side by side, and one of them.
  std::size_t n_layout_parts() const;
  void lay_out(std::size_t part, Span<const char> changed);
  void lay_out();
  /// The layout for rows of the other kind.
  void set_sparse(bool sparse);
  /// Some clusters of another as if they were all there are: only what the filter needs.
  void pick(const ViewCentres& all, Span<const uint32_t> clusters);
  /// The same with everything.
  ViewCentres take(Span<const uint32_t> clusters) const;

 private:
  void follow(std::size_t k, double square);
  void make_room();

  bool sparse_ = false;
  std::vector<double> values_;  // clusters x columns
  std::vector<float> narrow_, layout_;
};

/// Centres of every view.
struct Centres {
  std::size_t n_clusters = 0;
  std::vector<ViewCentres> views;

  std::size_t n_views() const { return views.size(); }
  std::size_t n_padded() const { return round_up(n_clusters, kVector); }
  void pick(const Centres& all, Span<const uint32_t> clusters);
  Centres take(Span<const uint32_t> clusters) const;
  /// Has every view laid out as the rows need it, with room for views that have none yet.
  void suit(const Rows& rows);
};

/// L = sum of |u|^2 (T + alpha) - 2 u.R, in this order (Eq. 17-20 without S).
double loss(const Centres& centres, const ExactSums& total, double alpha);

}  // namespace viewpass
