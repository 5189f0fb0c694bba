// Compares a block of scores with two limits for each column in one pass over the block, and scores chosen rows in
// double precision. counting_fallback.py is the same in numpy and says what each function returns.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__)
// The widest registers of the processor it runs on, whatever the processor it was built for.
#define GOLDRANK_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#define GOLDRANK_INLINE inline __attribute__((always_inline))
#else
#define GOLDRANK_WIDEST
#define GOLDRANK_INLINE inline
#endif

namespace {

using std::int32_t;
using std::int64_t;

// Thrown when a Python exception is set already.
struct PythonError {};

[[noreturn]] void raise(const char* message) {
  PyErr_SetString(PyExc_ValueError, message);
  throw PythonError{};
}

class Buffer {
 public:
  Buffer(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &view_, flags | PyBUF_FORMAT | PyBUF_STRIDES) != 0) throw PythonError{};
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char kind() const {
    const std::string_view format = view_.format;
    return format.size() == 1 ? format[0] : '?';
  }
  void* data() const { return view_.buf; }
  Py_ssize_t side(int axis) const { return view_.shape[axis]; }

  void expect(int dimensions, char kind) const {
    const bool same = this->kind() == kind || (kind == 'q' && this->kind() == 'l' && view_.itemsize == 8);
    if (view_.ndim != dimensions || !same) raise("an array has another type or number of dimensions than expected");
    if (side(dimensions - 1) > 1 && view_.strides[dimensions - 1] != view_.itemsize) {
      raise("the last axis of an array has gaps");
    }
    if (dimensions == 2 && view_.strides[0] % view_.itemsize != 0) raise("the rows of an array lie askew");
  }
  Py_ssize_t row_step() const { return view_.strides[0] / view_.itemsize; }

 private:
  Py_buffer view_;
};

// A block of scores and the limits of its columns.
template <class Number>
struct Block {
  const Number* scores;
  Py_ssize_t rows, columns, step;
  const Number *low, *high;

  const Number* row(Py_ssize_t number) const { return scores + number * step; }
};

constexpr Py_ssize_t kTile = 256;
constexpr int kRows = 4;

template <class Number, class Count>
GOLDRANK_INLINE void count_tile(const Block<Number>& block, Py_ssize_t first, Py_ssize_t width, Count* above,
                                Count* reached) {
  const Number* const low = block.low + first;
  const Number* const high = block.high + first;
  Py_ssize_t row = 0;
  for (; row + kRows <= block.rows; row += kRows) {
    const Number* const a = block.row(row) + first;
    const Number* const b = a + block.step;
    const Number* const c = b + block.step;
    const Number* const d = c + block.step;
    for (Py_ssize_t i = 0; i < width; ++i) {
      above[i] += Count(a[i] > high[i]) + Count(b[i] > high[i]) + Count(c[i] > high[i]) + Count(d[i] > high[i]);
      reached[i] += Count(a[i] >= low[i]) + Count(b[i] >= low[i]) + Count(c[i] >= low[i]) + Count(d[i] >= low[i]);
    }
  }
  for (; row < block.rows; ++row) {
    const Number* const a = block.row(row) + first;
    for (Py_ssize_t i = 0; i < width; ++i) {
      above[i] += Count(a[i] > high[i]);
      reached[i] += Count(a[i] >= low[i]);
    }
  }
}

// Counters as wide as the scores, so that a comparison's result needs no reshaping.
template <class Number, class Count>
GOLDRANK_INLINE void count_columns(const Block<Number>& block, int64_t* above, int64_t* reached) {
  Count wide_above[kTile], wide_reached[kTile];
  for (Py_ssize_t first = 0; first < block.columns; first += kTile) {
    const Py_ssize_t width = std::min(kTile, block.columns - first);
    std::fill_n(wide_above, width, Count(0));
    std::fill_n(wide_reached, width, Count(0));
    if (width == kTile) {
      count_tile<Number, Count>(block, first, kTile, wide_above, wide_reached);
    } else {
      count_tile<Number, Count>(block, first, width, wide_above, wide_reached);
    }
    std::copy_n(wide_above, width, above + first);
    std::copy_n(wide_reached, width, reached + first);
  }
}

