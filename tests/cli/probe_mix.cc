/* C++ for tests/cli/probe_debug.t: members, references, templates, functions of namespaces. */
#include <cstdio>
#include <string>

namespace ns {
struct base {
	int below = 1;
	virtual ~base() {}
};
struct thing : base {
	int x;
	thing(int v) : x(v) {}
	__attribute__((noinline)) int grow(int n, const char *s)
	{
		for (int i = 0; i < n; i++)
			x += i + s[0];
		return x;
	}
	static __attribute__((noinline)) long triple(long q)
	{
		return q * 3;
	}
};
template <class T> __attribute__((noinline)) T next(T a)
{
	return a + 1;
}
__attribute__((noinline)) int both(thing &t, const thing *p)
{
	return t.x + p->below;
}
}

static __attribute__((noinline)) int closure(int k)
{
	auto add = [&](int z) { return z + k; };
	return add(3);
}

int main(int argc, char **argv)
{
	ns::thing t(argc);
	std::printf("%d %ld %d %d\n", t.grow(argc, argv[0]), ns::thing::triple(argc), ns::next(argc), ns::both(t, &t));
	return closure(argc) == 1;
}
