// Registers of eight 32-bit integers; included inside a namespace by integer_products.cpp, hence no `#pragma once`.

using Register = __m256i;
constexpr Py_ssize_t kLanes = 8;
// With 12 sums, two parts of a panel, a repeated pair and a product, all 16 registers are used.
constexpr int kRowsAtOnce = 6;

GOLDRANK_KERNEL inline Register load(const void* numbers) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(numbers));
}
GOLDRANK_KERNEL inline void store(void* numbers, Register values) {
  _mm256_storeu_si256(static_cast<__m256i*>(numbers), values);
}
GOLDRANK_KERNEL inline Register repeat(int32_t number) { return _mm256_set1_epi32(number); }
GOLDRANK_KERNEL inline uint32_t lanes_of(Register mask) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}
// Adds one to the count of each lane that is greater, and returns those lanes as bits.
GOLDRANK_KERNEL inline uint32_t count_greater(Register products, Register limits, Register& counts) {
  const Register greater = _mm256_cmpgt_epi32(products, limits);
  counts = _mm256_sub_epi32(counts, greater);
  return lanes_of(greater);
}
GOLDRANK_KERNEL inline uint32_t less_lanes(Register products, Register limits) {
  return lanes_of(_mm256_cmpgt_epi32(limits, products));
}
