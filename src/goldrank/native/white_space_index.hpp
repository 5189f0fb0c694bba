// Finds all white space of a text, 64 bytes at a time, so that lines can be split without a look at each byte.

#pragma once

#include <algorithm>

#include "byte_strings.hpp"
#include "number_parser.hpp"
#include "vector_registers.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#define GOLDRANK_SSE2 1
#include <emmintrin.h>
#endif
// Functions for wider registers than those every processor has, chosen when the module is loaded.
#if defined(__GNUC__) && defined(__x86_64__)
#define GOLDRANK_WIDE_INDEX 1
#include <immintrin.h>
#endif

namespace goldrank {

constexpr size_t kBlockBytes = 64;

// Which of 64 bytes are white space: the lowest bit stands for the first byte.
GOLDRANK_INLINE uint64_t mask_white_space(const char* at) {
  uint64_t mask = 0;
#if defined(GOLDRANK_SSE2)
  const __m128i blank = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), span = _mm_set1_epi8('\r' - '\t');
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    const __m128i above_tab = _mm_sub_epi8(bytes, tab);
    const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(above_tab, span), above_tab);
    const __m128i is_white = _mm_or_si128(_mm_cmpeq_epi8(bytes, blank), is_control);
    mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(is_white))} << (16 * part);
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
    mask |= gather(is_control | is_zero(word ^ ' ' * each)) << (8 * part);
  }
#else
  for (size_t byte = 0; byte < kBlockBytes; ++byte) mask |= uint64_t{is_space(at[byte])} << byte;
#endif
  return mask;
}

// The positions of white space in some blocks of text, whether two of them are neighbours, and whether all bytes are
// ASCII and none is NUL.
struct IndexedBlocks {
  uint16_t* end;
  bool has_neighbours, is_plain;
};

// Collects which positions are neighbours; the text before the first block ends with white space.
struct Neighbours {
  uint64_t pairs = 0, before = 1;

  GOLDRANK_INLINE void add(uint64_t mask) {
    pairs |= mask & (mask << 1 | before);
    before = mask >> 63;
  }
};

GOLDRANK_INLINE uint16_t* append_positions(uint64_t mask, size_t first, uint16_t* next) {
  for (; mask != 0; mask &= mask - 1) *next++ = static_cast<uint16_t>(first + static_cast<size_t>(lowest_bit(mask)));
  return next;
}

inline IndexedBlocks index_blocks(const char* text, size_t blocks, uint16_t* next) {
  Neighbours neighbours;
  for (size_t first = 0; first < blocks * kBlockBytes; first += kBlockBytes) {
    const uint64_t mask = mask_white_space(text + first);
    neighbours.add(mask);
    next = append_positions(mask, first, next);
  }
  return {next, neighbours.pairs != 0, is_plain({text, blocks * kBlockBytes})};
}

#if defined(GOLDRANK_WIDE_INDEX)

// White-space bytes are told from others by the entry for their lower half in this table: ' ' or '\t' to '\r'. No other
// byte is equal to the entry for its lower half; a shuffle has 0 for bytes above 127.
#define GOLDRANK_WHITE_SPACE ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', '\v', '\f', '\r', 0, 0

__attribute__((target("avx2,bmi"))) inline IndexedBlocks index_blocks_avx2(const char* text, size_t blocks,
                                                                           uint16_t* next) {
  const __m256i table = _mm256_setr_epi8(GOLDRANK_WHITE_SPACE, GOLDRANK_WHITE_SPACE);
  // As signed numbers, all bytes of ASCII text without NUL are above 0.
  __m256i least = _mm256_set1_epi8(1);
  Neighbours neighbours;
  for (size_t first = 0; first < blocks * kBlockBytes; first += kBlockBytes) {
    uint64_t mask = 0;
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + first + 32 * half));
      const __m256i is_white = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, bytes), bytes);
      mask |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(is_white))} << (32 * half);
      least = _mm256_min_epi8(least, bytes);
    }
    neighbours.add(mask);
    next = append_positions(mask, first, next);
  }
  const bool is_plain = _mm256_movemask_epi8(_mm256_cmpgt_epi8(least, _mm256_setzero_si256())) == -1;
  return {next, neighbours.pairs != 0, is_plain};
}

