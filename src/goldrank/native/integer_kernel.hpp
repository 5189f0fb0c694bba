// Products of 16-bit integer vectors and their comparison with limits, for one set of instructions. integer_products.cpp
// includes this file once for each set, inside a namespace that defines Register and its operations; hence no
// `#pragma once`. GOLDRANK_KERNEL is the target attribute of the set.

// A panel is the queries that are multiplied at once, as many as two registers hold sums.
constexpr Py_ssize_t kPanel = 2 * kLanes;

// The products of kRowsAtOnce items (rows) with a panel of queries (columns).
struct alignas(64) Scores {
  int32_t rows[kRowsAtOnce][kPanel];
};

// Adds the products of some rows with a panel, or its first half, to the offsets of the rows. Two neighbouring numbers of
// a row, read as one 32-bit number, are multiplied with the same two of every query.
template <int kRows, int kHalves>
GOLDRANK_KERNEL inline void multiply(const int16_t* items, const int32_t* offsets, const int16_t* panel,
                                     Py_ssize_t width, Scores& scores) {
  Register sums[kRows][kHalves];
  // The sums stay in registers only if these loops are unrolled.
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) sums[row][half] = repeat(offsets[row]);
  }
  for (Py_ssize_t i = 0; i < width; i += 2, panel += 2 * kPanel) {
    // Few queries wait for memory, because the next rows are not next to those of the same column.
    if (kHalves == 1 && kRows > 1 && i % kCacheLine == 0) {
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) __builtin_prefetch(items + (kRows + row) * width + i);
    }
    Register queries[kHalves];
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) queries[half] = load(panel + half * kPanel);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      int32_t pair;
      std::memcpy(&pair, items + row * width + i, sizeof pair);
      const Register repeated = repeat(pair);
#pragma GCC unroll 2
      for (int half = 0; half < kHalves; ++half) {
        sums[row][half] = multiply_add(sums[row][half], repeated, queries[half]);
      }
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) store(scores.rows[row] + half * kLanes, sums[row][half]);
  }
}

// Multiplies up to kRowsAtOnce rows with a panel, of which only the first half is used if `is_half`.
GOLDRANK_KERNEL void multiply_rows(const Operands& operands, Py_ssize_t row, Py_ssize_t rows, const int16_t* panel,
                                   bool is_half, Scores& scores) {
  const int16_t* const items = operands.items + row * operands.width;
  const int32_t* const offsets = operands.offsets + row;
  if (rows == kRowsAtOnce && is_half) {
    multiply<kRowsAtOnce, 1>(items, offsets, panel, operands.width, scores);
  } else if (rows == kRowsAtOnce) {
    multiply<kRowsAtOnce, 2>(items, offsets, panel, operands.width, scores);
  } else {
    for (Py_ssize_t i = 0; i < rows; ++i) {
      Scores single;
      multiply<1, 2>(items + i * operands.width, offsets + i, panel, operands.width, single);
      std::memcpy(scores.rows[i], single.rows[0], sizeof single.rows[0]);
    }
  }
}

// Multiplies some rows with a single query, whose numbers stand next to each other.
GOLDRANK_KERNEL void multiply_single(const Operands& operands, Py_ssize_t row, Py_ssize_t rows, const int16_t* query,
                                     Scores& scores) {
  for (Py_ssize_t i = 0; i < rows; ++i) {
    const int16_t* const item = operands.items + (row + i) * operands.width;
    Register sums = repeat(0);
    Py_ssize_t at = 0;
    for (; at + kPanel <= operands.width; at += kPanel) sums = multiply_add(sums, load(item + at), load(query + at));
    alignas(64) int32_t lanes[kLanes];
    store(lanes, sums);
    int32_t total = operands.offsets[row + i];
    for (const int32_t lane : lanes) total += lane;
    for (; at < operands.width; ++at) total += int32_t(item[at]) * query[at];
    scores.rows[i][0] = total;
  }
}

