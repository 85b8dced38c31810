// Starts, scales and least squares as Python calls them.
#include "../kernels.hpp"
#include "../nnls.hpp"
#include "../scaling.hpp"
#include "../seeds.hpp"
#include "../soft_start.hpp"
#include "objects.hpp"

namespace viewpass {

namespace {

constexpr std::size_t kTaskValues = std::size_t(1) << 16;

PyCentres soft_centres_of(const PyRows& rows, Matrix2<const double> memberships, double alpha, bool fill,
                          bool zero_filled, std::size_t n_threads) {
  expect(memberships.shape(0) == rows.rows.n_rows, "a row of memberships per row is needed");
  return without_lock(n_threads, [&](Team& team) {
    return std::make_shared<Centres>(
        soft_centres(rows.rows, grid_of(memberships), alpha, fill, zero_filled, team));
  });
}

nb::ndarray<nb::numpy, int32_t> draw_seeds_of(const PyRows& rows, Matrix2<const double> points,
                                              std::size_t n_threads) {
  const std::size_t n = rows.rows.n_rows, n_sets = points.shape(1);
  std::vector<int32_t> labels(n_sets * n, 0);
  without_lock(n_threads, [&](Team& team) {
    return draw_seeds(rows.rows, grid_of(points), {labels.data(), n_sets, n}, team), 0;
  });
  return array_of(std::move(labels), {n_sets, n});
}

template <class T>
nb::ndarray<nb::numpy, bool> standardise_rows(Matrix2<const T> rows, Vector<const bool> wanted,
                                              Vector<const double> mean, Vector<const double> weights,
                                              Matrix2<T> out, std::size_t n_threads) {
  const std::size_t n = rows.shape(0), width = rows.shape(1);
  expect(wanted.shape(0) == n && mean.shape(0) == width && weights.shape(0) == width && out.shape(0) == n &&
             out.shape(1) == width,
         "rows, columns and room must fit");
  auto* present = new bool[n];  // the capsule deletes it
  nb::capsule owner(present, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  const std::size_t size = std::max<std::size_t>(1, kTaskValues / std::max<std::size_t>(width, 1));
  without_lock(n_threads, [&](Team& team) {
    team.each((n + size - 1) / size, [&](std::size_t task, std::size_t) {
      const std::size_t from = task * size, m = std::min(size, n - from);
      standardise<T>({rows.data() + from * width, m, width}, span_of(wanted).part(from, m), span_of(mean),
                     span_of(weights), {out.data() + from * width, m, width}, {present + from, m});
    });
    return 0;
  });
  return nb::ndarray<nb::numpy, bool>(present, {n}, owner);
}

template <class T>
void weigh_dense(Matrix2<const T> rows, Vector<const double> weights, Matrix2<T> out, std::size_t n_threads) {
  const std::size_t n = rows.shape(0), width = rows.shape(1);
  expect(weights.shape(0) == width && out.shape(0) == n && out.shape(1) == width, "rows and room must fit");
  const std::size_t size = std::max<std::size_t>(1, kTaskValues / std::max<std::size_t>(width, 1));
  without_lock(n_threads, [&](Team& team) {
    team.each((n + size - 1) / size, [&](std::size_t task, std::size_t) {
      const std::size_t from = task * size, m = std::min(size, n - from);
      weigh_rows<T>({rows.data() + from * width, m, width}, span_of(weights),
                    {out.data() + from * width, m, width});
    });
    return 0;
  });
}

template <class T, class Index>
void weigh_csr(Vector<const T> values, Vector<const Index> columns, Vector<const double> weights,
               Vector<T> out, std::size_t n_threads) {
  const std::size_t n = values.shape(0);
  expect(columns.shape(0) == n && out.shape(0) == n, "values, columns and room must fit");
  without_lock(n_threads, [&](Team& team) {
    team.each((n + kTaskValues - 1) / kTaskValues, [&](std::size_t task, std::size_t) {
      const std::size_t from = task * kTaskValues, m = std::min(kTaskValues, n - from);
      weigh_entries<T, Index>(span_of(values).part(from, m), span_of(columns).part(from, m), span_of(weights),
                              span_of(out).part(from, m));
    });
    return 0;
  });
}

template <class T>
void bind_scaling(nb::module_& m) {
  m.def("standardise", &standardise_rows<T>, nb::arg("rows").noconvert(), nb::arg("wanted"), nb::arg("mean"),
        nb::arg("weights"), nb::arg("out").noconvert(), nb::arg("n_threads"));
  m.def("weigh_rows", &weigh_dense<T>, nb::arg("rows").noconvert(), nb::arg("weights"),
        nb::arg("out").noconvert(), nb::arg("n_threads"));
  m.def("weigh_entries", &weigh_csr<T, int32_t>, nb::arg("values").noconvert(),
        nb::arg("columns").noconvert(), nb::arg("weights"), nb::arg("out").noconvert(), nb::arg("n_threads"));
  m.def("weigh_entries", &weigh_csr<T, int64_t>, nb::arg("values").noconvert(),
        nb::arg("columns").noconvert(), nb::arg("weights"), nb::arg("out").noconvert(), nb::arg("n_threads"));
}

}  // namespace

void bind_starts(nb::module_& m) {
  m.def("soft_centres", &soft_centres_of, nb::arg("rows"), nb::arg("memberships"), nb::arg("alpha"),
        nb::arg("fill"), nb::arg("zero_filled"), nb::arg("n_threads"));
  m.def("draw_seeds", &draw_seeds_of, nb::arg("rows"), nb::arg("points"), nb::arg("n_threads"));
  bind_scaling<float>(m);
  bind_scaling<double>(m);
  m.def(
      "nnls",
      [](Matrix2<const double> gram, Matrix2<const double> products, Matrix2<double> out,
         std::size_t n_threads) {
        expect(gram.shape(0) == gram.shape(1) && products.shape(1) == gram.shape(0) &&
                   out.shape(0) == products.shape(0) && out.shape(1) == products.shape(1),
               "Gram matrix, products and room must fit");
        without_lock(n_threads, [&](Team& team) {
          return nnls(grid_of(gram), grid_of(products), grid_of(out), team), 0;
        });
      },
      nb::arg("gram"), nb::arg("products"), nb::arg("out").noconvert(), nb::arg("n_threads"));
  m.def("kernels", [] { return kernels().name; });
}

}  // namespace viewpass
