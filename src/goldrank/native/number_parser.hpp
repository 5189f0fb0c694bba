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

// The last `count` (1 to 8) bytes of a word as digits: each has its value if it is one, and those before them are 0.
GOLDRANK_INLINE uint64_t last_digits(uint64_t word, uint64_t count) {
  const uint64_t bits_before = (64 - 8 * count) & 63;
  return (word ^ 0x3030303030303030u) >> bits_before << bits_before;
}

// Returns 0 if all bytes of a word are below 10.
GOLDRANK_INLINE uint64_t mask_non_digits(uint64_t digits) {
  return (digits | (digits + 0x0606060606060606u)) & 0xF0F0F0F0F0F0F0F0u;
}

// Combines eight digits to pairs, the pairs to numbers of four digits, and these to one.
GOLDRANK_INLINE uint32_t combine_digits(uint64_t digits) {
  const uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00FF00FF00FF00FFu;
  const uint64_t quads = pairs * 100 + (pairs >> 16);
  return static_cast<uint32_t>(quads & 0xFFFF) * 10000 + static_cast<uint32_t>(quads >> 32 & 0xFFFF);
}

// The whole number in the last `count` bytes (1 to 8) before `end`, if all of them are digits. Always reads the eight
// bytes before `end`.
GOLDRANK_INLINE std::optional<uint32_t> parse_last_digits(const char* end, std::ptrdiff_t count) {
#if defined(GOLDRANK_LITTLE_ENDIAN)
  const uint64_t digits = last_digits(load<uint64_t>(end - 8), static_cast<uint64_t>(count));
  if (mask_non_digits(digits) != 0) return {};
  return combine_digits(digits);
#else
  static_cast<void>(end), static_cast<void>(count);
  return {};
#endif
}

// The largest whole number up to which every whole number is a double.
constexpr uint64_t kExactWhole = uint64_t{1} << 53;

// The bytes of a number that is written as most scores are: at most twelve, without exponent, with one to eight digits
// after the point. The last eight digits are parsed without branches, so that a loop over many numbers is compiled to
// vector instructions.
struct PlainDecimal {
  // The bytes up to the end of a number that must be readable.
  static constexpr std::ptrdiff_t kBytes = 9;

  PlainDecimal() = default;
  GOLDRANK_INLINE explicit PlainDecimal(string_view token)
      : first(load<uint64_t>(token.data() + token.size() - 9)),
        last(load<uint64_t>(token.data() + token.size() - 8)),
        size(token.size()),
        sign(static_cast<unsigned char>(token.front())) {
    if (size < 10 || size > kLongest) return;
    const char* const end = token.data() + size - 9;
    for (const char* at = token.data() + (sign == '-'); at != end; ++at) {
      lead = is_digit(*at) ? lead * 10 + static_cast<unsigned>(*at - '0') : kNoNumber;
    }
  }

  // Returns NaN for a number that is written in another way.
  GOLDRANK_INLINE double value() const {
    constexpr uint64_t each = 0x0101010101010101u;
    static constexpr double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
#if !defined(GOLDRANK_LITTLE_ENDIAN)
    return nan;
#endif
    // The quotient must be rounded once.
    if (FLT_EVAL_METHOD != 0) return nan;
    const uint64_t negative = sign == '-', count = size - 1 - negative;
    // The last nine bytes are eight digits and the point, which is found by its lowest flag and left out.
    const uint64_t is_other = first ^ '.' * each;
    const uint64_t flags = (is_other - each) & ~is_other & 0x80 * each;
    const uint64_t is_before = ((flags & (0 - flags)) >> 7) - 1;
    const uint64_t places = 8 - ((is_before & each) * each >> 56);
    const uint64_t digits = last_digits((first & is_before) | (last & ~is_before), count < 8 ? count : 8);
    // Exact up to the quotient.
    const double mantissa = static_cast<double>(static_cast<int32_t>(lead)) * 1e8 +
                            static_cast<double>(static_cast<int32_t>(combine_digits(digits)));
    const double magnitude = mantissa / powers[places];
    // A difference is below 0 if there are no places, no digit before them, too many bytes, or other bytes than digits.
    const uint64_t is_outside =
        ((places - 1) | (count - 1 - places) | (kLongest - size) | (kNoNumber - 1 - lead)) >> 63;
    const uint64_t is_nan = (is_outside | mask_non_digits(digits)) != 0;
    const uint64_t bits = load<uint64_t>(reinterpret_cast<const char*>(&magnitude)) | negative << 63 | (0 - is_nan);
    return load<double>(reinterpret_cast<const char*>(&bits));
  }

  static constexpr uint64_t kLongest = 12, kNoNumber = 1000;

  // The last nine bytes without the last and without the first, the size, the byte that may be a minus, and the number
  // that the digits before the last nine bytes are.
  uint64_t first, last, size, sign, lead = 0;
};

// Parses a plain decimal, and returns false for any other token.
inline bool parse_plain_decimal(string_view token, double& value) {
  // A token of the fourth column may have too few bytes before it if it is shorter than a plain decimal.
  if (token.size() < 3) return false;
  value = PlainDecimal(token).value();
  return !std::isnan(value);
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