// Compresses the numbers 0 to 63 by the mask instead of a loop over its bits.
__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,popcnt"))) inline IndexedBlocks index_blocks_avx512(
    const char* text, size_t blocks, uint16_t* next) {
  const __m512i table = _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_setr_epi8(GOLDRANK_WHITE_SPACE));
  alignas(64) static constexpr uint8_t numbers[kBlockBytes] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
      44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i all = _mm512_load_si512(numbers);
  __m512i least = _mm512_set1_epi8(1);
  Neighbours neighbours;
  for (size_t first = 0; first < blocks * kBlockBytes; first += kBlockBytes) {
    const __m512i bytes = _mm512_loadu_si512(text + first);
    const uint64_t mask = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(table, bytes), bytes);
    neighbours.add(mask);
    least = _mm512_min_epi8(least, bytes);
    const __m512i positions = _mm512_maskz_compress_epi8(mask, all);
    const __m512i start = _mm512_set1_epi16(static_cast<int16_t>(first));
    const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(positions));
    _mm512_storeu_si512(next, _mm512_add_epi16(low, start));
    const auto count = static_cast<size_t>(__builtin_popcountll(mask));
    if (count > 32) {
      const __m512i high = _mm512_cvtepu8_epi16(_mm512_maskz_extracti64x4_epi64(0xFF, positions, 1));
      _mm512_storeu_si512(next + 32, _mm512_add_epi16(high, start));
    }
    next += count;
  }
  const bool is_plain = _mm512_cmpgt_epi8_mask(least, _mm512_setzero_si512()) == ~uint64_t{0};
  return {next, neighbours.pairs != 0, is_plain};
}

#undef GOLDRANK_WHITE_SPACE

#endif

using IndexBlocks = IndexedBlocks (*)(const char* text, size_t blocks, uint16_t* next);

inline IndexBlocks choose_index_blocks() {
#if defined(GOLDRANK_WIDE_INDEX)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2")) return index_blocks_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) return index_blocks_avx2;
#endif
  return index_blocks;
}

// The positions of all white space in a part of a text, which is read line by line.
class WhiteSpaceIndex {
 public:
  // Few enough bytes that they and their index stay in the first cache of the processor.
  static constexpr size_t kPartBytes = 2048;

  // Makes sure that more than `count` positions from the beginning of a line on are known. Returns false if that line and
  // the next are too long for a part, or too near to the end of the text for whole blocks.
  GOLDRANK_INLINE bool has_more_than(std::ptrdiff_t count, const char* line, const char* end) {
    return last_ - next_ > count || (fill(line, end) && last_ - next_ > count);
  }

  // The text that the positions refer to, and the positions that were not skipped yet.
  const char* text() const { return text_; }
  const uint16_t* next() const { return next_; }
  const uint16_t* end() const { return last_; }
  // Whether any position of the part follows immediately on another or on the line end before the part.
  bool has_neighbours() const { return has_neighbours_; }
  // Whether all bytes of all parts so far are ASCII and none is NUL.
  bool is_plain() const { return is_plain_; }

  void skip(std::ptrdiff_t count) { next_ += count; }
  void skip_to(const char* line) {
    while (next_ != last_ && text_ + *next_ < line) ++next_;
  }

 private:
  bool fill(const char* line, const char* end) {
    static const IndexBlocks index = choose_index_blocks();
    const size_t blocks = std::min(static_cast<size_t>(end - line), kPartBytes) / kBlockBytes;
    // The next part arrives from memory while the lines of this one are split.
    for (size_t byte = kPartBytes; byte < 2 * kPartBytes; byte += kBlockBytes) prefetch(line + byte);
    const IndexedBlocks indexed = index(line, blocks, positions_);
    text_ = line;
    next_ = positions_;
    last_ = indexed.end;
    has_neighbours_ = indexed.has_neighbours;
    is_plain_ &= indexed.is_plain;
    return blocks > 0;
  }

  const char* text_ = nullptr;
  const uint16_t *next_ = nullptr, *last_ = nullptr;
  bool has_neighbours_ = false, is_plain_ = true;
  // A whole register is stored behind the last position.
  uint16_t positions_[kPartBytes + kBlockBytes];
};

}  // namespace goldrank
