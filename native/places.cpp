#include "places.hpp"

#include <algorithm>
#include <cmath>

#include "fixed_order.hpp"

namespace viewpass {
namespace {

constexpr double UNIT = 32768.0;  // of the weights of a mixture

}  // namespace

CentreTable::CentreTable(std::size_t n_centres, std::size_t width)
    : n_centres_(n_centres), width_(width), columns_(n_centres * width), squares_(n_centres) {}

void CentreTable::set(Grid<const double> centres) {
  std::fill(squares_.begin(), squares_.end(), 0.0);
  for (std::size_t k = 0; k < n_centres_; ++k)
    for (std::size_t j = 0; j < width_; ++j) {
      const double value = centres[k][j];
      columns_[j * n_centres_ + k] = value;
      squares_[k] += value * value;
    }
}

std::size_t CentreTable::nearest(Span<const double> point, Span<double> room) const {
  std::fill(room.begin(), room.end(), 0.0);
  const Span<const double> columns(columns_);
  accumulate(room, width_,
             [&](std::size_t j) { return times(point[j], columns.part(j * n_centres_, n_centres_)); });
  for (std::size_t k = 0; k < n_centres_; ++k) room[k] = squares_[k] - 2.0 * room[k];
  return static_cast<std::size_t>(std::min_element(room.begin(), room.end()) - room.begin());
}

void normalise(Span<double> x) {
  double square = 0.0;
  for (const double value : x) square += value * value;
  const double length = std::sqrt(square);
  if (length > 0.0)
    for (double& value : x) value /= length;
}

void graph_labels(MixedRows rows, Grid<const double> places, Grid<const double> centres,
                  Span<std::int32_t> labels) {
  CentreTable table(centres.n_rows(), centres.width());
  table.set(centres);
  std::vector<double> mixed(places.width()), room(centres.n_rows());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::fill(mixed.begin(), mixed.end(), 0.0);
    for (std::size_t near = 0; near < rows.near.width(); ++near) {
      const auto place = places[static_cast<std::size_t>(rows.near[i][near])];
      const double weight = static_cast<double>(rows.weights[i][near]) / UNIT;
      for (std::size_t j = 0; j < mixed.size(); ++j) mixed[j] += weight * place[j];
    }
    normalise(mixed);
    labels[i] = static_cast<std::int32_t>(table.nearest(mixed, room));
  }
}

}  // namespace viewpass
