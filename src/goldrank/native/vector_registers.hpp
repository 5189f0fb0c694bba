// Attributes that compile a function once for each width of vector registers and choose one when the module is loaded.

#pragma once

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__)
#define GOLDRANK_WIDEST_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
// What such a function calls must be inlined, to be compiled for the same registers.
#define GOLDRANK_INLINE inline __attribute__((always_inline))
#else
#define GOLDRANK_WIDEST_REGISTERS
#define GOLDRANK_INLINE inline
#endif
