// For names.t: another unit, of another language.
#include <cstdint>

namespace {
template <typename T> struct stepper {
	T at;
	__attribute__((noinline)) T go(T by)
	{
		for (int i = 0; i < 60; i++)
			at = (at * 1103515245 + by) ^ (at >> 3);
		return at;
	}
};
}

extern "C" uint32_t two_work(uint32_t x)
{
	stepper<uint32_t> s = { x };
	return s.go(12345) + 1;
}
