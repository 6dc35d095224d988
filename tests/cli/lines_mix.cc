// Templates, lambdas, inlining several levels deep, cold parts: what debugging information looks like in C++.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {
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
inline long add(long a, long b)
{
	return a + b * 3;
}
}

long sum(const std::vector<long> &v)
{
	long s = 0;
	for (auto x : v)
		s = add(s, x);
	return s;
}

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<long>> m;
	for (int i = 0; i < 1000 * argc; i++)
		m[std::to_string(i % 97)].push_back(i * 7 % 31);
	long s = 0;
	for (auto &p : m) {
		std::sort(p.second.begin(), p.second.end(), [](long a, long b) { return a > b; });
		s += sum(p.second);
	}
	std::unique_ptr<base> b = std::make_unique<derived<8>>();
	return (int)(s + b->f(argc)) & 1;
}