template <class Number, class Count>
GOLDRANK_INLINE bool any_between(const Number* scores, const Number* low, const Number* high, Py_ssize_t width) {
  Count found = 0;
  for (Py_ssize_t i = 0; i < width; ++i) found |= Count(scores[i] >= low[i]) & Count(!(scores[i] > high[i]));
  return found != 0;
}

template <class Number, class Count>
GOLDRANK_INLINE void find_between(const Block<Number>& block, std::vector<int64_t>& places) {
  constexpr Py_ssize_t kChunk = 64;
  for (Py_ssize_t row = 0; row < block.rows; ++row) {
    const Number* const scores = block.row(row);
    for (Py_ssize_t first = 0; first < block.columns; first += kChunk) {
      const Py_ssize_t width = std::min(kChunk, block.columns - first);
      const Number *const here = scores + first, *const low = block.low + first, *const high = block.high + first;
      const bool any = width == kChunk ? any_between<Number, Count>(here, low, high, kChunk)
                                       : any_between<Number, Count>(here, low, high, width);
      if (!any) continue;
      for (Py_ssize_t i = 0; i < width; ++i) {
        if (here[i] >= low[i] && !(here[i] > high[i])) places.push_back(row * block.columns + first + i);
      }
    }
  }
}

GOLDRANK_WIDEST void count_floats(const Block<float>& block, int64_t* above, int64_t* reached) {
  count_columns<float, int32_t>(block, above, reached);
}
GOLDRANK_WIDEST void count_doubles(const Block<double>& block, int64_t* above, int64_t* reached) {
  count_columns<double, int64_t>(block, above, reached);
}
GOLDRANK_WIDEST void find_floats(const Block<float>& block, std::vector<int64_t>& places) {
  find_between<float, int32_t>(block, places);
}
GOLDRANK_WIDEST void find_doubles(const Block<double>& block, std::vector<int64_t>& places) {
  find_between<double, int64_t>(block, places);
}

// Sums in kLanes interleaved lanes, each from left to right, so that every build adds in the same order; the numbers
// of a product are never fused into the sum (see setup.py), for the same reason.
constexpr Py_ssize_t kLanes = 8;

template <class Number>
GOLDRANK_INLINE double term(Number item, double query, bool squared) {
  const double wide = static_cast<double>(item);
  if (!squared) return wide * query;
  const double difference = wide - query;
  return -(difference * difference);
}

