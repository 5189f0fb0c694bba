// Parses decimal numbers in text to the nearest double, exactly as Python's float() does.

#pragma once

#include <cfloat>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "byte_strings.hpp"
#include "python_api.hpp"
#include "vector_registers.hpp"

#if defined(_WIN32) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define GOLDRANK_LITTLE_ENDIAN 1
#endif

namespace goldrank {

enum class NumberKind { finite, nonfinite, malformed };

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Returns true for the spellings of NaN and infinity that float() accepts.
inline bool is_nonfinite_name(string_view token) {
  if (token.front() == '+' || token.front() == '-') token.remove_prefix(1);
  const auto is = [&](string_view name) {
    const auto equals = [](char a, char b) { return (a | 0x20) == b; };
    return std::equal(token.begin(), token.end(), name.begin(), name.end(), equals);
  };
  return is("nan") || is("inf") || is("infinity");
}

// The double nearest to a well-formed unsigned decimal of any length.
inline double nearest_double(string_view decimal, ReleasedGil& gil) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto parsed = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  if (parsed.ec == std::errc{}) return value;
#endif
  // from_chars reports "out of range" both for underflow and for overflow; Python distinguishes the two.
  const std::string terminated(decimal);
  return gil.with_gil([&] { return PyOS_string_to_double(terminated.c_str(), nullptr, nullptr); });
}

// The whole number in the last `count` (1 to 8) bytes of a word, if all of them are digits; the others are masked.
GOLDRANK_INLINE std::optional<uint32_t> combine_digits(uint64_t word, std::ptrdiff_t count) {
  constexpr uint64_t zeros = 0x3030303030303030u, high_halves = 0xF0F0F0F0F0F0F0F0u;
  const uint64_t wanted = ~uint64_t{0} << (64 - 8 * count);
  word = (word & wanted) | (zeros & ~wanted);
  if (((word & high_halves) | (((word + 0x0606060606060606u) & high_halves) >> 4)) != 0x3333333333333333u) return {};
  // Combine digits to pairs, then the four pairs to one number, each pair times its power of 100.
  word -= zeros;
  word = word * 10 + (word >> 8);
  constexpr uint64_t every_other_pair = 0x000000FF000000FFu;
  word = (word & every_other_pair) * (uint64_t{1000000} << 32 | 100) +
         (word >> 16 & every_other_pair) * (uint64_t{10000} << 32 | 1);
  return static_cast<uint32_t>(word >> 32);
}

// The whole number in the last `count` bytes (1 to 8) before `end`, if all of them are digits. Always reads the eight
// bytes before `end`.
GOLDRANK_INLINE std::optional<uint32_t> parse_last_digits(const char* end, std::ptrdiff_t count) {
#if defined(GOLDRANK_LITTLE_ENDIAN)
  return combine_digits(load<uint64_t>(end - 8), count);
#else
  static_cast<void>(end), static_cast<void>(count);
  return {};
#endif
}

// The largest whole number up to which every whole number is a double.
constexpr uint64_t kExactWhole = uint64_t{1} << 53;

// The bytes up to the end of a number that `parse_plain_decimal` may read.
constexpr std::ptrdiff_t kBytesOfDecimal = 9;

