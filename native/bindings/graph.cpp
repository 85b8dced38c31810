// What Python sees of the anchors' graph and of merging: arrays in, new arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "places.hpp"
#include "products.hpp"
#include "small_kmeans.hpp"
#include "spectrum.hpp"

namespace nb = nanobind;

namespace viewpass {
namespace {

template <class T, std::size_t N>
using Input = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::c_contig>;

void require(bool right, const char* what) {
  if (!right) throw std::invalid_argument(what);
}

template <class T>
Grid<const T> grid(const Input<T, 2>& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

/// A new array of the numbers, which it then owns.
template <class T>
Output<T> array_of(std::vector<T> numbers, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<std::vector<T>>(std::move(numbers));
  T* data = held->data();
  nb::capsule owner(held.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Output<T>(data, shape, owner);
}

nb::tuple spectrum(Input<std::int64_t, 2> links, std::size_t n_leading) {
  require(links.shape(0) == links.shape(1), "links must be square");
  require(n_leading >= 1 && n_leading <= links.shape(0), "n_leading must be from 1 to the number of anchors");
  const std::size_t n_anchors = links.shape(0);
  Spectrum found;
  std::vector<double> vectors(n_anchors * n_leading);
  {
    nb::gil_scoped_release released;
    found = leading_eigenpairs(grid(links), n_leading);
    for (std::size_t k = 0; k < n_leading; ++k)
      for (std::size_t i = 0; i < n_anchors; ++i)
        vectors[i * n_leading + k] = found.vectors[k * n_anchors + i];
  }
  return nb::make_tuple(array_of(std::move(found.values), {n_leading}),
                        array_of(std::move(vectors), {n_anchors, n_leading}));
}

nb::tuple kmeans(Input<double, 2> places, Input<double, 1> weights, std::size_t n_clusters,
                 std::size_t n_restarts, std::uint64_t seed) {
  require(places.shape(0) == weights.shape(0), "a weight for each place");
  require(places.shape(0) >= 1 && n_clusters >= 1 && n_restarts >= 1,
          "places, clusters and restarts: at least one");
  Clustering found;
  {
    nb::gil_scoped_release released;
    found = small_kmeans({grid(places), {weights.data(), weights.shape(0)}}, n_clusters, n_restarts, seed);
  }
  std::vector<std::int64_t> labels(found.labels.begin(), found.labels.end());
  return nb::make_tuple(array_of(std::move(labels), {places.shape(0)}),
                        array_of(std::move(found.centres), {n_clusters, places.shape(1)}));
}

Output<std::int32_t> labels_of(Input<std::int32_t, 2> near, Input<std::int64_t, 2> weights,
                               Input<double, 2> places, Input<double, 2> centres) {
  require(near.shape(0) == weights.shape(0) && near.shape(1) == weights.shape(1),
          "a weight for each near anchor");
  require(places.shape(1) == centres.shape(1) && centres.shape(0) >= 1, "places and centres: equal widths");
  const std::size_t n_anchors = places.shape(0);
  const bool inside = std::all_of(near.data(), near.data() + near.size(), [&](std::int32_t anchor) {
    return anchor >= 0 && static_cast<std::size_t>(anchor) < n_anchors;
  });
  require(inside, "near: there is no such anchor");
  std::vector<std::int32_t> labels(near.shape(0));
  {
    nb::gil_scoped_release released;
    graph_labels({grid(near), grid(weights)}, grid(places), grid(centres), labels);
  }
  return array_of(std::move(labels), {near.shape(0)});
}

Output<double> products_of(Input<double, 2> a, Input<double, 2> b) {
  require(a.shape(1) == b.shape(1), "a and b: equal widths");
  std::vector<double> out(a.shape(0) * b.shape(0));
  {
    nb::gil_scoped_release released;
    products(grid(a), grid(b), {out.data(), a.shape(0), b.shape(0)});
  }
  return array_of(std::move(out), {a.shape(0), b.shape(0)});
}

}  // namespace

void bind_graph(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("spectrum", &spectrum, "links"_a, "n_leading"_a,
        "The leading eigenvalues, falling, and eigenvectors (columns) of the links scaled by degrees.");
  m.def("small_kmeans", &kmeans, "places"_a, "weights"_a, "n_clusters"_a, "n_restarts"_a, "seed"_a,
        "Labels and centres of weighted points.");
  m.def("graph_labels", &labels_of, "near"_a, "weights"_a, "places"_a, "centres"_a,
        "The nearest centres of rows that are mixtures of anchors.");
  m.def("products", &products_of, "a"_a, "b"_a,
        "Inner products of all pairs of rows, in the fixed order of lanes.");
}

}  // namespace viewpass
