#include "shard.hpp"

#include <algorithm>

namespace viewpass {

Kind Shard::assign(const Centres& centres, Team& team) {
  centres_ = centres;
  centres_.suit(rows_);
  assignment_.begin(rows_, centres.n_clusters, labels_, team);
  const Kind worst = assignment_.assign(centres_, [](std::size_t, std::size_t, std::size_t) {});
  rows_.measured = true;
  return worst;
}

void Shard::follow(const Centres& centres, Team& team) {
  assignment_.set_team(team);
  const double magnitude = ErrorBounds(centres_).magnitude;
  Drift& drift = assignment_.drift();
  for (std::size_t v = 0; v < centres.n_views(); ++v) {
    const ViewCentres& theirs = centres.views[v];
    ViewCentres& mine = centres_.views[v];
    if (!theirs.ready) continue;
    if (!mine.ready) mine = ViewCentres(centres.n_clusters, theirs.width, is_sparse(rows_.views[v]));
    for (std::size_t k = 0; k < centres.n_clusters; ++k) {
      const double before = mine.squares[k];
      const double shift = mine.replace(k, theirs.centre(k));
      if (!mine.ready)
        drift.move_without_bound(v, k);
      else if (shift > 0.0)
        drift.move(v, k, shift, mine.squares[k] - before, mine.width);
      else
        drift.stay(v, k);
    }
    mine.ready = true;
    mine.known = theirs.known;
    mine.lay_out();
  }
  drift.finish_update(std::max(magnitude, ErrorBounds(centres_).magnitude));
  assignment_.reassign(centres_);
}

}  // namespace viewpass
