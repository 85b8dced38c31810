// From Python's arrays to spans, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "../span.hpp"
#include "../threads.hpp"

namespace nb = nanobind;

namespace viewpass {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<T> span_of(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
Grid<T> grid_of(const Matrix2<T>& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

/// Raises ValueError: Python's side is to have checked what users give.
inline void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

/// An array that owns what a vector held.
template <class T>
nb::ndarray<nb::numpy, T> array_of(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* held = new std::vector<T>(std::move(values));  // the capsule deletes it
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(held->data(), shape, owner);
}

/// Ctrl-C: asks Python, which needs its lock for that.
class SignalWatch : public Watch {
 public:
  bool stop() override {
    nb::gil_scoped_acquire hold;
    return PyErr_CheckSignals() != 0;
  }
};

/// Runs native work without Python's lock; an interrupt becomes Python's exception.
template <class Work>
auto without_lock(std::size_t n_threads, const Work& work) {
  SignalWatch watch;
  try {
    nb::gil_scoped_release free;
    Team team(n_threads, &watch);
    return work(team);
  } catch (const Interrupted&) {
    throw nb::python_error();
  }
}

void bind_rows(nb::module_& m);
void bind_steps(nb::module_& m);
void bind_starts(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_parquet_lists(nb::module_& m);

}  // namespace viewpass
