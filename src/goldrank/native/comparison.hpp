// Limits that products of items and queries are compared with, and what is counted; the `.pyi` files document them.

#pragma once

#include <algorithm>
#include <cstdint>

#include "python_api.hpp"

namespace goldrank {

// There are several rounds of limits, round k for the first widths[k] columns; the limits and counts of all rounds
// stand one after the other.
template <class Number>
struct Comparison {
  const int64_t* left_out;
  const int64_t* widths;
  Py_ssize_t rounds, total;
  const Number *low, *high;
  int64_t *above, *near, *places;
  Py_ssize_t capacity, near_total;

  // Adds the products of one row that lie between the limits, given as bits.
  void add_near(uint32_t lanes, Py_ssize_t row, Py_ssize_t first) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const Py_ssize_t at = first + __builtin_ctz(lanes);
      ++near[at];
      if (near_total < capacity) places[near_total] = row * total + at;
      ++near_total;
    }
  }
};

// The arrays of a comparison.
template <class Number>
class ComparisonArrays {
 public:
  ComparisonArrays(PyObject* left_out, PyObject* widths, PyObject* low, PyObject* high, PyObject* above, PyObject* near,
                   PyObject* places)
      : left_out_(left_out),
        widths_(widths),
        low_(low),
        high_(high),
        above_(above, Buffer::kWritableArray),
        near_(near, Buffer::kWritableArray),
        places_(places, Buffer::kWritableArray) {}

  // Every column has an item that it leaves out.
  Py_ssize_t columns() const {
    left_out_.contiguous<const int64_t>(1);  // refuses arrays of another type or shape
    return left_out_.length(0);
  }

  // Returns the comparison with all counts at 0.
  Comparison<Number> start() const {
    Comparison<Number> comparison = {left_out_.contiguous<const int64_t>(1),
                                     widths_.contiguous<const int64_t>(1),
                                     widths_.length(0),
                                     0,
                                     low_.contiguous<const Number>(1),
                                     high_.contiguous<const Number>(1),
                                     above_.contiguous<int64_t>(1),
                                     near_.contiguous<int64_t>(1),
                                     places_.contiguous<int64_t>(1),
                                     places_.length(0),
                                     0};
    for (Py_ssize_t round = 0; round < comparison.rounds; ++round) {
      const int64_t width = comparison.widths[round];
      if (width < 0 || width > columns()) raise_value_error("a round must have between 0 and all columns");
      comparison.total += width;
    }
    for (const Buffer* each : {&low_, &high_, &above_, &near_}) {
      if (each->length(0) != comparison.total) {
        raise_value_error("there must be one limit and one count for each column of each round");
      }
    }
    std::fill_n(comparison.above, comparison.total, 0);
    std::fill_n(comparison.near, comparison.total, 0);
    return comparison;
  }

 private:
  const Buffer left_out_, widths_, low_, high_, above_, near_, places_;
};

}  // namespace goldrank
