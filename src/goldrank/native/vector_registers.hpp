// Attributes that compile a function once for each width of vector registers and choose one when the module is loaded.

#pragma once

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__)
#define GOLDRANK_WIDEST_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GOLDRANK_WIDEST_REGISTERS
#endif

// What a function with GOLDRANK_WIDEST_REGISTERS calls must be inlined, to be compiled for the same registers.
#if defined(__GNUC__)
#define GOLDRANK_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define GOLDRANK_INLINE __forceinline
#else
#define GOLDRANK_INLINE inline
#endif
