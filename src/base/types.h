/* The few words every module uses: sized integers, attributes, scope guards, min and max. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a)	  (sizeof(a) / sizeof((a)[0]))
#define must_check	  __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define likely(x)	  __builtin_expect(!!(x), 1)
#define unlikely(x)	  __builtin_expect(!!(x), 0)

#define min(a, b)                                                                                  \
	({                                                                                         \
		__auto_type a_ = (a);                                                              \
		__auto_type b_ = (b);                                                              \
		a_ < b_ ? a_ : b_;                                                                 \
	})
#define max(a, b)                                                                                  \
	({                                                                                         \
		__auto_type a_ = (a);                                                              \
		__auto_type b_ = (b);                                                              \
		a_ > b_ ? a_ : b_;                                                                 \
	})

/* Times and weights come from files: differences do not fall below 0, sums do not wrap. */
static inline u64 u64_less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}
static inline u64 u64_sum(u64 a, u64 b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Runs fn(&variable) when the variable goes out of scope. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(cleanup_free)

void cleanup_close(int *fd);
#define _cleanup_close_ _cleanup_(cleanup_close)
