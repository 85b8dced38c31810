// The Parquet list reader as Python calls it. What is refused is a ValueError.
#include "../parquet_lists.hpp"

#include "arrays.hpp"

namespace viewpass {
namespace {

using Content = Vector<const uint8_t>;

Bytes bytes_of(const Content& content) { return span_of(content); }

/// A reader and the arrays that its present page lies in.
template <class T>
struct Lists {
  Lists(unsigned value_level, bool lists_can_be_null) : reader({value_level, lists_can_be_null}) {}

  void begin_page(const PageHeader& header, Content new_levels, Content new_values) {
    reader.begin_page(header, bytes_of(new_levels), bytes_of(new_values));
    levels = std::move(new_levels);
    values = std::move(new_values);
  }
  size_t place(const Table<T>& rows, const Vector<uint8_t>& present, size_t n_done) {
    const nb::gil_scoped_release released;
    return reader.place(grid_of(rows), span_of(present), n_done);
  }

  ListReader<T> reader;
  Content levels, values;
};

template <class T>
void bind_lists(nb::module_& m, const char* name) {
  using L = Lists<T>;
  nb::class_<L>(m, name)
      .def(nb::init<unsigned, bool>(), "value_level"_a, "lists_can_be_null"_a)
      .def("begin_chunk",
           [](L& self, const ColumnChunk& c) { self.reader.begin_chunk(c.n_rows, c.n_entries); })
      .def("set_dictionary", [](L& self, const PageHeader& h,
                                const Content& values) { self.reader.set_dictionary(h, bytes_of(values)); })
      .def("begin_page", &L::begin_page)
      .def("first_length", [](const L& self) { return self.reader.first_length(); })
      .def("place", &L::place, "rows"_a.noconvert(), "present"_a.noconvert(), "n_done"_a)
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
      .def_prop_ro("codec", [](const ColumnChunk& c) { return unsigned(c.codec); });
  m.def("page_header", [](const Content& content) { return read_page_header(bytes_of(content)); });
  m.def("column_chunks",
        [](const Content& footer, uint64_t start, size_t column, bool is_double, unsigned value_level) {
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
