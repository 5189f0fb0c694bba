// Primitives on byte strings: unaligned loads, comparison, white space and the check for valid UTF-8.

#pragma once

#include <cstring>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

#include "python_api.hpp"

#if defined(_WIN32) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define GOLDRANK_LITTLE_ENDIAN 1
#endif

namespace goldrank {

template <class Word>
Word load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  static_cast<void>(address);
#endif
}

// The number of the lowest bit of a word that is not 0.
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

inline bool equal(string_view a, string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  // Two words that may overlap hold a short id; a call of memcmp takes longer.
  const auto differ = [&](auto word) {
    using Word = decltype(word);
    const size_t last = size - sizeof(Word);
    return (load<Word>(a.data()) ^ load<Word>(b.data())) | (load<Word>(a.data() + last) ^ load<Word>(b.data() + last));
  };
  if (size >= 8 && size <= 16) return differ(uint64_t{}) == 0;
  if (size >= 4 && size < 8) return differ(uint32_t{}) == 0;
  // The address of an empty string may be null, which memcmp does not allow.
  return size == 0 || std::memcmp(a.data(), b.data(), size) == 0;
}

inline string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

inline bool is_space(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') < 5; }

// Returns true if all bytes are ASCII and none is NUL.
inline bool is_plain(string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  constexpr uint64_t each = 0x0101010101010101u;
  uint64_t high_bits = 0;
  for (; end - at >= 8; at += 8) {
    const auto word = load<uint64_t>(at);
    // A NUL byte borrows, which sets its highest bit.
    high_bits |= word | (word - each);
  }
  bool plain = (high_bits & 0x80 * each) == 0;
  for (; at != end; ++at) plain &= static_cast<signed char>(*at) > 0;
  return plain;
}

inline bool is_utf8(string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (end - at >= 8 && (load<uint64_t>(at) & 0x8080808080808080u) == 0) at += 8;
  const auto byte = [&](int offset) { return static_cast<unsigned char>(at[offset]); };
  while (at != end) {
    const unsigned lead = byte(0);
    const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > 1) {
      // The range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF.
      const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (lead < 0xC2 || lead > 0xF4 || end - at < length || byte(1) < low || byte(1) > high) return false;
      for (int offset = 2; offset < length; ++offset) {
        if ((byte(offset) & 0xC0) != 0x80) return false;
      }
    }
    at += length;
  }
  return true;
}

}  // namespace goldrank