template <class Number, bool squared>
GOLDRANK_INLINE double row_score(const Number* item, const double* query, Py_ssize_t width) {
  double lanes[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0};
  Py_ssize_t start = 0;
  for (; start + kLanes <= width; start += kLanes) {
    for (Py_ssize_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += term(item[start + lane], query[start + lane], squared);
    }
  }
  for (Py_ssize_t lane = 0; start + lane < width; ++lane) {
    lanes[lane] += term(item[start + lane], query[start + lane], squared);
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Pairs of an item and a query; a step of 0 between queries asks with one query for all of them.
template <class Number>
struct Pairs {
  const Number* items;
  const double* queries;
  Py_ssize_t item_step, query_step, width, count;
  const int64_t *numbers, *columns;

  const Number* item(Py_ssize_t at) const { return items + numbers[at] * item_step; }
  const double* query(Py_ssize_t at) const { return columns == nullptr ? queries : queries + columns[at] * query_step; }
};

#define GOLDRANK_SCORE_PAIRS(name, Number, squared)                                                   \
  GOLDRANK_WIDEST void name(const Pairs<Number>& pairs, double* scores) {                             \
    for (Py_ssize_t at = 0; at < pairs.count; ++at) {                                                 \
      scores[at] = row_score<Number, squared>(pairs.item(at), pairs.query(at), pairs.width);          \
    }                                                                                                 \
  }
GOLDRANK_SCORE_PAIRS(dot_floats, float, false)
GOLDRANK_SCORE_PAIRS(dot_doubles, double, false)
GOLDRANK_SCORE_PAIRS(distance_floats, float, true)
GOLDRANK_SCORE_PAIRS(distance_doubles, double, true)
#undef GOLDRANK_SCORE_PAIRS

// The arguments two of the functions share, checked.
class Comparison {
 public:
  Comparison(PyObject* scores, PyObject* low, PyObject* high)
      : scores_(scores, PyBUF_SIMPLE), low_(low, PyBUF_SIMPLE), high_(high, PyBUF_SIMPLE) {
    if (scores_.kind() != 'f' && scores_.kind() != 'd') raise("scores are float32 or float64");
    scores_.expect(2, scores_.kind());
    for (const Buffer* limits : {&low_, &high_}) {
      limits->expect(1, scores_.kind());
      if (limits->side(0) != scores_.side(1)) raise("there is one limit of each kind for every column");
    }
    if (scores_.side(0) > INT32_MAX) raise("a block has fewer than 2^31 rows");
  }

  bool in_floats() const { return scores_.kind() == 'f'; }
  Py_ssize_t columns() const { return scores_.side(1); }

  template <class Number>
  Block<Number> block() const {
    return {static_cast<const Number*>(scores_.data()), scores_.side(0),
            scores_.side(1),                            scores_.row_step(),
            static_cast<const Number*>(low_.data()),    static_cast<const Number*>(high_.data())};
  }

 private:
  const Buffer scores_, low_, high_;
};

PyObject* count_beyond(PyObject*, PyObject* args) {
  PyObject *scores, *low, *high, *above, *reached;
  if (!PyArg_ParseTuple(args, "OOOOO:count_beyond", &scores, &low, &high, &above, &reached)) throw PythonError{};
  const Comparison given(scores, low, high);
  const Buffer above_counts(above, PyBUF_WRITABLE), reached_counts(reached, PyBUF_WRITABLE);
  for (const Buffer* counts : {&above_counts, &reached_counts}) {
    counts->expect(1, 'q');
    if (counts->side(0) != given.columns()) raise("there is one count of each kind for every column");
  }
  auto* const more = static_cast<int64_t*>(above_counts.data());
  auto* const enough = static_cast<int64_t*>(reached_counts.data());
  Py_BEGIN_ALLOW_THREADS;
  if (given.in_floats()) {
    count_floats(given.block<float>(), more, enough);
  } else {
    count_doubles(given.block<double>(), more, enough);
  }
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* places_between(PyObject*, PyObject* args) {
  PyObject *scores, *low, *high;
  if (!PyArg_ParseTuple(args, "OOO:places_between", &scores, &low, &high)) throw PythonError{};
  const Comparison given(scores, low, high);
  std::vector<int64_t> places;
  bool out_of_memory = false;
  Py_BEGIN_ALLOW_THREADS;
  try {
    if (given.in_floats()) {
      find_floats(given.block<float>(), places);
    } else {
      find_doubles(given.block<double>(), places);
    }
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
  Py_END_ALLOW_THREADS;
  if (out_of_memory) return PyErr_NoMemory();
  const auto* const bytes = reinterpret_cast<const char*>(places.data());
  return PyByteArray_FromStringAndSize(bytes, static_cast<Py_ssize_t>(places.size() * sizeof(int64_t)));
}

bool all_below(const int64_t* numbers, Py_ssize_t count, Py_ssize_t limit) {
  return std::all_of(numbers, numbers + count, [limit](int64_t number) { return number >= 0 && number < limit; });
}

template <class Number>
Pairs<Number> pairs_of(const Buffer& items, const Buffer& queries, const Buffer& numbers, const Buffer* columns) {
  return {static_cast<const Number*>(items.data()),
          static_cast<const double*>(queries.data()),
          items.row_step(),
          columns == nullptr ? 0 : queries.row_step(),
          items.side(1),
          numbers.side(0),
          static_cast<const int64_t*>(numbers.data()),
          columns == nullptr ? nullptr : static_cast<const int64_t*>(columns->data())};
}

// Scores into what is given for them; the queries are one, or a matrix of which the columns name rows.
PyObject* score(const Buffer& items, const Buffer& queries, const Buffer& numbers, const Buffer* columns, bool squared,
                const Buffer& scores) {
  if (items.kind() != 'f' && items.kind() != 'd') raise("items are float32 or float64");
  items.expect(2, items.kind());
  numbers.expect(1, 'q');
  scores.expect(1, 'd');
  queries.expect(columns == nullptr ? 1 : 2, 'd');
  if (columns != nullptr) columns->expect(1, 'q');
  const Py_ssize_t count = numbers.side(0);
  if (queries.side(columns == nullptr ? 0 : 1) != items.side(1)) raise("a query has as many numbers as an item");
  if (scores.side(0) != count || (columns != nullptr && columns->side(0) != count)) {
    raise("there is one score for every pair");
  }
  auto* const found = static_cast<double*>(scores.data());
  bool inside = true;
  Py_BEGIN_ALLOW_THREADS;
  inside = all_below(static_cast<const int64_t*>(numbers.data()), count, items.side(0)) &&
           (columns == nullptr || all_below(static_cast<const int64_t*>(columns->data()), count, queries.side(0)));
  if (inside && items.kind() == 'f') {
    (squared ? distance_floats : dot_floats)(pairs_of<float>(items, queries, numbers, columns), found);
  } else if (inside) {
    (squared ? distance_doubles : dot_doubles)(pairs_of<double>(items, queries, numbers, columns), found);
  }
  Py_END_ALLOW_THREADS;
  if (!inside) raise("a number is that of no item or query");
  Py_RETURN_NONE;
}

PyObject* row_scores(PyObject*, PyObject* args) {
  PyObject *items, *numbers, *query, *scores;
  int squared;
  if (!PyArg_ParseTuple(args, "OOOpO:row_scores", &items, &numbers, &query, &squared, &scores)) throw PythonError{};
  return score(Buffer(items, PyBUF_SIMPLE), Buffer(query, PyBUF_SIMPLE), Buffer(numbers, PyBUF_SIMPLE), nullptr,
               squared != 0, Buffer(scores, PyBUF_WRITABLE));
}

PyObject* pair_scores(PyObject*, PyObject* args) {
  PyObject *items, *numbers, *queries, *columns, *scores;
  if (!PyArg_ParseTuple(args, "OOOOO:pair_scores", &items, &numbers, &queries, &columns, &scores)) throw PythonError{};
  const Buffer named(columns, PyBUF_SIMPLE);
  return score(Buffer(items, PyBUF_SIMPLE), Buffer(queries, PyBUF_SIMPLE), Buffer(numbers, PyBUF_SIMPLE), &named, false,
               Buffer(scores, PyBUF_WRITABLE));
}

template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* guarded(PyObject* module, PyObject* args) noexcept {
  try {
    return function(module, args);
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"count_beyond", guarded<count_beyond>, METH_VARARGS, "See counting_fallback.count_beyond."},
    {"places_between", guarded<places_between>, METH_VARARGS, "See counting_fallback.places_between."},
    {"row_scores", guarded<row_scores>, METH_VARARGS, "See counting_fallback.row_scores."},
    {"pair_scores", guarded<pair_scores>, METH_VARARGS, "See counting_fallback.pair_scores."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_counting",
    "The compiled comparisons of goldrank; counting_fallback.py is the same in numpy.",
    0,
    methods,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__counting() { return PyModuleDef_Init(&definition); }