// Parses a decimal with one to eight digits after the point and no exponent, as nearly all scores are; returns false for
// any other.
GOLDRANK_INLINE bool parse_plain_decimal(string_view token, double& value) {
#if defined(GOLDRANK_LITTLE_ENDIAN)
  static constexpr double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  const char* at = token.data();
  const char* const end = at + token.size();
  const bool negative = *at == '-';
  at += negative;
  std::ptrdiff_t digits = end - at - 1;
  // Bounds the digits, so that the number fits into 64 bits.
  if (FLT_EVAL_METHOD != 0 || digits < 2 || digits > 17) return false;
  // The last nine bytes are eight digits and the point, which is found by its lowest flag and left out.
  const uint64_t first = load<uint64_t>(end - 9), last = load<uint64_t>(end - 8);
  const uint64_t is_other = first ^ 0x2E2E2E2E2E2E2E2Eu;
  const uint64_t flags = (is_other - 0x0101010101010101u) & ~is_other & 0x8080808080808080u;
  if (flags == 0) return false;
  const int before = lowest_bit(flags) / 8, places = 8 - before;
  if (places >= digits) return false;
  uint64_t mantissa = 0;
  for (; digits > 8; --digits, ++at) {
    if (!is_digit(*at)) return false;
    mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
  }
  const uint64_t is_before = (uint64_t{1} << 8 * before) - 1;
  const auto rest = combine_digits((first & is_before) | (last & ~is_before), digits);
  if (!rest) return false;
  mantissa = mantissa * 100000000 + *rest;
  if (mantissa > kExactWhole) return false;
  const double magnitude = static_cast<double>(static_cast<int64_t>(mantissa)) / powers[places];
  value = negative ? -magnitude : magnitude;
  return true;
#else
  static_cast<void>(token), static_cast<void>(value);
  return false;
#endif
}

// Parses a token of the fourth column or a later one: at least six bytes of the line and the decimal point stand before
// a fraction, so that the eight bytes up to its end can be read.
inline NumberKind parse_number(string_view token, double& value, ReleasedGil& gil) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* at = token.data();
  const char* const end = at + token.size();
  const bool negative = *at == '-';
  at += negative || *at == '+';
  const char* const decimal = at;

  uint64_t mantissa = 0;
  const auto parse_digits = [&] {
    const char* const first = at;
    for (; at != end && is_digit(*at); ++at) mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
    return at - first;
  };
  std::ptrdiff_t digits = parse_digits();
  std::ptrdiff_t exponent = 0;
  if (at != end && *at == '.') {
    ++at;
    const std::ptrdiff_t rest = end - at;
    const auto fraction = rest >= 1 && rest <= 8 ? parse_last_digits(end, rest) : std::nullopt;
    if (fraction) {
      mantissa = mantissa * static_cast<uint64_t>(powers[rest]) + *fraction;
      at = end;
      exponent = -rest;
    } else {
      exponent = -parse_digits();
    }
    digits -= exponent;
  }
  if (digits == 0) return is_nonfinite_name(token) ? NumberKind::nonfinite : NumberKind::malformed;
  if (at != end && (*at | 0x20) == 'e') {
    ++at;
    const bool is_negative = at != end && *at == '-';
    at += at != end && (*at == '-' || *at == '+');
    if (at == end) return NumberKind::malformed;
    std::ptrdiff_t shift = 0;
    for (; at != end && is_digit(*at); ++at) shift = std::min<std::ptrdiff_t>(shift * 10 + (*at - '0'), 99999);
    exponent += is_negative ? -shift : shift;
  }
  if (at != end) return NumberKind::malformed;

  // Clinger's fast path: mantissa and power are exact doubles, so that the only rounding is that of one operation.
  if (FLT_EVAL_METHOD == 0 && digits <= 19 && mantissa <= kExactWhole && std::abs(exponent) <= 22) {
    value = static_cast<double>(mantissa);
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
  } else {
    value = nearest_double({decimal, static_cast<size_t>(end - decimal)}, gil);
  }
  if (negative) value = -value;
  return std::isfinite(value) ? NumberKind::finite : NumberKind::nonfinite;
}

// Returns the rank, or NaN for a token that is not a finite number. `begin` is the beginning of the data: the first
// line may be too short for reading eight bytes before the end of its rank.
inline double parse_rank(string_view token, const char* begin, ReleasedGil& gil) {
  const char* const end = token.data() + token.size();
  // Ranks are short whole numbers in nearly every file.
  if (token.size() <= 8 && end - begin >= 8) {
    if (const auto rank = parse_last_digits(end, static_cast<std::ptrdiff_t>(token.size()))) return *rank;
  }
  double rank;
  return parse_number(token, rank, gil) == NumberKind::finite ? rank : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace goldrank
