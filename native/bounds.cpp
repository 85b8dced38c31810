#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLengthAllowance = 1.0 + 1e-5;  // rows rounded to the grid may be a little longer
constexpr double kRounding = 0x1p-51;            // what each column may add to the rounding of a distance

}  // namespace

void Drift::begin(size_t n_views, size_t n_clusters, bool remembered) {
  n_views_ = n_views, n_clusters_ = n_clusters, n_padded_ = round_up(n_clusters, kVector);
  n_updates_ = first_ = 0;
  remembered_ = remembered;
  rise_.resize(n_views), fall_.resize(n_views), lowest_.resize(n_views);
  for (size_t v = 0; v < n_views; ++v) rise_[v].assign(n_clusters, 0.0), fall_[v].assign(n_clusters, 0.0);
  moved_.assign(n_clusters, 0);
}

void Drift::move(size_t v, size_t k, double shift, double change, size_t width, double longest) {
  if (!(shift > 0.0)) {
    rise_[v][k] = fall_[v][k] = 0.0;
    return;
  }
  const double reach = 2.0 * kLengthAllowance * longest * std::sqrt(shift) + kRounding * double(width + 16);
  rise_[v][k] = change + reach;
  fall_[v][k] = change - reach;
}

void Drift::move_without_bound(size_t v, size_t k) {
  rise_[v][k] = kInfinity;
  fall_[v][k] = -kInfinity;
}

void Drift::finish_update(double magnitude) {
  const size_t place = n_updates_ - first_;
  ++n_updates_;
  const size_t needed = (place + 1) * n_views_ * n_padded_;
  if (remembered_ && rises_.size() < needed) rises_.resize(needed), falls_.resize(needed);
  for (size_t v = 0; v < n_views_; ++v) {
    Lowest& low = lowest_[v];
    low = {kInfinity, kInfinity, 0};
    for (size_t k = 0; k < n_clusters_; ++k) {
      const double fall = fall_[v][k];
      low.second = std::min(low.second, std::max(low.least, fall));
      if (fall < low.least) low.least = fall, low.whose = k;
      if (fall != 0.0 || rise_[v][k] != 0.0) moved_[k] = n_updates_;
    }
    if (remembered_) remember(v, (magnitude + 1.0) * 0x1p-21);
  }
}

// Falls f are added up in float32 over at most 31 updates, then to a distance of size at most `magnitude`, at
// most once per update. Each of these additions loses at most 2^-24 of (magnitude + sum of |f|). So every
// update pays ahead: 2^-17 of its own |f| is more than 2 x 31 roundings of it, and the guard more than 2 of
// the magnitude.
void Drift::remember(size_t v, double guard) {
  const size_t now = n_updates_ - 1 - first_;
  for (size_t since = 0; since <= now; ++since) {
    float* rises = rises_.data() + (since * n_views_ + v) * n_padded_;
    float* falls = falls_.data() + (since * n_views_ + v) * n_padded_;
    if (since == now) std::fill_n(rises, n_padded_, 0.0f), std::fill_n(falls, n_padded_, 0.0f);
    for (size_t k = 0; k < n_clusters_; ++k) {
      const double rise = rise_[v][k], fall = fall_[v][k];
      if (rise == 0.0 && fall == 0.0) continue;
      rises[k] += float(rise + (std::abs(rise) * 0x1p-17 + guard));
      falls[k] += float(fall - (std::abs(fall) * 0x1p-17 + guard));
    }
  }
}

}  // namespace viewpass
