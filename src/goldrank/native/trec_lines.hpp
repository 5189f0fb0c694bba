// Splits TREC text into lines of columns, and reports the earliest line that cannot be read.

#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "byte_strings.hpp"
#include "number_parser.hpp"
#include "python_api.hpp"
#include "row_faults.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#define GOLDRANK_SSE2 1
#include <emmintrin.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#endif

namespace goldrank {

enum class FaultKind { columns, comment, number, nonfinite, duplicate, encoding };

// Lines are counted only when a fault is raised; until then its position in the data tells which of two is earlier.
struct LineFault {
  const char* at;
  FaultKind kind;
  string_view token = {};
  string_view query = {};
  Py_ssize_t columns = 0;
};

inline void keep_earlier(std::optional<LineFault>& earliest, const LineFault& other) {
  if (!earliest || other.at < earliest->at) earliest = other;
}

[[noreturn]] inline void raise_line_fault(string_view data, const LineFault& fault, Py_ssize_t expected_columns) {
  const auto line = static_cast<Py_ssize_t>(1 + std::count(data.data(), fault.at, '\n'));
  const auto text = [](string_view bytes) {
    return owned(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
  };
  switch (fault.kind) {
    case FaultKind::columns:
    case FaultKind::comment: {
      const char* const kind = fault.kind == FaultKind::columns ? "columns" : "comment";
      raise_row_fault(owned(Py_BuildValue("nsnn", line, kind, fault.columns, expected_columns)));
    }
    case FaultKind::number:
    case FaultKind::nonfinite: {
      const char* const kind = fault.kind == FaultKind::number ? "number" : "nonfinite";
      raise_row_fault(owned(Py_BuildValue("nsN", line, kind, shortened(text(fault.token)).release())));
    }
    case FaultKind::duplicate: {
      const Reference item = text(fault.token), query = text(fault.query);
      raise_row_fault(owned(Py_BuildValue("nsOO", line, "duplicate", item.get(), query.get())));
    }
    case FaultKind::encoding:
      break;
  }
  raise_row_fault(owned(Py_BuildValue("ns", line, "encoding")));
}

// The number of columns and the index of the one that holds the number.
struct TableShape {
  static constexpr Py_ssize_t kRankColumn = 3;

  Py_ssize_t width, value_column;

  // If the number stands after the fourth column, that one holds the rank.
  bool has_rank() const { return value_column > kRankColumn; }
  // Text after the tag is a comment, as in trec_eval.
  bool has_tag() const { return value_column + 1 < width; }
};

// The shape of a run, known to the compiler so that it can unroll loops over the columns.
struct RunShape {
  static constexpr Py_ssize_t width = 6, value_column = 4;
  static constexpr bool has_rank() { return true; }
  static constexpr bool has_tag() { return true; }
};

// The columns of a line that are used, and how many columns it has.
struct Fields {
  string_view query, item, rank, value;
  Py_ssize_t count = 0;
};

struct Row {
  string_view query, item, rank;
  double value;
};

// Splits any line and moves `at` to the next; a blank line has no fields.
inline Fields split_line(const char*& at, const char* end, Py_ssize_t value_column) {
  Fields fields;
  while (at != end && *at != '\n') {
    if (is_space(*at)) {
      ++at;
      continue;
    }
    const char* const begin = at;
    while (at != end && !is_space(*at)) ++at;
    const string_view token = between(begin, at);
    if (fields.count == 0) fields.query = token;
    if (fields.count == 2) fields.item = token;
    if (fields.count == TableShape::kRankColumn) fields.rank = token;
    if (fields.count == value_column) fields.value = token;
    ++fields.count;
  }
  if (at != end) ++at;
  return fields;
}

#if defined(GOLDRANK_SSE2)
inline int lowest_bit(uint64_t bits) {
#if defined(_MSC_VER)
  unsigned long index;
  _BitScanForward64(&index, bits);
  return static_cast<int>(index);
#else
  return __builtin_ctzll(bits);
#endif
}
#endif

// Writes the position of every white-space byte to `out`, which must have room for seven more than there are.
inline const char** find_spaces(const char* at, const char* end, const char** out) {
#if defined(GOLDRANK_SSE2)
  const __m128i blank = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), span = _mm_set1_epi8('\r' - '\t');
  for (; end - at >= 64; at += 64) {
    uint64_t mask = 0;
    __m128i minus_count = _mm_setzero_si128();
    for (int part = 0; part < 4; ++part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
      const __m128i above_tab = _mm_sub_epi8(bytes, tab);
      const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(above_tab, span), above_tab);
      const __m128i is_white = _mm_or_si128(_mm_cmpeq_epi8(bytes, blank), is_control);
      mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(is_white))} << (16 * part);
      minus_count = _mm_add_epi8(minus_count, is_white);
    }
    const __m128i sums = _mm_sad_epu8(_mm_sub_epi8(_mm_setzero_si128(), minus_count), _mm_setzero_si128());
    const int count = _mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
    // Eight at a time, some of them in vain: a loop of exactly `count` steps would be mispredicted in most blocks.
    for (int written = 0; written < count; written += 8) {
      for (int next = 0; next < 8; ++next) {
        out[written + next] = at + lowest_bit(mask | uint64_t{1} << 63);
        mask &= mask - 1;
      }
    }
    out += count;
  }
