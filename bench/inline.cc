// One part of a large C++ program with much inlining: compiled many times over, each time in a namespace of its own (-DPART=n).
// The last part (-DPARTS=n) is main, which runs them all.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)

#ifdef PART
namespace NAME(part, PART)
{
struct base {
	virtual ~base() = default;
	virtual int f(int x) const { return x; }
};
template <int N> struct derived : base {
	int f(int x) const override { return x * N + derived<N - 1>().f(x); }
};
template <> struct derived<0> : base {
	int f(int x) const override { return x; }
};
static long sum(const std::vector<long> &v)
{
	long s = 0;
	for (auto x : v)
		s += x * 3;
	return s;
}
}

int NAME(run, PART)(int n)
{
	using namespace NAME(part, PART);
	std::map<std::string, std::vector<long>> m;
	for (int i = 0; i < 1000 * n; i++)
		m[std::to_string(i % 97)].push_back(i * 7 % 31);
	long s = 0;
	for (auto &p : m) {
		std::sort(p.second.begin(), p.second.end(), [](long a, long b) { return a > b; });
		s += sum(p.second);
	}
	std::unordered_map<int, std::unique_ptr<base>> u;
	u[1] = std::make_unique<derived<20>>();
	s += u[1]->f(n);
	std::regex re("([a-z]+)([0-9]*)");
	std::smatch found;
	std::string text = "abc123";
	if (std::regex_match(text, found, re))
		s += (long)found.size();
	std::ostringstream o;
	o << s;
	std::function<int()> size = [&] { return (int)o.str().size(); };
	return size();
}
#else
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DECLARE(n) int run##n(int) __attribute__((weak));
#define CALL(n) s += run##n ? run##n(20) : 0;
EACH(DECLARE)
int main()
{
	long s = 0;
	for (int i = 0; i < 60; i++) {
		EACH(CALL)
	}
	printf("%ld\n", s);
}
#endif
