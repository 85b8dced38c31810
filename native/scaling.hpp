// Rows in a scale learnt from the first rows: columns centred and weighed, value by value.
#pragma once

#include "span.hpp"
#include "threads.hpp"

namespace viewpass {

/// (x - mean) * weights of dense rows. What is absent becomes zero and is not `present`; a row that is partly
/// NaN or holds inf stays as it is, so that measuring can name it. Rows whose numbers would leave the
/// type's range are brought to size 1 by a power of two: only their direction counts.  OUT out, present.
template <class T>
void standardise(Grid<const T> rows, Span<const bool> wanted, Span<const double> mean,
                 Span<const double> weights, Grid<T> out, Span<bool> present, Team& team);

/// (x - mean) * weight of dense rows that keep their lengths; one that would be longer than `longest` is
/// shortened to it. A row equal to the mean is present, and is zero. `squares`: |x|^2 before that, infinite
/// where it is beyond the number type, 0 where absent.  OUT out, present, squares.
template <class T>
void centre_rows(Grid<const T> rows, Span<const bool> wanted, Span<const double> mean, double weight,
                 double longest, Grid<T> out, Span<bool> present, Span<double> squares, Team& team);

/// x * weights of dense rows.  OUT out.
template <class T>
void weigh_rows(Grid<const T> rows, Span<const double> weights, Grid<T> out, Team& team);

/// The same of CSR entries. A column that does not exist is left unchanged, so that measuring can name it.
/// OUT out.
template <class T, class Index>
void weigh_entries(Span<const T> values, Span<const Index> columns, Span<const double> weights, Span<T> out,
                   Team& team);

/// A linear map of unit rows: directions (of the mapped columns, a row each) and what they are of the mean.
struct LinearMap {
  Grid<const double> directions;
  Span<const double> offsets;
};

/// inverse * (direction . x) - offset of dense rows, for each direction; `inverse` is 0 where a row is
/// absent. A row that equals the mean but for rounding has no direction: it becomes zero and is not
/// `present`. OUT out (rows x directions), present.
template <class T>
void map_rows(Grid<const T> rows, Span<const double> inverse, LinearMap map, Grid<T> out, Span<bool> present,
              Team& team);

}  // namespace viewpass
