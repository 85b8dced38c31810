// Starts, scales and least squares as Python calls them.
#include "../kernels.hpp"
#include "../nnls.hpp"
#include "../scaling.hpp"
#include "../seeds.hpp"
#include "../soft_start.hpp"
#include "objects.hpp"

namespace viewpass {
namespace {

PyCentres soft_centres_of(const PyRows& rows, Table<const double> memberships, Vector<const double> alpha,
                          bool fill, bool zero_filled, size_t n_threads) {
  expect(memberships.shape(0) == rows.n_rows, "a row of memberships per row is needed");
  expect(alpha.shape(0) == rows.n_views(), "an alpha per view is needed");
  return without_lock(n_threads, [&](Team& team) {
    return std::make_shared<Centres>(
        soft_centres(rows, grid_of(memberships), span_of(alpha), fill, zero_filled, team));
  });
}

auto draw_seeds_of(const PyRows& rows, Table<const double> points, size_t n_groups, size_t n_threads) {
  expect(n_groups > 0, "at least one group is needed");
  const size_t n = rows.n_rows, n_sets = points.shape(1);
  std::vector<int32_t> labels(n_sets * n, 0);
  without_lock(n_threads, [&](Team& team) {
    draw_seeds(rows, grid_of(points), n_groups, {labels.data(), n_sets, n}, team);
  });
  return array_of(std::move(labels), {n_sets, n});
}

template <class T>
auto standardise_rows(Table<const T> rows, Vector<const bool> wanted, Vector<const double> mean,
                      Vector<const double> weights, Table<T> out, size_t n_threads) {
  const size_t n = rows.shape(0), width = rows.shape(1);
  expect(
      wanted.shape(0) == n && mean.shape(0) == width && weights.shape(0) == width && has_shape(out, n, width),
      "wanted, mean, weights and out must fit the rows");
  auto* present = new bool[n];  // the capsule deletes it
  nb::capsule owner(present, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  without_lock(n_threads, [&](Team& team) {
    standardise(grid_of(rows), span_of(wanted), span_of(mean), span_of(weights), grid_of(out), {present, n},
                team);
  });
  return nb::ndarray<nb::numpy, bool>(present, {n}, owner);
}

template <class T>
auto centre_dense(Table<const T> rows, Vector<const bool> wanted, Vector<const double> mean, double weight,
                  double longest, Table<T> out, size_t n_threads) {
  const size_t n = rows.shape(0), width = rows.shape(1);
  expect(wanted.shape(0) == n && mean.shape(0) == width && has_shape(out, n, width),
         "wanted, mean and out must fit the rows");
  auto* present = new bool[n];  // the capsule deletes it
  nb::capsule owner(present, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  std::vector<double> squares(n);
  without_lock(n_threads, [&](Team& team) {
    centre_rows(grid_of(rows), span_of(wanted), span_of(mean), weight, longest, grid_of(out), {present, n},
                squares, team);
  });
  return nb::make_tuple(nb::ndarray<nb::numpy, bool>(present, {n}, owner), array_of(std::move(squares)));
}

template <class T>
auto map_dense(Table<const T> rows, Vector<const double> inverse, Table<const double> directions,
               Vector<const double> offsets, Table<T> out, size_t n_threads) {
  const size_t n = rows.shape(0), n_mapped = offsets.shape(0);
  expect(
      inverse.shape(0) == n && has_shape(directions, n_mapped, rows.shape(1)) && has_shape(out, n, n_mapped),
      "inverse norms, directions, offsets and out must fit the rows");
  auto* present = new bool[n];  // the capsule deletes it
  nb::capsule owner(present, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  without_lock(n_threads, [&](Team& team) {
    map_rows(grid_of(rows), span_of(inverse), {grid_of(directions), span_of(offsets)}, grid_of(out),
             {present, n}, team);
  });
  return nb::ndarray<nb::numpy, bool>(present, {n}, owner);
}

template <class T>
void weigh_dense(Table<const T> rows, Vector<const double> weights, Table<T> out, size_t n_threads) {
  expect(weights.shape(0) == rows.shape(1) && has_shape(out, rows.shape(0), rows.shape(1)),
         "weights and out must fit the rows");
  without_lock(n_threads,
               [&](Team& team) { weigh_rows(grid_of(rows), span_of(weights), grid_of(out), team); });
}

template <class T, class Index>
void weigh_csr(Vector<const T> values, Vector<const Index> columns, Vector<const double> weights,
               Vector<T> out, size_t n_threads) {
  expect(columns.shape(0) == values.shape(0) && out.shape(0) == values.shape(0),
         "columns and out must fit the values");
  without_lock(n_threads, [&](Team& team) {
    weigh_entries(span_of(values), span_of(columns), span_of(weights), span_of(out), team);
  });
}

void nnls_of(Table<const double> gram, Table<const double> products, Table<double> out, size_t n_threads) {
  expect(has_shape(gram, products.shape(1), products.shape(1)) &&
             has_shape(out, products.shape(0), products.shape(1)),
         "Gram matrix and out must fit the products");
  without_lock(n_threads, [&](Team& team) { nnls(grid_of(gram), grid_of(products), grid_of(out), team); });
}

template <class T>
void bind_scaling(nb::module_& m) {
  m.def("standardise", &standardise_rows<T>, "rows"_a.noconvert(), "wanted"_a, "mean"_a, "weights"_a,
        "out"_a.noconvert(), "n_threads"_a);
  m.def("centre_rows", &centre_dense<T>, "rows"_a.noconvert(), "wanted"_a, "mean"_a, "weight"_a, "longest"_a,
        "out"_a.noconvert(), "n_threads"_a);
  m.def("map_rows", &map_dense<T>, "rows"_a.noconvert(), "inverse"_a, "directions"_a, "offsets"_a,
        "out"_a.noconvert(), "n_threads"_a);
  m.def("weigh_rows", &weigh_dense<T>, "rows"_a.noconvert(), "weights"_a, "out"_a.noconvert(), "n_threads"_a);
  m.def("weigh_entries", &weigh_csr<T, int32_t>, "values"_a.noconvert(), "columns"_a.noconvert(), "weights"_a,
        "out"_a.noconvert(), "n_threads"_a);
  m.def("weigh_entries", &weigh_csr<T, int64_t>, "values"_a.noconvert(), "columns"_a.noconvert(), "weights"_a,
        "out"_a.noconvert(), "n_threads"_a);
}

}  // namespace

void bind_starts(nb::module_& m) {
  m.def("soft_centres", &soft_centres_of, "rows"_a, "memberships"_a, "alpha"_a, "fill"_a, "zero_filled"_a,
        "n_threads"_a);
  m.def("draw_seeds", &draw_seeds_of, "rows"_a, "points"_a, "n_groups"_a, "n_threads"_a);
  bind_scaling<float>(m);
  bind_scaling<double>(m);
  m.def("nnls", &nnls_of, "gram"_a, "products"_a, "out"_a.noconvert(), "n_threads"_a);
  m.def("kernels", [] { return kernels().name; });
}

}  // namespace viewpass
