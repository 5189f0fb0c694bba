// The module _score_counting: compares a block of scores with two limits per column in one pass over the block.
// fallback/score_counting.py does the same in numpy and documents the arguments and results.

#include <vector>

#include "python_api.hpp"
#include "vector_registers.hpp"

namespace goldrank {
namespace {

// A block of scores and the limits of its columns.
template <class Number>
struct Block {
  const Number* scores;
  Py_ssize_t rows, columns, stride;
  const Number *low, *high;

  const Number* row(Py_ssize_t number) const { return scores + number * stride; }
};

constexpr Py_ssize_t kTileColumns = 256;
constexpr int kRowsAtOnce = 4;

template <class Number, class Count>
GOLDRANK_INLINE void count_tile(const Block<Number>& block, Py_ssize_t first, Py_ssize_t width, Count* above,
                                Count* reached) {
  const Number* const low = block.low + first;
  const Number* const high = block.high + first;
  Py_ssize_t row = 0;
  for (; row + kRowsAtOnce <= block.rows; row += kRowsAtOnce) {
    const Number* const a = block.row(row) + first;
    const Number* const b = a + block.stride;
    const Number* const c = b + block.stride;
    const Number* const d = c + block.stride;
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

// Count is an integer as wide as Number, so that the results of vector comparisons can be added without conversion.
template <class Number, class Count>
GOLDRANK_INLINE void count_columns(const Block<Number>& block, int64_t* above, int64_t* reached) {
  Count tile_above[kTileColumns], tile_reached[kTileColumns];
  for (Py_ssize_t first = 0; first < block.columns; first += kTileColumns) {
    const Py_ssize_t width = std::min(kTileColumns, block.columns - first);
    std::fill_n(tile_above, width, Count(0));
    std::fill_n(tile_reached, width, Count(0));
    // A constant width lets the compiler unroll the loops of full tiles.
    if (width == kTileColumns) {
      count_tile<Number, Count>(block, first, kTileColumns, tile_above, tile_reached);
    } else {
      count_tile<Number, Count>(block, first, width, tile_above, tile_reached);
    }
    std::copy_n(tile_above, width, above + first);
    std::copy_n(tile_reached, width, reached + first);
  }
}

template <class Number, class Count>
GOLDRANK_INLINE bool any_between(const Number* scores, const Number* low, const Number* high, Py_ssize_t width) {
  Count any = 0;
  for (Py_ssize_t i = 0; i < width; ++i) any |= Count(scores[i] >= low[i]) & Count(!(scores[i] > high[i]));
  return any != 0;
}

template <class Number, class Count>
GOLDRANK_INLINE void find_places(const Block<Number>& block, std::vector<int64_t>& places) {
  constexpr Py_ssize_t kChunk = 64;
  for (Py_ssize_t row = 0; row < block.rows; ++row) {
    const Number* const scores = block.row(row);
    for (Py_ssize_t first = 0; first < block.columns; first += kChunk) {
      const Py_ssize_t width = std::min(kChunk, block.columns - first);
      const Number *const part = scores + first, *const low = block.low + first, *const high = block.high + first;
      const bool any = width == kChunk ? any_between<Number, Count>(part, low, high, kChunk)
                                       : any_between<Number, Count>(part, low, high, width);
      if (!any) continue;
      for (Py_ssize_t i = 0; i < width; ++i) {
        if (part[i] >= low[i] && !(part[i] > high[i])) places.push_back(row * block.columns + first + i);
      }
    }
  }
}

GOLDRANK_WIDEST_REGISTERS void count(const Block<float>& block, int64_t* above, int64_t* reached) {
  count_columns<float, int32_t>(block, above, reached);
}
GOLDRANK_WIDEST_REGISTERS void count(const Block<double>& block, int64_t* above, int64_t* reached) {
  count_columns<double, int64_t>(block, above, reached);
}
GOLDRANK_WIDEST_REGISTERS void find(const Block<float>& block, std::vector<int64_t>& places) {
  find_places<float, int32_t>(block, places);
}
GOLDRANK_WIDEST_REGISTERS void find(const Block<double>& block, std::vector<int64_t>& places) {
  find_places<double, int64_t>(block, places);
}

// The scores and their limits, all of one type, float or double.
class Comparison {
 public:
  Comparison(PyObject* scores, PyObject* low, PyObject* high) : scores_(scores), low_(low), high_(high) {}

  // Calls use(block) without the GIL.
  template <class Use>
  void visit(const Use& use) const {
    if (scores_.holds<float>()) {
      visit_as<float>(use);
    } else if (scores_.holds<double>()) {
      visit_as<double>(use);
    } else {
      raise_value_error("scores must be float32 or float64");
    }
  }

 private:
  template <class Number, class Use>
  void visit_as(const Use& use) const {
    const auto* const scores = scores_.rows<const Number>(2);
    const auto *const low = low_.rows<const Number>(1), *const high = high_.rows<const Number>(1);
    const Py_ssize_t rows = scores_.length(0), columns = scores_.length(1);
    if (low_.length(0) != columns || high_.length(0) != columns) {
      raise_value_error("low and high must hold one limit for each column of scores");
    }
    // float32 blocks are counted with 32-bit integers.
    if (rows > INT32_MAX) raise_value_error("scores must have fewer than 2^31 rows");
    use(Block<Number>{scores, rows, columns, scores_.row_stride(), low, high});
  }

  const Buffer scores_, low_, high_;
};

PyObject* count_beyond(PyObject* arguments) {
  PyObject *scores, *low, *high, *above, *reached;
  parse_arguments(arguments, "OOOOO:count_beyond", &scores, &low, &high, &above, &reached);
  const Buffer above_buffer(above, Buffer::kWritableArray), reached_buffer(reached, Buffer::kWritableArray);
  auto *const above_counts = above_buffer.rows<int64_t>(1), *const reached_counts = reached_buffer.rows<int64_t>(1);
  Comparison(scores, low, high).visit([&](const auto& block) {
    if (above_buffer.length(0) != block.columns || reached_buffer.length(0) != block.columns) {
      raise_value_error("above and reached must hold one count for each column of scores");
    }
    const ReleasedGil gil;
    count(block, above_counts, reached_counts);
  });
  Py_RETURN_NONE;
}

PyObject* find_between(PyObject* arguments) {
  PyObject *scores, *low, *high;
  parse_arguments(arguments, "OOO:find_between", &scores, &low, &high);
  std::vector<int64_t> places;
  Comparison(scores, low, high).visit([&](const auto& block) {
    const ReleasedGil gil;
    find(block, places);
  });
  const auto* const bytes = reinterpret_cast<const char*>(places.data());
  return PyByteArray_FromStringAndSize(bytes, static_cast<Py_ssize_t>(places.size() * sizeof(int64_t)));
}

PyMethodDef methods[] = {
    method<count_beyond>("count_beyond", "See fallback.score_counting.count_beyond."),
    method<find_between>("find_between", "See fallback.score_counting.find_between."),
    {},
};

PyModuleDef definition = module_definition("_score_counting", "Compiled comparison of scores with limits.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__score_counting() { return PyModuleDef_Init(&goldrank::definition); }