#endif
  for (; at != end; ++at) {
    *out = at;
    out += is_space(*at);
  }
  return out;
}

// Reads rows one after another until the data end or a line has a fault.
template <class Shape>
class LineReader {
 public:
  LineReader(string_view data, Shape shape, ReleasedGil& gil)
      : begin_(data.data()), line_(begin_), chunk_end_(line_), end_(line_ + data.size()), shape_(shape), gil_(gil) {}

  bool next(Row& row) {
    while (line_ != chunk_end_ || index_chunk()) {
      const char* const line = line_;
      const Fields fields = is_regular() ? split_regular() : split_any();
      if (fields.count == 0) continue;
      if (fields.count != shape_.width) {
        // A space in the item id shifts the columns, so that the column of the rank holds text. That is an error, not a
        // comment after the tag.
        if (fields.count < shape_.width || !shape_.has_tag() || std::isnan(parse_rank(fields.rank, begin_, gil_))) {
          const auto kind = fields.query.front() == '#' ? FaultKind::comment : FaultKind::columns;
          return stop({line, kind, {}, {}, fields.count});
        }
        ++long_lines_;
      }
      const NumberKind number = parse_number(fields.value, row.value, gil_);
      if (number == NumberKind::malformed) return stop({line, FaultKind::number, fields.value});
      if (number == NumberKind::nonfinite) return stop({line, FaultKind::nonfinite, fields.value});
      row.query = fields.query;
      row.item = fields.item;
      row.rank = fields.rank;
      return true;
    }
    return false;
  }

  const std::optional<LineFault>& fault() const { return fault_; }
  // How many lines have text after the tag.
  Py_ssize_t long_lines() const { return long_lines_; }

 private:
  static constexpr std::ptrdiff_t kChunkBytes = 8192;

  bool stop(const LineFault& fault) {
    fault_ = fault;
    return false;
  }

  // Finds the white space of the next whole lines at once, which is much faster than token by token.
  bool index_chunk() {
    if (line_ == end_) return false;
    chunk_end_ = end_;
    if (end_ - line_ > kChunkBytes) {
      chunk_end_ = line_ + kChunkBytes;
      while (chunk_end_ != line_ && chunk_end_[-1] != '\n') --chunk_end_;
      if (chunk_end_ == line_) {
        const void* newline = std::memchr(line_ + kChunkBytes, '\n', static_cast<size_t>(end_ - line_ - kChunkBytes));
        chunk_end_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
      }
    }
    const size_t room = static_cast<size_t>(chunk_end_ - line_) + 9;
    if (spaces_.size() < room) spaces_.resize(room);
    space_ = spaces_.data();
    spaces_end_ = find_spaces(line_, chunk_end_, spaces_.data());
    if (chunk_end_ == end_ && end_[-1] != '\n') *spaces_end_++ = end_;
    return true;
  }

  // Returns true if the line has one white-space byte after each of its columns and no other.
  bool is_regular() const {
    if (spaces_end_ - space_ < shape_.width) return false;
    const char* const last = space_[shape_.width - 1];
    if (space_[0] == line_) return false;
    for (Py_ssize_t column = 1; column < shape_.width; ++column) {
      if (space_[column] - space_[column - 1] < 2 || *space_[column - 1] == '\n') return false;
    }
    return last == end_ || *last == '\n';
  }

  Fields split_regular() {
    const auto field = [&](Py_ssize_t column) { return between(space_[column - 1] + 1, space_[column]); };
    const Fields fields = {between(line_, space_[0]), field(2), field(TableShape::kRankColumn),
                           field(shape_.value_column), shape_.width};
    space_ += shape_.width;
    line_ = space_[-1] == end_ ? end_ : space_[-1] + 1;
    return fields;
  }

  Fields split_any() {
    const Fields fields = split_line(line_, end_, shape_.value_column);
    while (space_ != spaces_end_ && *space_ < line_) ++space_;
    return fields;
  }

  const char* const begin_;
  const char* line_;
  const char* chunk_end_;
  const char* const end_;
  const Shape shape_;
  ReleasedGil& gil_;
  std::optional<LineFault> fault_;
  Py_ssize_t long_lines_ = 0;
  // The white space of the current chunk, and how much of it has been passed.
  std::vector<const char*> spaces_;
  const char** space_ = nullptr;
  const char** spaces_end_ = nullptr;
};

}  // namespace goldrank
