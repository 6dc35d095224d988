"""Writes the stories that flame.t looks at in a browser, as text for tests/gen/stacks_gen. usage: flame_stories.py FOLDER"""

import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
MS = 1000000


def write(name, samples):
    (folder / f"{name}.txt").write_text("".join("%.3f %s %d %d %d %s\n" % s for s in samples))


# A second in each of two phases; 1 sample a millisecond, each stands for one. A name that wants to be markup.
HOSTILE = "<img/src=x/onerror=document.title='owned'>"
phases = []
for i in range(1000):
    phases.append((i, "early", 10, 10, MS, "main;setup;read_file" if i % 4 else f"main;setup;{HOSTILE}"))
for i in range(1000):
    thread = 10 if i % 2 else 11
    phases.append((1000 + i, "early" if thread == 10 else "late", 10, thread, MS, "main;work;" + ("inner_loop;multiply" if i % 5 else "check")))
write("phases", phases)

# The same program before and after: escape becomes four times as dear, one function goes, another comes.
usual = ["main;serve;read"] * 40 + ["main;serve;render;format"] * 30
before = usual + ["main;serve;render;escape"] * 10 + ["main;serve;old_log"] * 20
after = usual + ["main;serve;render;escape"] * 40 + ["main;serve;new_check"] * 20
write("before", [(i, "server", 20, 20, MS, s) for i, s in enumerate(before)])
write("after", [(i, "server", 21, 21, MS, s) for i, s in enumerate(after)])

# Several processes, one of them with a deep stack; and one of user code alone. A sample every two milliseconds.
DEEP = ";".join(f"level_{i}" for i in range(90))
write("system", [(2 * i, "server" if i % 3 else "shell", 30 + i % 3, 30 + i % 3, 2 * MS, f"main;{DEEP}" if i % 3 else "main;wait;poll") for i in range(300)])
write("user", [(2 * i, "app", 40, 40, 2 * MS, "@;@") for i in range(100)])

# Threads in such numbers that none of them is as wide as a pixel, beside one that is.
write("crowd", [(i, "busy", 50, 50, 1000 * MS, "main;heavy") for i in range(4)] +
      [(i, "pool", 50, 1000 + i, MS, f"main;run;job{i % 7}") for i in range(4000)])

# Names of which the function is behind all the types.
LONG = "store::Map<std::basic_string<char,std::char_traits<char>>,std::vector<std::pair<int,std::function<int(int)>>>>::find_the_end<int>(std::basic_string<char>)"
write("types", [(i, "types", 60, 60, MS, f"main;{LONG}" if i % 4 else f"main;short;{LONG}") for i in range(40)])

# A caller that is too light to be followed to its own callers.
write("light", [(0, "light", 30, 30, 2000 * MS, "main;heavy;target"), (1, "light", 30, 30, 1000, "main;a;b;c;target")])

# More than 200,000 frames.
rnd, names, big, frames = random.Random(1), [f"function_number_{i}" for i in range(3000)], [], set()
while len(frames) < 200000:
    stack = [names[(k * 131 + int(rnd.random() ** 3 * (3 if k < 6 else 40))) % 3000] for k in range(rnd.randint(6, 28))]
    frames.update(";".join(stack[:k]) for k in range(1, len(stack) + 1))
    big.append((len(big) * 0.1, "big", 7, 7 + len(big) % 4, rnd.randint(1, 9) * MS // 10, ";".join(stack)))
write("big", big)