// Compares up to kLanes columns of the scores, from `column` on, with the limits from `at` on.
GOLDRANK_KERNEL void compare(const Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column, Py_ssize_t lanes,
                             Py_ssize_t at, Comparison<int32_t>& comparison) {
  alignas(64) int32_t low_limits[kLanes], high_limits[kLanes], counts[kLanes];
  // No score is above the limits of the lanes that are not used, or reaches them.
  std::fill_n(low_limits, kLanes, INT32_MAX);
  std::fill_n(high_limits, kLanes, INT32_MAX);
  std::copy_n(comparison.low + at, lanes, low_limits);
  std::copy_n(comparison.high + at, lanes, high_limits);
  const Register low = load(low_limits), high = load(high_limits);
  Register above = repeat(0);
  for (Py_ssize_t i = 0; i < rows; ++i) {
    const Register products = load(scores.rows[i] + column);
    const uint32_t greater = count_greater(products, high, above);
    const uint32_t between = ~greater & ~less_lanes(products, low) & ((1u << lanes) - 1);
    if (__builtin_expect(between != 0, 0)) comparison.add_near(between, row + i, at);
  }
  store(counts, above);
  for (Py_ssize_t i = 0; i < lanes; ++i) comparison.above[at + i] += counts[i];
}

GOLDRANK_KERNEL void use_scores(Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column,
                                const Operands& operands, Comparison<int32_t>& comparison) {
  const Py_ssize_t columns = std::min(kPanel, operands.columns - column);
  const int64_t* const left_out = comparison.left_out + column;
  for (Py_ssize_t i = 0; i < columns; ++i) {
    const int64_t at = left_out[i] - row;
    if (at >= 0 && at < rows) scores.rows[at][i] = INT32_MIN;
  }
  Py_ssize_t start = 0;
  for (Py_ssize_t round = 0; round < comparison.rounds; start += comparison.widths[round++]) {
    for (Py_ssize_t half = 0; half < kPanel; half += kLanes) {
      const Py_ssize_t lanes = std::min(kLanes, comparison.widths[round] - column - half);
      if (lanes > 0) compare(scores, row, rows, half, lanes, start + column + half, comparison);
    }
  }
}

GOLDRANK_KERNEL void use_scores(const Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column,
                                const Operands& operands, Selection& selection) {
  for (Py_ssize_t first = column; first < std::min(column + kPanel, operands.columns); first += kLanes) {
    const Py_ssize_t lanes = std::min(kLanes, operands.columns - first);
    alignas(64) int32_t floors[kLanes];
    std::fill_n(floors, kLanes, INT32_MAX);
    for (Py_ssize_t i = 0; i < lanes; ++i) floors[i] = static_cast<int32_t>(selection.floors[first + i] >> 32);
    const Register limits = load(floors);
    for (Py_ssize_t i = 0; i < rows; ++i) {
      const int32_t* const products = scores.rows[i] + (first - column);
      uint32_t reached = ~less_lanes(load(products), limits) & ((1u << lanes) - 1);
      for (; reached != 0; reached &= reached - 1) {
        const int lane = __builtin_ctz(reached);
        selection.add(first + lane, products[lane], row + i);
      }
    }
  }
}

GOLDRANK_KERNEL void use_scores(const Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column,
                                const Operands& operands, int32_t* out) {
  const Py_ssize_t columns = std::min(kPanel, operands.columns - column);
  for (Py_ssize_t i = 0; i < rows; ++i) {
    std::copy_n(scores.rows[i], columns, out + (row + i) * operands.columns + column);
  }
}

// Multiplies all items with all queries. Some items, as many as stay in the L2 cache, meet every panel in turn, which
// stays in the L1 cache meanwhile.
template <class Target>
GOLDRANK_KERNEL void multiply_all(const Operands& operands, Target& target) {
  const Py_ssize_t row_bytes = std::max<Py_ssize_t>(1, operands.width * sizeof(int16_t));
  const Py_ssize_t cached = std::max<Py_ssize_t>(1, kCacheBytes / row_bytes / kRowsAtOnce) * kRowsAtOnce;
  std::vector<int16_t> single(operands.columns == 1 ? operands.width : 0);
  for (size_t i = 0; i < single.size(); ++i) single[i] = operands.queries[i / 2 * 2 * kPanel + i % 2];
  Scores scores = {};
  for (Py_ssize_t first = 0; first < operands.rows; first += cached) {
    const Py_ssize_t last = std::min(first + cached, operands.rows);
    for (Py_ssize_t column = 0; column < operands.columns; column += kPanel) {
      const int16_t* const panel = operands.queries + column * operands.width;
      const bool is_half = operands.columns - column <= kLanes;
      for (Py_ssize_t row = first; row < last; row += kRowsAtOnce) {
        const Py_ssize_t rows = std::min<Py_ssize_t>(kRowsAtOnce, last - row);
        if (operands.columns == 1) {
          multiply_single(operands, row, rows, single.data(), scores);
        } else {
          multiply_rows(operands, row, rows, panel, is_half, scores);
        }
        use_scores(scores, row, rows, column, operands, target);
      }
    }
  }
}
