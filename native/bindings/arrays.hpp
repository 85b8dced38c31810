// From Python's arrays to spans, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "../span.hpp"
#include "../threads.hpp"

namespace nb = nanobind;

namespace viewpass {

using nb::literals::operator""_a;

template <class T, size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = Array<T, 1>;
template <class T>
using Table = Array<T, 2>;

template <class T>
Span<T> span_of(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
Grid<T> grid_of(const Table<T>& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

template <class T>
bool has_shape(const Table<T>& array, size_t n_rows, size_t width) {
  return array.shape(0) == n_rows && array.shape(1) == width;
}

/// Raises ValueError: the Python side has checked what users pass.
inline void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

/// A new array that owns the values.
template <class T>
nb::ndarray<nb::numpy, T> array_of(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* data = held->data();
  nb::capsule owner(held.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}
template <class T>
nb::ndarray<nb::numpy, T> array_of(std::vector<T> values) {
  const size_t n = values.size();
  return array_of(std::move(values), {n});
}

/// Runs native work without Python's lock; Ctrl-C becomes Python's exception.
template <class Work>
auto without_lock(size_t n_threads, const Work& work) {
  try {
    nb::gil_scoped_release free;
    Team team(n_threads, [] {
      nb::gil_scoped_acquire hold;
      return PyErr_CheckSignals() != 0;
    });
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
