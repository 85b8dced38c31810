// Some rows of a chunk on a worker: the half of a chunk step that needs rows. The coordinator, which has the
// sums, makes the centres.
#pragma once

#include "assignment.hpp"

namespace viewpass {

class Shard {
 public:
  /// OUT labels: written whenever rows are assigned.
  Shard(const Rows& rows, Span<int32_t> labels) : rows_(rows), labels_(labels) {}

  /// Assigns all rows. Gives the worst kind of row met.
  Kind assign(const Centres& centres, Team& team);
  /// Assigns rows anew whose label the move to these centres may have changed; rows that moved: `moved`,
  /// `before`.
  void follow(const Centres& centres, Team& team);
  const std::vector<uint32_t>& moved() const { return assignment_.moved(); }
  int32_t before(std::size_t i) const { return assignment_.before(i); }

 private:
  Rows rows_;
  Span<int32_t> labels_;
  Assignment assignment_;
  Centres centres_;
};

}  // namespace viewpass
