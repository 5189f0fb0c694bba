// Parses numbers of the lines of a TREC run many at a time, which lets vector registers parse the usual ones.

#pragma once

#include <cmath>
#include <optional>
#include <utility>

#include "number_parser.hpp"
#include "trec_lines.hpp"
#include "vector_registers.hpp"

namespace goldrank {

struct PlainDecimals {
  static constexpr size_t kCapacity = 64;

  PlainDecimal operator[](size_t at) const {
    PlainDecimal number;
    number.first = first[at];
    number.last = last[at];
    number.size = size[at];
    number.sign = sign[at];
    number.lead = lead[at];
    return number;
  }

  // One array for each field, as vector registers load them.
  uint64_t first[kCapacity], last[kCapacity], size[kCapacity], sign[kCapacity], lead[kCapacity];
};

GOLDRANK_WIDEST_REGISTERS static void parse_all(const PlainDecimals& numbers, size_t count, double* values) {
  for (size_t at = 0; at < count; ++at) values[at] = numbers[at].value();
}

class NumberBatch {
 public:
  // `begin` is the beginning of the data.
  explicit NumberBatch(const char* begin) : begin_(begin) {}

  size_t size() const { return size_; }
  bool is_full() const { return size_ == PlainDecimals::kCapacity; }

  void add(string_view token) {
    const PlainDecimal number(token);
    const size_t at = size_++;
    numbers_.first[at] = number.first;
    numbers_.last[at] = number.last;
    numbers_.size[at] = number.size;
    numbers_.sign[at] = number.sign;
    numbers_.lead[at] = number.lead;
    tokens_[at] = token.data();
  }

  // Parses all numbers and removes them. Returns how many come before the first that is not finite, which is a fault.
  size_t parse(double* values, std::optional<LineFault>& fault, ReleasedGil& gil) {
    const size_t count = std::exchange(size_, 0);
    parse_all(numbers_, count, values);
    for (size_t at = 0; at < count; ++at) {
      if (!std::isnan(values[at])) continue;
      const string_view token(tokens_[at], numbers_.size[at]);
      const NumberKind kind = parse_number(token, values[at], gil);
      if (kind == NumberKind::finite) continue;
      keep_earlier(fault, number_fault(kind, token, begin_));
      return at;
    }
    return count;
  }

 private:
  const char* const begin_;
  size_t size_ = 0;
  PlainDecimals numbers_;
  const char* tokens_[PlainDecimals::kCapacity];
};

}  // namespace goldrank
