// The module _pair_scoring: scores selected pairs of item and query vectors in double precision, with sums that do not
// depend on the processor. fallback/pair_scoring.py does the same in numpy and documents the arguments and results.

#include "python_api.hpp"
#include "vector_registers.hpp"

namespace goldrank {
namespace {

// Products are added in kLanes interleaved lanes, each from left to right, and never fused with the addition (see
// setup.py): every build adds in the same order and rounds alike.
constexpr Py_ssize_t kLanes = 8;

template <bool squared, class Number>
GOLDRANK_INLINE double term(Number item, double query) {
  const double wide = static_cast<double>(item);
  if (!squared) return wide * query;
  const double difference = wide - query;
  return -(difference * difference);
}

GOLDRANK_INLINE double sum_of(const double (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// The dot product of two vectors, or minus their squared distance.
template <bool squared, class Number>
GOLDRANK_INLINE double score(const Number* item, const double* query, Py_ssize_t width) {
  double lanes[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0};
  Py_ssize_t start = 0;
  for (; start + kLanes <= width; start += kLanes) {
    for (Py_ssize_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += term<squared>(item[start + lane], query[start + lane]);
    }
  }
  for (Py_ssize_t lane = 0; start + lane < width; ++lane) {
    lanes[lane] += term<squared>(item[start + lane], query[start + lane]);
  }
  return sum_of(lanes);
}

// The rows of items to score, each with the row of queries of the same position; without query rows all items are
// scored with the same query.
template <class Number>
struct Pairs {
  const Number* items;
  const double* queries;
  Py_ssize_t item_stride, query_stride, width, count;
  const int64_t *item_rows, *query_rows;

  const Number* item(Py_ssize_t at) const { return items + item_rows[at] * item_stride; }
  const double* query(Py_ssize_t at) const {
    return query_rows == nullptr ? queries : queries + query_rows[at] * query_stride;
  }
};

// Not a template, because target_clones does not apply to templates.
#define GOLDRANK_SCORE_PAIRS(name, Number, squared)                                             \
  GOLDRANK_WIDEST_REGISTERS void name(const Pairs<Number>& pairs, double* scores) {             \
    for (Py_ssize_t at = 0; at < pairs.count; ++at) {                                           \
      scores[at] = score<squared, Number>(pairs.item(at), pairs.query(at), pairs.width);        \
    }                                                                                           \
  }
GOLDRANK_SCORE_PAIRS(score_products, float, false)
GOLDRANK_SCORE_PAIRS(score_products, double, false)
GOLDRANK_SCORE_PAIRS(score_distances, float, true)
GOLDRANK_SCORE_PAIRS(score_distances, double, true)
#undef GOLDRANK_SCORE_PAIRS

// The same for items that are divided by their lengths, one for each row, and rounded to their own type before.
GOLDRANK_WIDEST_REGISTERS void score_divided(const Pairs<float>& pairs, const double* lengths, double* scores) {
  for (Py_ssize_t at = 0; at < pairs.count; ++at) {
    const float* const item = pairs.item(at);
    const double length = lengths[pairs.item_rows[at]];
    double lanes[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t start = 0;
    for (; start + kLanes <= pairs.width; start += kLanes) {
      for (Py_ssize_t lane = 0; lane < kLanes; ++lane) {
        const auto divided = static_cast<float>(static_cast<double>(item[start + lane]) / length);
        lanes[lane] += term<false>(divided, pairs.queries[start + lane]);
      }
    }
    for (Py_ssize_t lane = 0; start + lane < pairs.width; ++lane) {
      const auto divided = static_cast<float>(static_cast<double>(item[start + lane]) / length);
      lanes[lane] += term<false>(divided, pairs.queries[start + lane]);
    }
    scores[at] = sum_of(lanes);
  }
}

bool all_below(const int64_t* rows, Py_ssize_t count, Py_ssize_t limit) {
  return std::all_of(rows, rows + count, [limit](int64_t row) { return row >= 0 && row < limit; });
}

template <class Number>
void score_as(const Buffer& items, const Buffer& item_rows, const Buffer& queries, const Buffer* query_rows,
              bool squared, const Buffer& out) {
  const Pairs<Number> pairs = {items.rows<const Number>(2),
                               queries.rows<const double>(query_rows == nullptr ? 1 : 2),
                               items.row_stride(),
                               queries.row_stride(),
                               items.length(1),
                               item_rows.length(0),
                               item_rows.rows<const int64_t>(1),
                               query_rows == nullptr ? nullptr : query_rows->rows<const int64_t>(1)};
  auto* const scores = out.rows<double>(1);
  if (queries.length(query_rows == nullptr ? 0 : 1) != pairs.width) {
    raise_value_error("the vectors of items and queries must have the same length");
  }
  if (out.length(0) != pairs.count || (query_rows != nullptr && query_rows->length(0) != pairs.count)) {
    raise_value_error("there must be one score for each pair");
  }
  bool is_inside;
  {
    const ReleasedGil gil;
    is_inside = all_below(pairs.item_rows, pairs.count, items.length(0)) &&
                (query_rows == nullptr || all_below(pairs.query_rows, pairs.count, queries.length(0)));
    if (is_inside && squared) score_distances(pairs, scores);
    if (is_inside && !squared) score_products(pairs, scores);
  }
  if (!is_inside) raise_value_error("a row number is outside the items or the queries");
}

PyObject* score_buffers(const Buffer& items, const Buffer& item_rows, const Buffer& queries, const Buffer* query_rows,
                      bool squared, const Buffer& out) {
  if (items.holds<float>()) {
    score_as<float>(items, item_rows, queries, query_rows, squared, out);
  } else if (items.holds<double>()) {
    score_as<double>(items, item_rows, queries, query_rows, squared, out);
  } else {
    raise_value_error("items must be float32 or float64");
  }
  Py_RETURN_NONE;
}

PyObject* score_rows(PyObject* arguments) {
  PyObject *items, *item_rows, *query, *out;
  int squared;
  parse_arguments(arguments, "OOOpO:score_rows", &items, &item_rows, &query, &squared, &out);
  return score_buffers(Buffer(items), Buffer(item_rows), Buffer(query), nullptr, squared != 0,
                     Buffer(out, Buffer::kWritableArray));
}

PyObject* score_divided_rows(PyObject* arguments) {
  PyObject *items_object, *lengths_object, *item_rows_object, *query_object, *out_object;
  parse_arguments(arguments, "OOOOO:score_divided_rows", &items_object, &lengths_object, &item_rows_object,
                  &query_object, &out_object);
  const Buffer items(items_object), lengths(lengths_object), item_rows(item_rows_object), query(query_object);
  const Buffer out(out_object, Buffer::kWritableArray);
  const Pairs<float> pairs = {items.rows<const float>(2),
                              query.rows<const double>(1),
                              items.row_stride(),
                              0,
                              items.length(1),
                              item_rows.length(0),
                              item_rows.rows<const int64_t>(1),
                              nullptr};
  const auto* const divisors = lengths.rows<const double>(1);
  auto* const scores = out.rows<double>(1);
  if (query.length(0) != pairs.width || out.length(0) != pairs.count || lengths.length(0) != items.length(0)) {
    raise_value_error("there must be one length for each item and one score for each pair");
  }
  bool is_inside;
  {
    const ReleasedGil gil;
    is_inside = all_below(pairs.item_rows, pairs.count, items.length(0));
    if (is_inside) score_divided(pairs, divisors, scores);
  }
  if (!is_inside) raise_value_error("a row number is outside the items or the queries");
  Py_RETURN_NONE;
}

PyObject* score_pairs(PyObject* arguments) {
  PyObject *items, *item_rows, *queries, *query_rows, *out;
  parse_arguments(arguments, "OOOOO:score_pairs", &items, &item_rows, &queries, &query_rows, &out);
  const Buffer query_rows_buffer(query_rows);
  return score_buffers(Buffer(items), Buffer(item_rows), Buffer(queries), &query_rows_buffer, false,
                     Buffer(out, Buffer::kWritableArray));
}

PyMethodDef methods[] = {
    method<score_rows>("score_rows", "See fallback.pair_scoring.score_rows."),
    method<score_divided_rows>("score_divided_rows", "See fallback.pair_scoring.score_divided_rows."),
    method<score_pairs>("score_pairs", "See fallback.pair_scoring.score_pairs."),
    {},
};

PyModuleDef definition = module_definition("_pair_scoring", "Compiled float64 scores of selected pairs.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__pair_scoring() { return PyModuleDef_Init(&goldrank::definition); }
