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

inline int lowest_bit(uint64_t bits) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index;
#if defined(_WIN64)
  _BitScanForward64(&index, bits);
#else
  if (!_BitScanForward(&index, static_cast<uint32_t>(bits))) {
    _BitScanForward(&index, static_cast<uint32_t>(bits >> 32));
    index += 32;
  }
#endif
  return static_cast<int>(index);
#else
  return __builtin_ctzll(bits);
#endif
}

// Which of 64 bytes are white space and which are line ends: the lowest bit stands for the first byte.
struct BlockMasks {
  uint64_t spaces = 0, newlines = 0;
};

constexpr std::ptrdiff_t kBlockBytes = 64;

GOLDRANK_INLINE BlockMasks mask_block(const char* at) {
  BlockMasks masks;
#if defined(GOLDRANK_SSE2)
  const __m128i blank = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), span = _mm_set1_epi8('\r' - '\t');
  const __m128i newline = _mm_set1_epi8('\n');
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    const __m128i above_tab = _mm_sub_epi8(bytes, tab);
    const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(above_tab, span), above_tab);
    const __m128i is_white = _mm_or_si128(_mm_cmpeq_epi8(bytes, blank), is_control);
    masks.spaces |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(is_white))} << (16 * part);
    const int newlines = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline));
    masks.newlines |= uint64_t{static_cast<uint32_t>(newlines)} << (16 * part);
  }
#elif defined(GOLDRANK_LITTLE_ENDIAN)
  // Eight bytes at a time; the sums cannot carry from one byte into the next, because their operands are below 128.
  constexpr uint64_t each = 0x0101010101010101u, low = 0x7F * each, high = 0x80 * each;
  const auto is_zero = [=](uint64_t word) { return ~(((word & low) + low) | word) & high; };
  const auto gather = [=](uint64_t flags) { return (flags >> 7) * 0x0102040810204080u >> 56; };
  for (int part = 0; part < 8; ++part) {
    const uint64_t word = load<uint64_t>(at + 8 * part);
    const uint64_t from_tab = (word & low) + (0x80 - '\t') * each, above_return = (word & low) + (0x7F - '\r') * each;
    const uint64_t is_control = from_tab & ~above_return & ~word & high;
    masks.spaces |= gather(is_control | is_zero(word ^ ' ' * each)) << (8 * part);
    masks.newlines |= gather(is_zero(word ^ '\n' * each)) << (8 * part);
  }
#else
  for (int byte = 0; byte < kBlockBytes; ++byte) {
    masks.spaces |= uint64_t{is_space(at[byte])} << byte;
    masks.newlines |= uint64_t{at[byte] == '\n'} << byte;
  }
#endif
  return masks;
}

// Reads rows one after another until the data end or a line has a fault.
template <class Shape>
class LineReader {
 public:
  LineReader(string_view data, Shape shape, ReleasedGil& gil)
      : begin_(data.data()), line_(begin_), end_(line_ + data.size()), shape_(shape), gil_(gil) {}

  GOLDRANK_INLINE bool next(Row& row) {
    while (line_ != end_) {
      const char* const line = line_;
      Fields fields;
      if (!split_regular(fields)) fields = split_line(line_, end_, shape_.value_column);
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
      if (!parse_plain_decimal(fields.value, row.value)) {
        const NumberKind number = parse_number(fields.value, row.value, gil_);
        if (number == NumberKind::malformed) return stop({line, FaultKind::number, fields.value});
        if (number == NumberKind::nonfinite) return stop({line, FaultKind::nonfinite, fields.value});
      }
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
  bool stop(const LineFault& fault) {
    fault_ = fault;
    return false;
  }

  static constexpr Py_ssize_t kMostColumns = 16;

  Fields fields_between(const char* const* ends) const {
    const auto field = [&](Py_ssize_t column) { return between(ends[column - 1] + 1, ends[column]); };
    return {between(line_, ends[0]), field(2), field(TableShape::kRankColumn), field(shape_.value_column), shape_.width};
  }

  // Splits a line that has one white-space byte after each of its columns and no other, except for a carriage return
  // before the line end. Returns false for any other line and for one in the last bytes of the data.
  GOLDRANK_INLINE bool split_regular(Fields& fields) {
    if (end_ - line_ < kBlockBytes || shape_.width > kMostColumns) return false;
    const BlockMasks masks = mask_block(line_);
    if (masks.newlines == 0) return split_long(fields);
    const int newline = lowest_bit(masks.newlines);
    const uint64_t last = uint64_t{1} << (newline - (newline > 0 && line_[newline - 1] == '\r'));
    // The ends of the columns from each column on.
    uint64_t ends[kMostColumns];
    ends[0] = (masks.spaces & (last - 1)) | last;
    const bool has_empty_column = (ends[0] & (ends[0] << 1 | 1)) != 0;
    for (Py_ssize_t column = 1; column < shape_.width; ++column) ends[column] = ends[column - 1] & (ends[column - 1] - 1);
    if (has_empty_column || ends[shape_.width - 1] != last) return false;
    const char* positions[kMostColumns];
    for (Py_ssize_t column = 0; column < shape_.width; ++column) positions[column] = line_ + lowest_bit(ends[column]);
    fields = fields_between(positions);
    line_ += newline + 1;
    return true;
  }

  // The same for a line that is longer than a block.
  bool split_long(Fields& fields) {
    const char* ends[kMostColumns];
    Py_ssize_t column = 0;
    for (const char* block = line_; end_ - block >= kBlockBytes; block += kBlockBytes) {
      for (uint64_t spaces = mask_block(block).spaces; spaces != 0; spaces &= spaces - 1) {
        const char* const at = block + lowest_bit(spaces);
        const bool is_empty = at == (column == 0 ? line_ : ends[column - 1] + 1);
        const bool is_return = is_empty && *at == '\n' && at[-1] == '\r';
        if (is_empty ? !is_return || column != shape_.width : column == shape_.width) return false;
        if (!is_empty) ends[column++] = at;
        if (*at != '\n') continue;
        if (column != shape_.width) return false;
        fields = fields_between(ends);
        line_ = at + 1;
        return true;
      }
    }
    return false;
  }

  const char* const begin_;
  const char* line_;
  const char* const end_;
  const Shape shape_;
  ReleasedGil& gil_;
  std::optional<LineFault> fault_;
  Py_ssize_t long_lines_ = 0;
};

}  // namespace goldrank
