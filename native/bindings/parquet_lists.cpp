// Python's view of the Parquet list reader: viewpass._native.page_header, column_chunks, stated_size,
// FloatLists and DoubleLists. What is refused is a ValueError.
#include "parquet_lists.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace viewpass {
namespace {

using Content = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Bytes bytes_of(const Content& content) { return {content.data(), content.size()}; }

/// A reader and the arrays that its present page lies in.
template <class T>
struct Lists {
  Lists(unsigned value_level, bool lists_can_be_null) : reader({value_level, lists_can_be_null}) {}

  void begin_page(const PageHeader& header, Content new_levels, Content new_values) {
    reader.begin_page(header, bytes_of(new_levels), bytes_of(new_values));
    levels = std::move(new_levels);
    values = std::move(new_values);
  }
  std::size_t place(const Matrix<T>& rows, const Flags& present, std::size_t n_done) {
    const nb::gil_scoped_release released;
    return reader.place({rows.data(), rows.shape(0), rows.shape(1)}, {present.data(), present.size()},
                        n_done);
  }

  ListReader<T> reader;
  Content levels, values;
};

template <class T>
void bind_lists(nb::module_& m, const char* name) {
  using L = Lists<T>;
  nb::class_<L>(m, name)
      .def(nb::init<unsigned, bool>(), nb::arg("value_level"), nb::arg("lists_can_be_null"))
      .def("begin_chunk",
           [](L& self, const ColumnChunk& c) { self.reader.begin_chunk(c.n_rows, c.n_entries); })
      .def("set_dictionary", [](L& self, const PageHeader& h,
                                const Content& values) { self.reader.set_dictionary(h, bytes_of(values)); })
      .def("begin_page", &L::begin_page)
      .def("first_length", [](const L& self) { return self.reader.first_length(); })
      .def("place", &L::place, nb::arg("rows").noconvert(), nb::arg("present").noconvert(), nb::arg("n_done"))
      .def_prop_ro("is_settled", [](const L& self) { return self.reader.is_settled(); })
      .def_prop_ro("needs_page", [](const L& self) { return self.reader.needs_page(); });
}

}  // namespace

void bind_parquet_lists(nb::module_& m) {
  nb::class_<PageHeader>(m, "PageHeader")
      .def_prop_ro("is_dictionary", [](const PageHeader& h) { return h.kind == PageKind::dictionary; })
      .def_prop_ro("levels_size", [](const PageHeader& h) { return h.repetition_size + h.definition_size; })
      .def_ro("length", &PageHeader::length)
      .def_ro("packed_size", &PageHeader::packed_size)
      .def_ro("full_size", &PageHeader::full_size)
      .def_ro("is_packed", &PageHeader::is_packed);
  nb::class_<ColumnChunk>(m, "ColumnChunk")
      .def_ro("n_rows", &ColumnChunk::n_rows)
      .def_ro("first", &ColumnChunk::first)
      .def_ro("length", &ColumnChunk::length)
      .def_prop_ro("codec", [](const ColumnChunk& c) { return static_cast<unsigned>(c.codec); });
  m.def("page_header", [](const Content& content) { return read_page_header(bytes_of(content)); });
  m.def("column_chunks", [](const Content& footer, std::uint64_t start, std::size_t column, bool is_double,
                            unsigned value_level) {
    const Number number = is_double ? Number::float64 : Number::float32;
    return read_column_chunks(bytes_of(footer), start, column, number, value_level);
  });
  m.def("stated_size", [](const ColumnChunk& chunk, const Content& packed) {
    return stated_size(chunk.codec, bytes_of(packed));
  });
  bind_lists<float>(m, "FloatLists");
  bind_lists<double>(m, "DoubleLists");
}

}  // namespace viewpass
