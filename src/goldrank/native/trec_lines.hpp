// Splits TREC text into lines of columns, and reports the earliest line that cannot be read.

#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "byte_strings.hpp"
#include "number_parser.hpp"
#include "python_api.hpp"
#include "row_faults.hpp"
#include "white_space_index.hpp"

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

// The fault of a number that is not finite, at the beginning of its line.
inline LineFault number_fault(NumberKind kind, string_view token, const char* begin) {
  const char* line = token.data();
  while (line != begin && line[-1] != '\n') --line;
  return {line, kind == NumberKind::malformed ? FaultKind::number : FaultKind::nonfinite, token};
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
  string_view query, item, rank, value;
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
      if (!split_regular(fields)) {
        fields = split_line(line_, end_, shape_.value_column);
        index_.skip_to(line_);
        are_others_plain_ &= is_plain(between(line, line_));
        if (fields.count == 0) continue;
      }
      if (fields.count != shape_.width) {
        // A space in the item id shifts the columns, so that the column of the rank holds text. That is an error, not a
        // comment after the tag.
        if (fields.count < shape_.width || !shape_.has_tag() || std::isnan(parse_rank(fields.rank, begin_, gil_))) {
          const auto kind = fields.query.front() == '#' ? FaultKind::comment : FaultKind::columns;
          return stop({line, kind, {}, {}, fields.count});
        }
        ++long_lines_;
      }
      row = {fields.query, fields.item, fields.rank, fields.value};
      return true;
    }
    return false;
  }

  const std::optional<LineFault>& fault() const { return fault_; }
  // How many lines have text after the tag.
  Py_ssize_t long_lines() const { return long_lines_; }
  // Whether all bytes of the lines so far are ASCII and none is NUL.
  bool is_plain_text() const { return index_.is_plain() && are_others_plain_; }

 private:
  bool stop(const LineFault& fault) {
    fault_ = fault;
    return false;
  }

  // Splits a line that has one white-space byte after each of its columns and no other, except for a carriage return
  // before the line end. Returns false for any other line and for one in the last bytes of the data.
  GOLDRANK_INLINE bool split_regular(Fields& fields) {
    if (!index_.has_more_than(shape_.width, line_, end_)) return false;
    const char* const text = index_.text();
    const uint16_t* const ends = index_.next();
    Py_ssize_t last = shape_.width - 1;
    // A line end has this bit, a blank and a tab do not.
    constexpr int line_end_bit = '\n' & ~'\t';
    int separators = 0;
    for (Py_ssize_t column = 0; column < last; ++column) separators |= text[ends[column]];
    if ((separators & line_end_bit) != 0) return false;
    if (index_.has_neighbours()) {
      if (has_empty_column(ends)) return false;
      if (text[ends[last]] == '\r' && ends[last + 1] == ends[last] + 1) ++last;
    }
    if (text[ends[last]] != '\n') return false;
    const auto field = [&](Py_ssize_t column) { return between(text + ends[column - 1] + 1, text + ends[column]); };
    fields = {between(line_, text + ends[0]), field(2), field(TableShape::kRankColumn), field(shape_.value_column),
              shape_.width};
    line_ = text + ends[last] + 1;
    index_.skip(last + 1);
    return true;
  }

  bool has_empty_column(const uint16_t* ends) const {
    bool is_empty = index_.text() + ends[0] == line_;
    for (Py_ssize_t column = 1; column < shape_.width; ++column) is_empty |= ends[column] == ends[column - 1] + 1;
    return is_empty;
  }

  const char* const begin_;
  const char* line_;
  const char* const end_;
  const Shape shape_;
  ReleasedGil& gil_;
  WhiteSpaceIndex index_;
  std::optional<LineFault> fault_;
  Py_ssize_t long_lines_ = 0;
  // Of the lines that the index does not split.
  bool are_others_plain_ = true;
};

}  // namespace goldrank
