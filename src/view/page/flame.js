"use strict";
/*
 * The flame graph page. The profile comes as bytes (view/html_flame.h says how they lie); it is decoded once into typed arrays:
 *
 *	base    nodes of all trees (one tree for each event and task), and points: node, bucket of time, weight
 *	tree    what is drawn: base trees merged as asked, or turned around, or around one function; nodes in the order of a walk
 *
 * A range of time changes weights only: one pass over the points, one over the tree. Drawing walks the tree and skips what is out
 * of sight or too thin, so its cost goes with what is seen. Text reaches the page through textContent and fillText alone.
 */
(() => {
const $ = id => document.getElementById(id);
const NONE = -1, ROW = 20, LEAST = 0.5, PRUNE = 1e-5;
const KINDS = ["user", "kernel", "inlined", "run-time code", "unknown", "mark"];
const KERNEL = 1, INLINED = 2, MARK = 5;

/* ---- the profile ---- */

function decode(text) {
	const bin = atob(text.trim()), bytes = new Uint8Array(bin.length);
	for (let i = 0; i < bin.length; i++)
		bytes[i] = bin.charCodeAt(i);
	let at = 4;
	const utf8 = new TextDecoder();
	const num = () => {
		let v = 0, mul = 1, b;
		do {
			b = bytes[at++];
			v += (b & 127) * mul;
			mul *= 128;
		} while (b > 127);
		return v;
	};
	const text_ = () => {
		const n = num();
		at += n;
		return utf8.decode(bytes.subarray(at - n, at));
	};
	if (utf8.decode(bytes.subarray(0, 4)) !== "SFL1")
		throw new Error("the data in this page is damaged");
	const p = { sides: num(), unit: num(), bucket: num(), buckets: num(), facts: {}, side: [] };
	for (let n = num(), into = p.facts; n > 0; n--) {
		const key = text_(), value = text_();
		if (key === "path")
			p.side.push(into = {});
		into[key] = value;
	}
	p.strings = Array.from({ length: num() }, text_);
	const list = (fields, n = num()) => {
		const cols = fields.map(() => new Float64Array(n));
		for (let i = 0; i < n; i++)
			for (const c of cols)
				c[i] = num();
		return Object.fromEntries(fields.map((f, i) => [f, cols[i]]));
	};
	p.frames = list(["name", "module", "file", "line", "kind"]);
	p.tasks = list(["pid", "tid", "comm"]);
	p.events = Array.from({ length: num() }, () => p.strings[num()]);
	p.trees = list(["event", "task"]);
	const n = p.nodes = num();
	p.frame = new Int32Array(n);
	p.parent = new Int32Array(n);
	p.treeOf = new Int32Array(n);
	for (let i = 0, depth = -1, last = NONE, tree = -1; i < n; i++) {
		let up = num();
		p.frame[i] = num();
		for (; up > 0; up--, depth--)
			last = p.parent[last];
		p.parent[i] = last;
		tree += last === NONE ? 1 : 0;
		p.treeOf[i] = tree;
		last = i;
		depth++;
	}
	const cap = { nr: 0, size: n + 1024 };
	let pn = new Int32Array(cap.size), pb = new Int32Array(cap.size), pc = new Float64Array(cap.size), pw = new Float64Array(cap.size),
		ps = new Uint8Array(cap.size);
	const grow = (a, T) => { const b = new T(a.length * 2); b.set(a); return b; };
	for (let i = 0; i < n; i++) {
		for (let side = 0; side < p.sides; side++) {
			for (let k = num(), bucket = 0; k > 0; k--) {
				if (cap.nr === pn.length) {
					pn = grow(pn, Int32Array); pb = grow(pb, Int32Array); pc = grow(pc, Float64Array);
					pw = grow(pw, Float64Array); ps = grow(ps, Uint8Array);
				}
				bucket += num();
				const c = num(), count = Math.floor(c / 2);
				pn[cap.nr] = i;
				pb[cap.nr] = bucket;
				pc[cap.nr] = count;
				pw[cap.nr] = c % 2 ? num() : count * p.unit;
				ps[cap.nr++] = side;
			}
		}
	}
	p.code = new Map();
	for (let k = num(); k > 0; k--) {
		const frame = num(), lines = [];
		for (let left = num(); left > 0; left--) {
			const what = num(), source = what % 2 === 1, weight = source ? 0 : num();
			lines.push({ source, number: Math.floor(what / 2), weight, text: p.strings[num()] });
		}
		p.code.set(frame, lines);
	}
	p.points = { nr: cap.nr, node: pn, bucket: pb, count: pc, weight: pw, side: ps };
	return p;
}

const P = decode($("data").textContent);
$("data").remove();
const F = P.frames.name.length;
const diff = P.sides === 2;
const timed = P.bucket > 0;

const groups = []; /* names of nodes that are no frames: F + index */
const nameOf = f => f === NONE ? "all" : f < F ? P.strings[P.frames.name[f]] : groups[f - F];
const moduleOf = f => f >= 0 && f < F ? P.strings[P.frames.module[f]] : "";
const kindOf = f => f >= 0 && f < F ? P.frames.kind[f] : MARK;
const groupIds = new Map();
function groupFrame(name) {
	let id = groupIds.get(name);
	if (id === undefined) {
		groupIds.set(name, id = groups.length);
		groups.push(name);
	}
	return F + id;
}
function taskName(task, by) {
	const comm = P.strings[P.tasks.comm[task]], pid = P.tasks.pid[task], tid = P.tasks.tid[task];
	if (by === "comm" || !tid)
		return comm;
	return by === "pid" ? `pid ${pid}` + processComm(pid) : `${comm} ${tid}`;
}
/* A process goes by the name of its first thread. */
const processNames = new Map();
for (let i = 0; i < P.tasks.pid.length; i++)
	if (P.tasks.pid[i] === P.tasks.tid[i] || !processNames.has(P.tasks.pid[i]))
		processNames.set(P.tasks.pid[i], P.strings[P.tasks.comm[i]]);
const processComm = pid => processNames.has(pid) ? ` ${processNames.get(pid)}` : "";

/* ---- trees ---- */

/* Children by (parent, frame): nodes in the order they are met, parents first. */
class Builder {
	constructor(expect) {
		this.parent = [];
		this.frame = [];
		this.cut = false; /* some paths were not followed to their end */
		this.mask = 1;
		while (this.mask < expect * 2 + 16)
			this.mask *= 2;
		this.slots = new Int32Array(this.mask--).fill(NONE);
	}
	add(parent, frame) {
		this.parent.push(parent);
		this.frame.push(frame);
		return this.parent.length - 1;
	}
	grow() {
		this.slots = new Int32Array((this.mask + 1) * 2).fill(NONE);
		this.mask = this.slots.length - 1;
		for (let i = 0; i < this.parent.length; i++) {
			let h = this.hash(this.parent[i], this.frame[i]);
			while (this.slots[h] !== NONE)
				h = (h + 1) & this.mask;
			this.slots[h] = i;
		}
	}
	hash(parent, frame) {
		return (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b)) >>> 4 & this.mask;
	}
	child(parent, frame) {
		let h = this.hash(parent, frame);
		for (let i; (i = this.slots[h]) !== NONE; h = (h + 1) & this.mask)
			if (this.parent[i] === parent && this.frame[i] === frame)
				return i;
		const made = this.slots[h] = this.add(parent, frame);
		if (made * 2 > this.mask)
			this.grow();
		return made;
	}
}

/* From a builder to arrays in the order of a walk, heavier children first. weights: what ends at each node. ids: old to new. */
function finish(b, weights) {
	const n = b.parent.length, total = weights.slice(0, n), start = new Int32Array(n + 2), kids = new Int32Array(n);
	for (let i = n - 1; i > 0; i--)
		total[b.parent[i]] += total[i];
	for (let i = 1; i < n; i++)
		start[b.parent[i] + 2]++;
	for (let i = 1; i < n + 2; i++)
		start[i] += start[i - 1];
	for (let i = 1; i < n; i++)
		kids[start[b.parent[i] + 1]++] = i;
	const names = (x, y) => total[y] - total[x] || (nameOf(b.frame[x]) < nameOf(b.frame[y]) ? -1 : 1);
	const ids = new Int32Array(n), frame = new Int32Array(n), parent = new Int32Array(n), depth = new Uint16Array(n), end = new Int32Array(n);
	const stack = [0];
	let at = 0, height = 0;
	while (stack.length) {
		const i = stack.pop();
		const j = ids[i] = at++;
		frame[j] = b.frame[i];
		parent[j] = i ? ids[b.parent[i]] : NONE;
		depth[j] = i ? depth[parent[j]] + 1 : 0;
		height = Math.max(height, depth[j] + 1);
		const lo = start[i], hi = start[i + 1];
		if (hi - lo > 1)
			kids.set(Array.from(kids.subarray(lo, hi)).sort(names), lo);
		for (let k = hi - 1; k >= lo; k--)
			stack.push(kids[k]);
	}
	for (let i = n - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i + 1);
		if (i)
			end[parent[i]] = Math.max(end[parent[i]], end[i]);
	}
	return { n, frame, parent, depth, end, height, ids };
}

/* All that is drawn of an event: base trees, merged. `of` leads from base nodes to its own. */
function topDown(event, merge) {
	const b = new Builder(P.nodes), of = new Int32Array(P.nodes).fill(NONE);
	b.add(NONE, NONE);
	for (let i = 0; i < P.nodes; i++) {
		const tree = P.treeOf[i];
		if (P.trees.event[tree] !== event)
			continue;
		if (P.parent[i] === NONE)
			of[i] = merge === "all" ? 0 : b.child(0, groupFrame(taskName(P.trees.task[tree], merge)));
		else
			of[i] = b.child(of[P.parent[i]], P.frame[i]);
	}
	const w = new Float64Array(b.parent.length), pt = P.points;
	const sum = sideTotals(event);
	for (let k = 0; k < pt.nr; k++)
		if (of[pt.node[k]] >= 0)
			w[of[pt.node[k]]] += pt.weight[k] / (diff ? sum[pt.side[k]] || 1 : 1);
	const t = finish(b, w);
	for (let i = 0; i < P.nodes; i++)
		if (of[i] >= 0)
			of[i] = t.ids[of[i]];
	t.of = of;
	t.merged = merge !== "all";
	return t;
}

const totalsOf = new Map();
function sideTotals(event) {
	if (!totalsOf.has(event)) {
		const sum = [0, 0], pt = P.points;
		for (let k = 0; k < pt.nr; k++)
			if (P.trees.event[P.treeOf[pt.node[k]]] === event)
				sum[pt.side[k]] += pt.weight[k];
		totalsOf.set(event, sum);
	}
	return totalsOf.get(event);
}

/*
 * Paths outwards, level by level: of each item from the node of t it starts at, put below the builder's node `at`. Branches lighter
 * than a share of the whole are not followed, which b.cut tells. Returns for each item where its path ends.
 */
function outwards(b, t, starts, at, weights, stopAt) {
	const least = weights.reduce((x, y) => x + y, 0) * PRUNE, ends = at.slice(), cursor = starts.slice(), w = [];
	for (let live = starts.map((_, k) => k); live.length;) {
		const next = [];
		for (const k of live) {
			const node = cursor[k];
			if (node === NONE || t.depth[node] <= stopAt)
				continue;
			const c = ends[k] = b.child(ends[k], t.frame[node]);
			w[c] = (w[c] || 0) + weights[k];
			cursor[k] = t.parent[node];
			next.push(k);
		}
		live = next.filter(k => w[ends[k]] >= least);
		b.cut ||= next.some(k => w[ends[k]] < least && cursor[k] !== NONE && t.depth[cursor[k]] > stopAt);
	}
	return ends;
}

/* Innermost functions first. */
function bottomUp(t) {
	const w = t.full.self, items = [], at = [], b = new Builder(t.n);
	b.add(NONE, NONE);
	const stopAt = t.merged ? 1 : 0;
	for (let i = 0; i < t.n; i++) {
		if (!w[i] || t.depth[i] <= stopAt)
			continue;
		let root = 0;
		if (t.merged) {
			let g = i;
			while (t.depth[g] > 1)
				g = t.parent[g];
			root = b.child(0, t.frame[g]);
		}
		items.push(i);
		at.push(root);
	}
	const ends = outwards(b, t, items, at, items.map(i => w[i]), stopAt);
	return turned(b, items, ends, w);
}

/* items: nodes of the merged tree whose weight goes to ends. */
function turned(b, items, ends, w) {
	const weights = new Float64Array(b.parent.length);
	items.forEach((i, k) => { weights[ends[k]] += w[i]; });
	const v = finish(b, weights);
	v.cut = b.cut;
	v.items = items;
	v.ends = Int32Array.from(ends, e => v.ids[e]);
	return v;
}

/* Nodes of a function that are not below another one of it. */
function outermost(t, frame) {
	const found = [];
	for (let i = 0; i < t.n;) {
		if (t.frame[i] === frame) {
			found.push(i);
			i = t.end[i];
		} else {
			i++;
		}
	}
	return found;
}

/* Who calls a function, and what it calls. */
function around(t, frame) {
	const places = outermost(t, frame), stopAt = t.merged ? 1 : 0;
	const up = new Builder(1024), w = t.full.total;
	up.add(NONE, frame);
	const ends = outwards(up, t, places.map(i => t.parent[i]), places.map(() => 0), places.map(i => w[i]), stopAt);
	const callers = turned(up, places, ends, w);
	callers.byTotal = true;
	const down = new Builder(1024), of = new Int32Array(t.n).fill(NONE);
	down.add(NONE, frame);
	for (const p of places) {
		of[p] = 0;
		for (let i = p + 1; i < t.end[p]; i++)
			of[i] = down.child(of[t.parent[i]], t.frame[i]);
	}
	const weights = new Float64Array(down.parent.length);
	for (const p of places)
		for (let i = p; i < t.end[p]; i++)
			weights[of[i]] += t.full.self[i];
	const callees = finish(down, weights);
	callees.items = [];
	const endsDown = [];
	for (const p of places)
		for (let i = p; i < t.end[p]; i++) {
			callees.items.push(i);
			endsDown.push(callees.ids[of[i]]);
		}
	callees.ends = Int32Array.from(endsDown);
	return { callers, callees };
}

/* ---- weights ---- */

/* Of the points in a range of buckets: what ends at each node of a merged tree. */
function weigh(t, from, to) {
	const pt = P.points, self = [new Float64Array(t.n), new Float64Array(diff ? t.n : 0)], count = new Float64Array(t.n);
	for (let k = 0; k < pt.nr; k++) {
		const node = t.of[pt.node[k]];
		if (node < 0 || (timed && (pt.bucket[k] < from || pt.bucket[k] >= to)))
			continue;
		self[pt.side[k]][node] += pt.weight[k];
		count[node] += pt.count[k];
	}
	return combine(t, self, count);
}

/* Adds up towards the root. With two sides, what is drawn is the mean of both, so that nobody is missing. */
function combine(t, self, count) {
	const w = { count };
	if (diff) {
		const sum = sideTotals(S.event), scale = S.norm === "share" ? sum.map(s => s ? 1 / s : 0) : [1, 1];
		w.a = self[0].map(v => v * scale[0]);
		w.b = self[1].map(v => v * scale[1]);
		w.self = w.a.map((v, i) => (v + w.b[i]) / 2);
		w.selfA = w.a.slice();
		w.selfB = w.b.slice();
		addUp(t, w.a);
		addUp(t, w.b);
	} else {
		w.self = self[0];
	}
	w.total = w.self.slice();
	w.selfCount = count.slice();
	addUp(t, w.total);
	addUp(t, w.count);
	return w;
}
function addUp(t, v) {
	for (let i = t.n - 1; i > 0; i--)
		v[t.parent[i]] += v[i];
}

/* Weights of a turned tree from those of the merged one. */
function carry(v, t, w) {
	const pick = (from) => {
		const to = new Float64Array(v.n);
		for (let k = 0; k < v.items.length; k++)
			to[v.ends[k]] += from[v.items[k]];
		return to;
	};
	const r = { self: pick(v.byTotal ? w.total : w.self), count: pick(v.byTotal ? w.count : w.selfCount) };
	r.total = r.self.slice();
	addUp(v, r.total);
	addUp(v, r.count);
	if (diff) {
		r.a = pick(v.byTotal ? w.a : w.selfA);
		r.b = pick(v.byTotal ? w.b : w.selfB);
		r.selfA = r.a.slice();
		r.selfB = r.b.slice();
		addUp(v, r.a);
		addUp(v, r.b);
	}
	return r;
}

/* Where each node begins, in units of weight. */
function place(v, total) {
	const x = new Float64Array(v.n), next = new Float64Array(v.n);
	for (let i = 1; i < v.n; i++) {
		const p = v.parent[i];
		x[i] = next[p];
		next[p] += total[i];
		next[i] = x[i];
	}
	return x;
}

/* ---- state ---- */

const wholeSystem = !diff && P.side[0].scope === "system";
const usualMerge = wholeSystem ? "comm" : "all";
/* Where nothing but user code was sampled, kinds would be one colour. */
const usualColour = diff ? "diff" : P.frames.kind.some((kind, f) => f > 0 && kind === KERNEL) ? "kind" : "module";

const S = {
	view: "flame", merge: usualMerge, colour: usualColour, norm: "share", event: 0, query: "", invert: false, icicle: false,
	from: 0, to: P.buckets, zoom: 0, focus: NONE, sort: "self", down: true, theme: "",
};
let T, V, W; /* merged tree; tree drawn; weights of the merged tree */
let pair = null; /* sandwich */
let back = []; /* zooms to go back to */
let picked = NONE; /* node under the keyboard */
let hovered = NONE, hoveredIn = null;
let matches = null, matchList = [], matchAt = NONE;
const built = new Map();
const cached = (key, make) => {
	if (!built.has(key)) {
		if (built.size > 12)
			built.clear();
		built.set(key, make());
	}
	return built.get(key);
};

function rebuild() {
	const path = V && S.zoom ? pathOf(V, S.zoom) : null;
	T = cached(`t ${S.event} ${S.merge} ${S.norm}`, () => {
		const t = topDown(S.event, S.merge);
		t.full = weigh(t, 0, Infinity);
		return t;
	});
	V = S.invert ? cached(`b ${S.event} ${S.merge} ${S.norm}`, () => bottomUp(T)) : T;
	S.zoom = path ? follow(V, path) : 0;
	back = [];
	picked = NONE;
	reweigh();
}

function reweigh() {
	W = ranged() ? weigh(T, S.from, S.to) : T.full;
	const set = (v) => {
		v.w = v === T ? W : carry(v, T, W);
		v.x = place(v, v.w.total);
	};
	set(V);
	pair = null;
	if (S.view === "sandwich" && S.focus !== NONE) {
		pair = cached(`s ${S.event} ${S.merge} ${S.norm} ${S.focus}`, () => around(T, S.focus));
		set(pair.callers);
		set(pair.callees);
	}
	functions = null;
	search();
	aim(true);
}
const ranged = () => timed && (S.from > 0 || S.to < P.buckets);

function pathOf(v, node) {
	const path = [];
	for (; node > 0; node = v.parent[node])
		path.push(v.frame[node]);
	return path.reverse();
}
function childNamed(v, node, frame) {
	for (let c = node + 1; c < v.end[node]; c = v.end[c])
		if (v.frame[c] === frame)
			return c;
	return NONE;
}
function follow(v, path) {
	let node = 0;
	for (const frame of path) {
		const c = childNamed(v, node, frame);
		if (c === NONE)
			break;
		node = c;
	}
	return node;
}

/* ---- words ---- */

const grouped = new Intl.NumberFormat("en-US");
const clock = () => /^(cpu-clock|task-clock|(function_graph|off-cpu|wall-clock)$)/.test(P.events[S.event] || "");
function amount(w) {
	if (diff && S.norm === "share")
		return percent(w, 1);
	if (clock())
		return duration(w);
	for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "K"]])
		if (w >= unit)
			return `${(w / (name === "K" ? 1e3 : unit)).toFixed(w / unit < 10 && name !== "K" ? 2 : 1)} ${name}`;
	return grouped.format(Math.round(w));
}
function duration(ns) {
	if (ns >= 60e9)
		return `${Math.floor(ns / 60e9)} min ${(ns % 60e9 / 1e9).toFixed(0)} s`;
	for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
		if (ns >= unit)
			return `${(ns / unit).toFixed(ns / unit < 10 ? 2 : ns / unit < 100 ? 1 : 0)} ${name}`;
	return `${Math.round(ns)} ns`;
}
const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(part / whole < 0.1 && part ? 2 : 1)} %` : "0 %";
function signed(v) {
	if (Math.abs(v) < 1e-9)
		v = 0;
	return `${v > 0 ? "+" : v < 0 ? "−" : "±"}${amount(Math.abs(v)).replace(" %", S.norm === "share" ? " pp" : " %")}`;
}
function el(tag, text, cls) {
	const e = document.createElement(tag);
	if (text !== undefined)
		e.textContent = text;
	if (cls)
		e.className = cls;
	return e;
}

/* How often there was a sample: of a clock that ticks evenly, its frequency (of each CPU); else the mean of all. */
function rate() {
	if (clock() && P.unit > 1)
		return `${grouped.format(Math.round(1e9 / P.unit))} Hz`;
	const second = P.bucket * P.buckets / 1e9, hz = +P.side[0].samples / second;
	return `${hz < 10 ? hz.toFixed(1) : grouped.format(Math.round(hz))} Hz on average`;
}

function showHead() {
	const a = P.side[0], b = P.side[diff ? 1 : 0], facts = [];
	const fact = (value, word, cls, before) => value && facts.push({ value, word, cls, before });
	const sides = diff ? [a, b] : [a], both = key => sides.every(s => s[key] === "0");
	$("title").textContent = $("title").title = document.title;
	fact(a.host === b.host ? b.host : `${a.host} → ${b.host}`, "", "", "host");
	fact(b.release && `Linux ${b.release}`, b.arch, "minor");
	fact(b.cpu, "", "minor");
	const sampled = P.events.filter((_, i) => sideTotals(i)[0] + sideTotals(i)[1]), events = sampled.length ? sampled : P.events;
	fact(events.length > 4 ? `${events.slice(0, 3).join(", ")} and ${events.length - 3} more` : events.join(", "), "", "",
		events.length > 1 ? "events" : "event");
	for (const s of sides)
		fact(grouped.format(+s.samples), diff ? `samples ${s === a ? "before" : "after"}` : "samples");
	if (both("lost"))
		fact("0", "lost", "minor");
	if (both("truncated"))
		fact("0", "truncated stacks", "minor");
	for (const s of sides) {
		const of = diff ? (s === a ? " before" : " after") : "";
		if (+s.lost)
			fact(grouped.format(+s.lost), `lost${of}`, "warn");
		if (+s.truncated)
			fact(grouped.format(+s.truncated) + (+s.truncated ? ` (${percent(+s.truncated, +s.samples)})` : ""), `truncated stacks${of}`,
				"warn");
		if (+s.without)
			fact(grouped.format(+s.without), `without a stack${of}`, "warn");
		if (+s.cost_ns)
			fact(duration(+s.cost_ns), `CPU taken by the recorder${of}`);
	}
	if (timed)
		fact(duration(P.bucket * P.buckets), `at ${rate()}`);
	if (+P.facts.joined)
		fact(grouped.format(+P.facts.joined), "light frames joined", "warn");
	if (+b.recorded)
		fact(new Date(b.recorded * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC", "", "minor");
	if (!document.title.includes(b.command))
		fact(b.command, "", "command", diff ? "command after" : "command");
	for (const f of facts) {
		const li = el("li", undefined, f.cls);
		li.append(f.before ? `${f.before} ` : "", el("b", f.value), f.word ? ` ${f.word}` : "");
		li.title = li.textContent;
		$("facts").append(li);
	}
}

/* ---- colours ---- */

const dark = () => document.documentElement.classList.contains("dark");
const palettes = {
	light: {
		kinds: [[208, 62, 76], [30, 88, 72], [160, 42, 70], [275, 48, 80], [212, 10, 80], [212, 12, 88]],
		text: "#15202b", faint: "rgba(255,255,255,.62)", hit: "#d6006e", hitText: "#ffffff", line: "#ffffff", pick: "#0b1520",
		modules: [[208, 62, 74], [30, 88, 70], [160, 45, 66], [330, 55, 80], [48, 85, 66], [275, 48, 78], [190, 60, 72], [15, 55, 70]],
		other: [212, 10, 82], heat: [208, 80], stripe: "rgba(120,55,0,.75)", crowd: "#e6ebf0", crowdText: "#5a6875",
	},
	dark: {
		kinds: [[208, 45, 38], [28, 62, 38], [165, 42, 29], [272, 34, 44], [212, 8, 34], [212, 8, 28]],
		text: "#f2f6fa", faint: "rgba(18,22,27,.62)", hit: "#ff5fb0", hitText: "#20000f", line: "#12161b", pick: "#ffffff",
		modules: [[208, 45, 38], [28, 62, 38], [165, 42, 29], [330, 38, 42], [46, 60, 32], [272, 34, 44], [190, 50, 31], [12, 45, 40]],
		other: [212, 8, 33], heat: [208, 75], stripe: "rgba(255,190,120,.9)", crowd: "#1d232a", crowdText: "#8593a0",
	},
};
let palette = palettes.light;
const hsl = ([h, s, l], shift = 0) => `hsl(${h} ${s}% ${l + shift}%)`;
const colourCache = new Map();
let moduleRank = null;

function rankModules() {
	const sum = new Map();
	for (let i = 0; i < T.n; i++) {
		const m = T.frame[i] >= 0 && T.frame[i] < F ? P.frames.module[T.frame[i]] : 0;
		sum.set(m, (sum.get(m) || 0) + T.full.self[i]);
	}
	sum.delete(0);
	moduleRank = new Map([...sum].sort((x, y) => y[1] - x[1]).slice(0, palette.modules.length).map(([m], i) => [m, i]));
}
/* Neighbours of one colour differ a little, always in the same way. */
function shade(frame) {
	let h = Math.imul(frame + 1, 0x9e3779b1) >>> 0;
	return (h >>> 16) % 5 * 1.6 - 3.2;
}
function fillOf(v, i) {
	const f = v.frame[i];
	if (S.colour === "diff" && diff)
		return deltaColour(v, i);
	let c = colourCache.get(f);
	if (c === undefined) {
		let base;
		if (f === NONE || f >= F)
			base = palette.kinds[MARK];
		else if (S.colour === "module")
			base = moduleRank.has(P.frames.module[f]) ? palette.modules[moduleRank.get(P.frames.module[f])] : palette.other;
		else
			base = palette.kinds[P.frames.kind[f]] || palette.other;
		colourCache.set(f, c = hsl(base, f === NONE || f >= F ? 0 : shade(f)));
	}
	return c;
}
/* Red: grew. Blue: shrank. As strong as the square root of its share of the largest change. */
function deltaColour(v, i) {
	const d = v.w.b[i] - v.w.a[i], most = v.w.most || (v.w.most = mostDelta(v));
	const t = most ? Math.min(1, Math.sqrt(Math.abs(d) / most)) : 0;
	const neutral = dark() ? 30 : 92, strong = dark() ? (d > 0 ? 42 : 46) : (d > 0 ? 62 : 62);
	const s = d > 0 ? 78 : 70;
	return `hsl(${d > 0 ? 8 : 210} ${Math.round(s * t)}% ${(neutral + (strong - neutral) * t).toFixed(1)}%)`;
}
function mostDelta(v) {
	let most = 0;
	for (let i = 1; i < v.n; i++)
		most = Math.max(most, Math.abs(v.w.b[i] - v.w.a[i]));
	return most;
}

function showLegend() {
	const items = [];
	if (S.colour === "diff" && diff) {
		items.push([dark() ? "hsl(8 78% 42%)" : "hsl(8 78% 62%)", "more after"], [dark() ? "hsl(210 70% 46%)" : "hsl(210 70% 62%)", "less after"],
			[dark() ? "hsl(0 0% 30%)" : "hsl(0 0% 92%)", "the same"], ["hatch", "gone (−) or new (+)"]);
	} else if (S.colour === "module") {
		for (const [m, i] of moduleRank)
			items.push([hsl(palette.modules[i]), P.strings[m]]);
		items.push([hsl(palette.other), "others"]);
	} else {
		const used = new Set();
		for (let i = 0; i < T.n; i++)
			if (T.frame[i] >= 0 && T.frame[i] < F)
				used.add(P.frames.kind[T.frame[i]]);
		KINDS.forEach((word, i) => used.has(i) && i !== MARK && items.push([hsl(palette.kinds[i]), word]));
	}
	$("legend").replaceChildren(...items.map(([c, word]) => {
		const li = el("li"), box = el("i");
		box.style.background = c === "hatch" ? `repeating-linear-gradient(45deg, ${palette.text} 0 1px, transparent 1px 4px)` : c;
		li.append(box, word);
		return li;
	}));
}

/* ---- drawing ---- */

const canvas = $("flames"), ctx = canvas.getContext("2d"), scroll = $("scroll");
const view = { from: 0, to: 1, aimFrom: 0, aimTo: 1, start: 0, fromFrom: 0, fromTo: 1 };
let deepest = 0; /* row of the tree with a frame that is wide enough, in sight or not */
let width = 0, height = 0, ratio = 1, queued = false, printing = false, drawn = 0;
const FONT = `12px ${getComputedStyle(document.body).fontFamily}`;
const widths = new Map();

/* What is to be seen: the zoomed node's span. */
function aim(now) {
	const w = V.w.total[S.zoom];
	const lo = V.x[S.zoom], hi = lo + (w || 1);
	const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
	view.fromFrom = view.from;
	view.fromTo = view.to;
	view.aimFrom = lo;
	view.aimTo = hi;
	view.start = now || calm ? -1e9 : performance.now();
	redraw();
}
function redraw() {
	if (!queued) {
		queued = true;
		requestAnimationFrame(paint);
	}
}
function step(time) {
	const t = Math.min(1, (time - view.start) / 180), e = 1 - Math.pow(1 - t, 3);
	view.from = view.fromFrom + (view.aimFrom - view.fromFrom) * e;
	view.to = view.fromTo + (view.aimTo - view.fromTo) * e;
	return t < 1;
}
function resize() {
	const box = scroll.getBoundingClientRect(), side = parseFloat(getComputedStyle(canvas).marginLeft);
	ratio = devicePixelRatio || 1;
	width = Math.max(50, scroll.clientWidth - 2 * side);
	height = Math.max(50, Math.floor(box.height));
	sizeCanvas(height);
}
function sizeCanvas(high) {
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(high * ratio);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${high}px`;
}
const PAD = 8;
const contentHeight = () => (pair ? (pair.callers.height + pair.callees.height) * ROW + 30 : V.height * ROW) + 2 * PAD;

/* Rows of what is seen: where a depth stands on the canvas. */
function layers() {
	const content = contentHeight(), top = printing ? 0 : scroll.scrollTop, room = printing ? content : Math.max(content, height);
	if (pair) {
		const middle = PAD + pair.callers.height * ROW;
		return [{ v: pair.callers, y: d => middle - (d + 1) * ROW - top, label: 0 }, { v: pair.callees, y: d => middle + 30 + d * ROW - top, label: middle - top }];
	}
	if (S.view === "sandwich") /* of nothing yet */
		return [];
	if (S.icicle !== S.invert)
		return [{ v: V, y: d => PAD + d * ROW - top }];
	return [{ v: V, y: d => room - PAD - (d + 1) * ROW - top }];
}

function paint(time) {
	queued = false;
	if (step(time))
		redraw();
	palette = !printing && dark() ? palettes.dark : palettes.light;
	const content = contentHeight();
	$("space").style.height = `${Math.max(0, content - height)}px`;
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.clearRect(0, 0, width, printing ? content : height);
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	drawn = 0;
	deepest = 0;
	crowds = [];
	for (const l of layers()) {
		const whole = l.v === V ? [view.from, view.to] : [0, l.v.w.total[0] || 1];
		drawTree(l, whole[0], whole[1]);
	}
	if (pair) {
		const y = layers()[1].label;
		ctx.fillStyle = getComputedStyle(document.body).getPropertyValue("--soft");
		ctx.fillText(`▲ callers${cutNote(pair.callers)}`, 2, y + 8);
		ctx.fillText("▼ callees", 2, y + 22);
	}
	showMore();
	showStatus();
}

/* Stacks that are deeper than the window is high: how much of them is out of sight. */
function showMore() {
	const more = $("more"), up = S.icicle === S.invert, y = V && S.view === "flame" && !printing ? layers()[0].y(deepest) : 0;
	const hidden = S.view !== "flame" || printing ? 0 : up ? Math.ceil(-y / ROW) : Math.ceil((y + ROW - height) / ROW);
	more.hidden = hidden < 1;
	more.className = up ? "above" : "below";
	more.textContent = up ? `▲ ${grouped.format(hidden)} more rows above` : `▼ ${grouped.format(hidden)} more rows below`;
}
$("more").addEventListener("click", () => {
	const up = S.icicle === S.invert;
	scroll.scrollTop += (up ? -1 : 1) * Math.max(ROW, height - 2 * ROW);
});

/* Neighbours that are too thin to be drawn one by one, as one block: what is there is seen, whatever it consists of. */
let crowds = [];
function drawCrowd(l, c, from, scale, faded) {
	const v = l.v, x = Math.max((c.from - from) * scale, 0), end = Math.min((c.to - from) * scale, width), y = l.y(v.depth[c.first]);
	if (end - x < 1 || y <= -ROW || (!printing && y >= height))
		return;
	const w = end - x, gap = w > 3 ? 1 : 0;
	crowds.push({ v, x, y, w, from: c.from, to: c.to, nr: c.nr, parent: v.parent[c.first] });
	ctx.fillStyle = palette.crowd;
	ctx.fillRect(x, y, w - gap, ROW - 1);
	if (faded) {
		ctx.fillStyle = palette.faint;
		ctx.fillRect(x, y, w - gap, ROW - 1);
	}
	if (w > 26) {
		ctx.font = FONT;
		ctx.fillStyle = palette.crowdText;
		const text = fit("", `${grouped.format(c.nr)} thin frames`, w - gap - 9);
		if (text)
			ctx.fillText(text, x + 5, y + ROW / 2);
	}
}

function drawTree(l, from, to) {
	const v = l.v, total = v.w.total, scale = width / (to - from), bottom = printing ? Infinity : height, zoomDepth = v === V ? v.depth[S.zoom] : 0;
	const searching = matches !== null;
	let crowd = null;
	const settleCrowd = () => {
		if (crowd)
			drawCrowd(l, crowd, from, scale, searching);
		crowd = null;
	};
	for (let i = 0; i < v.n;) {
		const x = (v.x[i] - from) * scale, w = total[i] * scale;
		if (w < LEAST || x >= width || x + w <= 0) {
			if (w < LEAST && total[i]) {
				if (crowd && v.parent[crowd.first] !== v.parent[i])
					settleCrowd();
				crowd ||= { first: i, from: v.x[i], to: 0, nr: 0 };
				crowd.to = v.x[i] + total[i];
				crowd.nr++;
			}
			i = v.end[i];
			continue;
		}
		if (crowd)
			settleCrowd();
		const y = l.y(v.depth[i]);
		deepest = Math.max(deepest, v.depth[i]);
		if (y > -ROW && y < bottom) {
			drawn++;
			drawFrame(v, i, Math.max(x, 0), Math.min(x + w, width) - Math.max(x, 0), y, v.depth[i] < zoomDepth, searching);
		}
		i++;
	}
	settleCrowd();
	const pick = v === V ? picked : NONE;
	for (const [i, wide] of [[hoveredIn === v ? hovered : NONE, 1], [pick, 2]]) {
		if (i === NONE || total[i] * scale < LEAST)
			continue;
		const x = Math.max((v.x[i] - from) * scale, 0), end = Math.min((v.x[i] - from + total[i]) * scale, width);
		ctx.strokeStyle = palette.pick;
		ctx.lineWidth = wide;
		ctx.strokeRect(x + wide / 2, l.y(v.depth[i]) + wide / 2, Math.max(end - x - wide, 1), ROW - 1 - wide);
	}
}

function drawFrame(v, i, x, w, y, faded, searching) {
	const f = v.frame[i], hit = searching && f >= 0 && matches[f], gap = w > 3 ? 1 : 0;
	ctx.fillStyle = hit ? palette.hit : fillOf(v, i);
	ctx.fillRect(x, y, w - gap, ROW - 1);
	const kind = kindOf(f);
	if (diff && S.colour === "diff" && f !== NONE && !hit && w > 4 && (!v.w.a[i] || !v.w.b[i]))
		hatch(x, y, w - gap);
	if (kind === KERNEL && w > 26 && S.colour !== "diff") {
		ctx.fillStyle = palette.stripe;
		ctx.fillRect(x, y, 3, ROW - 1);
	}
	if (faded || (searching && !hit)) {
		ctx.fillStyle = palette.faint;
		ctx.fillRect(x, y, w - gap, ROW - 1);
	}
	if (w > 26) {
		const mark = diff && S.colour === "diff" && i ? (!v.w.a[i] ? "+ " : !v.w.b[i] ? "− " : "") : "";
		ctx.fillStyle = hit ? palette.hitText : palette.text;
		ctx.globalAlpha = faded || (searching && !hit) ? 0.7 : 1;
		ctx.font = kind === INLINED ? `italic ${FONT}` : FONT;
		const inset = kind === KERNEL && S.colour !== "diff" ? 8 : 5;
		const text = fit(mark, nameOf(f), w - gap - inset - 4);
		if (text)
			ctx.fillText(text, x + inset, y + ROW / 2);
		ctx.globalAlpha = 1;
	}
}
function hatch(x, y, w) {
	ctx.save();
	ctx.beginPath();
	ctx.rect(x, y, w, ROW - 1);
	ctx.clip();
	ctx.strokeStyle = palette.text;
	ctx.globalAlpha = 0.28;
	ctx.lineWidth = 1;
	ctx.beginPath();
	for (let at = x - x % 7 - ROW; at < x + w; at += 7) {
		ctx.moveTo(at, y + ROW);
		ctx.lineTo(at + ROW, y);
	}
	ctx.stroke();
	ctx.restore();
}
function measure(text) {
	let w = widths.get(text);
	if (w === undefined) {
		if (widths.size > 50000)
			widths.clear();
		widths.set(text, w = ctx.measureText(text).width);
	}
	return w;
}
/* As much as there is room for: arguments go first, then what is in angle brackets, then the scopes, then the end. */
function fit(mark, name, room) {
	if (measure(mark + name) <= room)
		return mark + name;
	for (const short of [withoutArguments(name), brief(name)])
		if (short !== name && measure(mark + short) <= room)
			return mark + short;
	return cut(mark + lastPart(brief(name)), room);
}
function cut(text, room) {
	if (measure(text) <= room)
		return text;
	let n = Math.floor(text.length * room / measure(text));
	for (n = Math.min(n, text.length - 1); n > 1; n--) {
		const t = text.slice(0, n) + "…";
		if (measureOnce(t) <= room)
			return t;
	}
	return "";
}
const measureOnce = text => ctx.measureText(text).width;

/* ---- finding frames on the canvas ---- */

function spanOf(l) {
	return l.v === V ? [view.from, view.to] : [0, l.v.w.total[0] || 1];
}
/* The deepest start that is not right of x: the walk goes down one child at a time. */
function nodeAt(px, py) {
	for (const l of layers()) {
		const v = l.v, [from, to] = spanOf(l), scale = width / (to - from), at = from + px / scale;
		for (let i = 0; i >= 0;) {
			if (v.w.total[i] * scale < LEAST)
				break;
			const y = l.y(v.depth[i]);
			if (py >= y && py < y + ROW && at >= v.x[i] && at < v.x[i] + v.w.total[i])
				return { v, i };
			let next = NONE;
			for (let c = i + 1; c < v.end[i]; c = v.end[c])
				if (at >= v.x[c] && at < v.x[c] + v.w.total[c]) {
					next = c;
					break;
				}
			i = next;
		}
	}
	return null;
}
const crowdAt = (px, py) => crowds.find(c => px >= c.x && px < c.x + c.w && py >= c.y && py < c.y + ROW) || null;
/* Looks closer at thin frames: what they are wide fills the page. */
function enter(c) {
	view.fromFrom = view.from;
	view.fromTo = view.to;
	view.aimFrom = c.from;
	view.aimTo = c.to;
	view.start = matchMedia("(prefers-reduced-motion: reduce)").matches ? -1e9 : performance.now();
	hideTip();
	redraw();
}
function boxOf(v, i) {
	const l = layers().find(k => k.v === v) || layers()[0], [from, to] = spanOf(l), scale = width / (to - from);
	return { x: (v.x[i] - from) * scale, y: l.y(v.depth[i]), w: v.w.total[i] * scale, h: ROW - 1 };
}
function reveal(i) {
	const y = boxOf(V, i).y;
	if (y < 0 || y > height - ROW)
		scroll.scrollTop += y - height / 2;
}

/* ---- long names ---- */

/* "find(int) const" as "find()": the last list of arguments, and what is behind it. */
function withoutArguments(name) {
	const tail = /\)(?: const| volatile| noexcept| ?&&?)*(?: \[[^\]]*\])*$/.exec(name);
	let depth = 0, at = tail ? tail.index : -1;
	for (; at > 0; at--) {
		depth += (name[at] === ")") - (name[at] === "(");
		if (!depth)
			break;
	}
	return at > 0 && /[\w>~\]=)]/.test(name[at - 1]) && !/operator ?$/.test(name.slice(0, at)) ? `${name.slice(0, at)}()` : name;
}
const briefs = new Map();
/* "std::map<int, …>::find(…)" as "std::map<…>::find()": the function is behind all the types. */
function brief(name) {
	if (!name.includes("<"))
		return withoutArguments(name);
	let short = briefs.get(name);
	if (short === undefined)
		briefs.set(name, short = makeBrief(name));
	return short;
}
function makeBrief(name) {
	let out = "", depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i], sign = !depth && /^operator ?(?:<=>|<<=|>>=|<<|>>|<=|>=|->\*?|<|>)/.exec(name.slice(i, i + 13));
		if (sign && !/\w/.test(name[i - 1] || "")) {
			out += sign[0];
			i += sign[0].length - 1;
		} else if (c === "<") {
			out += depth++ ? "" : "<…>";
		} else if (c === ">" && depth && name[i - 1] !== "-") {
			depth--;
		} else if (!depth) {
			out += c;
		}
	}
	return depth || out === "<…>" ? name : withoutArguments(out);
}
/* "find<…>"; an operator and a lambda need what they belong to. */
function lastPart(name) {
	const parts = name.split("::");
	let from = parts.length - 1;
	while (from > 0 && /^(operator|\{|\()/.test(parts[from]))
		from--;
	return parts.slice(from).join("::");
}
/* Both ends of what is longer than a screen. */
const middleOut = (text, most) => text.length <= most ? text : `${text.slice(0, most / 2)} … ${text.slice(-most / 2)}`;

/* ---- tooltip and status ---- */

/* Light paths to callers end early: how much of the weight that is. */
const cutNote = v => v.cut ? ` (paths below 1/${grouped.format(Math.round(1 / PRUNE))} of the total are truncated)` : "";

function describe(v, i) {
	const f = v.frame[i], w = v.w, all = v.w.total[0], rows = [];
	const share = (x) => percent(x, all);
	if (diff) {
		const pair_ = (x, y) => [amount(x), amount(y), signed(y - x)];
		rows.push(["", "before", "after", "change"], ["Total", ...pair_(w.a[i], w.b[i])], ["Self", ...pair_(w.selfA[i] || 0, w.selfB[i] || 0)]);
		if (w.a[i] && w.b[i])
			rows.push(["Factor", "", "", `× ${(w.b[i] / w.a[i]).toFixed(2)}`]);
	} else {
		rows.push(["Total", amount(w.total[i]), share(w.total[i]), `${grouped.format(w.count[i])} samples`],
			["Self", amount(w.self[i]), share(w.self[i]), ""]);
		if (i && v.parent[i] > 0)
			rows.push(["Of its caller", "", percent(w.total[i], w.total[v.parent[i]]), ""]);
		if (S.zoom && v === V && S.zoom !== i)
			rows.push(["Of the zoomed", "", percent(w.total[i], w.total[S.zoom]), ""]);
		if (v !== T && v !== V)
			rows.pop();
	}
	return { name: nameOf(f), where: whereOf(f), rows, note: P.code.has(f) ? "a: source and assembly" : "" };
}
function whereOf(f) {
	if (f < 0 || f >= F)
		return f === NONE ? "" : "task";
	const parts = [KINDS[P.frames.kind[f]], moduleOf(f)];
	if (P.frames.file[f])
		parts.push(P.strings[P.frames.file[f]] + (P.frames.line[f] ? `:${P.frames.line[f]}` : ""));
	return parts.filter(Boolean).join(" · ");
}
function showCrowd(c, px, py) {
	const w = c.to - c.from, rows = [["Total", diff ? amount(w) : `${amount(w)}, ${percent(w, c.v.w.total[0])}`]];
	if (c.parent > 0)
		rows.push(["Called by", nameOf(c.v.frame[c.parent])]);
	putTip({ name: `${grouped.format(c.nr)} frames too narrow to draw`, where: c.v === V ? "click to zoom in" : "", rows }, px, py);
}
const showTip = (v, i, px, py) => putTip(describe(v, i), px, py);
function putTip(d, px, py) {
	const tip = $("tip"), table = el("table");
	for (const [head, ...cells] of d.rows) {
		const tr = el("tr");
		tr.append(el("th", head), ...cells.map(c => el("td", c)));
		table.append(tr);
	}
	/* A name that goes on for lines is first said in short, then in full. */
	const short = d.name.length > 80 ? brief(d.name) : d.name, name = [el("div", middleOut(short, 400), "name")];
	if (short !== d.name)
		name.push(el("div", middleOut(d.name, 900), "full"));
	tip.replaceChildren(...name, el("div", d.where, "where"), table, ...(d.note ? [el("div", d.note, "where")] : []));
	tip.hidden = false;
	const box = tip.getBoundingClientRect(), left = Math.min(px + 14, innerWidth - box.width - 8);
	const topAt = py + 20 + box.height > innerHeight ? py - box.height - 12 : py + 20;
	tip.style.left = `${Math.max(8, left)}px`;
	tip.style.top = `${Math.max(8, topAt)}px`;
}
const hideTip = () => { $("tip").hidden = true; };

function showStatus() {
	const v = V, i = picked !== NONE ? picked : S.zoom, parts = [];
	if (S.view === "tree") {
		parts.push(`${grouped.format(rowsShown.length)} rows`, S.invert ? "callers first" : "callees below their callers");
	} else if (S.view === "table") {
		parts.push(`${grouped.format(rowsShown.length)} functions`);
	} else if (S.view === "sandwich") {
		parts.push(S.focus === NONE ? "Choose a function in the list" : `${nameOf(S.focus)} — ${whereOf(S.focus)}`);
	} else if (i) {
		const d = describe(v, i);
		parts.push(d.name, d.where, diff ? `${amount(v.w.a[i])} → ${amount(v.w.b[i])}` : `${amount(v.w.total[i])}, ${percent(v.w.total[i], v.w.total[0])}`);
	} else {
		parts.push(diff ? "mean of both recordings" : `${amount(v.w.total[0])} in ${grouped.format(v.w.count[0])} samples`,
			`${grouped.format(drawn)} of ${grouped.format(v.n)} frames drawn${cutNote(v)}`);
	}
	if (ranged())
		parts.push(`time ${rangeText()}`);
	$("code-button").hidden = !P.code.has(meant());
	$("status").textContent = parts.filter(Boolean).join(" · ");
	$("reset").disabled = !S.zoom && view.aimTo - view.aimFrom >= V.w.total[0] * (1 - 1e-9);
	const w = V.w.total[0];
	$("empty").hidden = listOnly() || (S.view === "sandwich" ? S.focus !== NONE && pair.callees.w.total[0] > 0 : w > 0);
	$("empty").textContent = S.view === "sandwich" && S.focus === NONE ? "Choose a function to see its callers and callees." : "No samples in this time range.";
}

/* ---- code ---- */

/* Source and instructions of a function, the hottest in sight. */
function showCode(frame) {
	const lines = P.code.get(frame);
	if (!lines) {
		$("status").textContent = frame >= 0 && frame < F ? `No code for ${nameOf(frame)}: the page contains only the heaviest functions.` : "Not a function.";
		return;
	}
	const all = lines.reduce((sum, l) => sum + l.weight, 0) || 1, most = lines.reduce((m, l) => Math.max(m, l.weight), 0);
	let hottest = null;
	$("code-title").textContent = nameOf(frame);
	$("code-where").textContent = `${whereOf(frame)} · percentages of the function's own ${amount(all)}`;
	$("code-lines").replaceChildren(...lines.map(l => {
		const tr = el("tr", undefined, l.source ? "source" : "");
		const share = el("td", l.weight ? percent(l.weight, all) : "", "share");
		if (l.weight)
			share.style.background = `color-mix(in srgb, var(--accent) ${Math.round(60 * Math.sqrt(l.weight / all))}%, transparent)`;
		tr.append(share, el("td", l.source ? String(l.number) : l.number.toString(16), "at"), el("td", l.text));
		if (l.weight === most && !hottest)
			hottest = tr;
		return tr;
	}));
	$("code").showModal();
	if (hottest)
		hottest.scrollIntoView({ block: "center" });
}
/* The frame that is meant: in a list the row, in a graph what was picked, is under the pointer or zoomed. */
function meant() {
	if (S.view === "table" || S.view === "tree")
		return rowsShown[rowAt] ? rowsShown[rowAt].f : NONE;
	if (S.view === "sandwich")
		return hovered !== NONE && hoveredIn ? hoveredIn.frame[hovered] : S.focus;
	return V.frame[picked !== NONE ? picked : hovered !== NONE ? hovered : S.zoom];
}

/* ---- search ---- */

function pattern() {
	if (!S.query)
		return null;
	const flags = /[A-Z]/.test(S.query) ? "" : "i";
	try {
		return new RegExp(S.query, flags);
	} catch {
		return new RegExp(S.query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}
function search() {
	const re = pattern(), out = $("found");
	matches = null;
	matchList = [];
	out.className = "";
	out.textContent = "";
	if (re) {
		matches = new Uint8Array(F + groups.length);
		for (let f = 1; f < F; f++)
			matches[f] = re.test(nameOf(f)) ? 1 : 0;
		for (let g = 0; g < groups.length; g++)
			matches[F + g] = re.test(groups[g]) ? 1 : 0;
		let sum = 0;
		const end = V.end[S.zoom];
		for (let i = S.zoom; i < end;) {
			if (V.frame[i] >= 0 && matches[V.frame[i]]) {
				sum += V.w.total[i];
				if (V.w.total[i])
					matchList.push(i);
				i = V.end[i];
			} else {
				i++;
			}
		}
		matchList.sort((x, y) => V.w.total[y] - V.w.total[x]);
		out.textContent = matchList.length ? percent(sum, V.w.total[S.zoom]) : "no match";
		out.className = matchList.length ? "" : "bad";
		out.title = `${grouped.format(matchList.length)} places`;
	}
	matchAt = NONE;
	$("prev").disabled = $("next").disabled = !matchList.length;
	if (S.view !== "flame")
		showList();
	redraw();
}
function stepMatch(by) {
	if (!matchList.length)
		return;
	matchAt = (matchAt + by + matchList.length + (matchAt === NONE && by < 0 ? 1 : 0)) % matchList.length;
	pick(matchList[matchAt]);
}

/* ---- table ---- */

let functions = null, rowsShown = [];
/* One row for each function: a sample counts once for it, however often it is on the stack. */
function makeFunctions() {
	if (functions)
		return functions;
	const t = T, w = t.w || W, rows = new Map(), open = new Int32Array(F + groups.length);
	t.w = w;
	const row = f => {
		if (!rows.has(f))
			rows.set(f, { f, self: 0, total: 0, count: 0, a: 0, b: 0, sa: 0, sb: 0 });
		return rows.get(f);
	};
	let path = 0;
	for (let i = 1; i < t.n; i++) {
		for (; i >= t.end[path]; path = t.parent[path])
			if (path && t.frame[path] >= 0)
				open[t.frame[path]]--;
		path = i;
		const f = t.frame[i], first = !open[f]++;
		if (f >= F || !w.total[i])
			continue;
		const r = row(f);
		r.self += w.self[i];
		if (diff) {
			r.sa += w.selfA[i];
			r.sb += w.selfB[i];
		}
		if (first) {
			r.total += w.total[i];
			r.count += w.count[i];
			if (diff) {
				r.a += w.a[i];
				r.b += w.b[i];
			}
		}
	}
	functions = [...rows.values()];
	for (const r of functions) {
		r.delta = r.b - r.a;
		r.selfDelta = r.sb - r.sa;
		r.name = nameOf(r.f);
		r.module = moduleOf(r.f);
	}
	return functions;
}
/*
 * The call tree as rows: what is open shows its callees, heaviest first. At first that is the heaviest path, as long as there is one that has
 * most of what is above it.
 */
function treeRows() {
	const v = V, w = v.w, rows = [];
	if (!v.open) {
		v.open = new Set();
		for (let i = 0, kids; (kids = childrenOf(v, i)).length && v.open.size < 200; i = kids[0]) {
			if (i)
				v.open.add(i);
			if (w.total[kids[0]] * 2 < w.total[i])
				break;
		}
	}
	const visit = (i, depth) => {
		for (const c of childrenOf(v, i)) {
			rows.push({ f: v.frame[c], node: c, depth, self: w.self[c], total: w.total[c], name: nameOf(v.frame[c]), module: moduleOf(v.frame[c]),
				a: diff ? w.a[c] : 0, b: diff ? w.b[c] : 0, delta: diff ? w.b[c] - w.a[c] : 0, selfDelta: diff ? w.selfB[c] - w.selfA[c] : 0,
				kids: childrenOf(v, c).length > 0, open: v.open.has(c) });
			if (v.open.has(c))
				visit(c, depth + 1);
		}
	};
	visit(0, 0);
	return rows;
}
function childrenOf(v, i) {
	const kids = [];
	for (let c = i + 1; c < v.end[i]; c = v.end[c])
		if (v.w.total[c])
			kids.push(c);
	return kids.sort((x, y) => v.w.total[y] - v.w.total[x]);
}
/* open: undefined turns it over. */
function openRow(at, open) {
	const r = rowsShown[at];
	if (!r || !r.kids)
		return;
	if (open === undefined ? r.open : !open)
		V.open.delete(r.node);
	else
		V.open.add(r.node);
	rowAt = at;
	showList();
}
/* Closes a row; one that is closed leads to its caller. */
function closeRow(at) {
	if (rowsShown[at].open)
		return openRow(at, false);
	const parent = V.parent[rowsShown[at].node], to = rowsShown.findIndex(r => r.node === parent);
	if (to >= 0) {
		rowAt = to;
		moveRow("");
	}
}
function columns() {
	const split = S.view === "sandwich";
	if (S.view === "tree" && !diff)
		return [["total", "Total", "84px"], ["self", "Self", "84px"], ["name", "Function", "minmax(0, 4fr)"], ["module", "Module", "minmax(0, 1fr)"]];
	if (diff)
		return split ? [["delta", "Change", "84px"], ["name", "Function", "1fr"]]
			: [["a", "Before", "84px"], ["b", "After", "84px"], ["delta", "Change", "92px"], ["selfDelta", "Self change", "92px"],
				["name", "Function", "minmax(0, 3fr)"], ["module", "Module", "minmax(0, 1fr)"]];
	const narrow = innerWidth < 760;
	if (split)
		return [["self", "Self", "76px"], ["total", "Total", "76px"], ["name", "Function", "1fr"]];
	return [["self", "Self", "84px"], ["total", "Total", "84px"], ...(narrow ? [] : [["selfw", clock() ? "Self time" : "Self weight", "88px"], ["totalw", clock() ? "Total time" : "Total weight", "88px"]]),
		["name", "Function", "minmax(0, 3fr)"], ["module", "Module", "minmax(0, 1fr)"]];
}
const sortKey = c => c === "selfw" ? "self" : c === "totalw" ? "total" : c;
function showList() {
	if (S.view === "flame")
		return;
	const cols = columns(), key = cols.some(c => sortKey(c[0]) === S.sort) ? S.sort : diff ? "delta" : "self";
	const re = matches, tree = S.view === "tree", rows = tree ? treeRows() : makeFunctions().filter(r => !re || re[r.f]);
	const text = key === "name" || key === "module", sign = S.down ? -1 : 1;
	if (!tree)
		rows.sort((x, y) => (text ? (x[key] < y[key] ? -1 : x[key] > y[key] ? 1 : 0) * -1 : key === "delta" || key === "selfDelta" ? Math.abs(x[key]) - Math.abs(y[key])
			: x[key] - y[key]) * sign || y.total - x.total || (x.name < y.name ? -1 : 1));
	rowsShown = rows;
	rowAt = Math.max(0, Math.min(rowAt, rows.length - 1));
	document.documentElement.style.setProperty("--columns", cols.map(c => c[2]).join(" "));
	$("list-head").replaceChildren(...cols.map(([id, word]) => {
		if (tree)
			return el("span", word, id === "name" || id === "module" ? "name" : "");
		const b = el("button", word + (sortKey(id) === key && id === (cols.find(c => sortKey(c[0]) === key) || [])[0] ? (S.down ? " ↓" : " ↑") : ""),
			id === "name" || id === "module" ? "name" : "");
		b.type = "button";
		b.dataset.sort = sortKey(id);
		if (sortKey(id) === key)
			b.setAttribute("aria-sort", S.down ? "descending" : "ascending");
		return b;
	}));
	$("list-space").style.height = `${rows.length * 26}px`;
	showRows();
	showStatus();
}
/* The row that the keyboard is at, in sight. */
let rowAt = 0;
function moveRow(key) {
	const box = $("list-scroll"), page = Math.max(1, Math.floor(box.clientHeight / 26) - 1);
	const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[key] || 0;
	rowAt = Math.max(0, Math.min(rowsShown.length - 1, rowAt + by));
	const top = rowAt * 26;
	box.scrollTop = Math.min(top, Math.max(box.scrollTop, top + 26 - box.clientHeight));
	showRows();
}
function showRows() {
	const box = $("list-scroll"), cols = columns(), all = W.total[0] || 1;
	const first = Math.max(0, Math.floor(box.scrollTop / 26) - 4), last = Math.min(rowsShown.length, first + Math.ceil((printing ? 1600 : box.clientHeight) / 26) + 10);
	const re = S.query ? pattern() : null, out = [];
	for (let k = first; k < last; k++) {
		const r = rowsShown[k], line = el("div", undefined, r.f === S.focus && S.view === "sandwich" ? "row current" : "row");
		line.setAttribute("role", "row");
		line.id = `row${k}`;
		line.classList.toggle("at", k === rowAt);
		line.dataset.frame = r.f;
		line.title = `${r.name}\n${whereOf(r.f)}`;
		for (const [id] of cols) {
			if (id === "self" || id === "total") {
				const c = el("span", undefined, "share"), bar = el("i");
				bar.style.width = `${Math.min(100, 100 * r[id] / all)}%`;
				c.append(bar, percent(r[id], all));
				line.append(c);
			} else if (id === "selfw" || id === "totalw") {
				line.append(el("span", amount(r[sortKey(id)]), "num more"));
			} else if (id === "a" || id === "b") {
				line.append(el("span", amount(r[id]), "num more"));
			} else if (id === "delta" || id === "selfDelta") {
				line.append(el("span", signed(r[id]), `num ${r[id] > 1e-9 ? "worse" : r[id] < -1e-9 ? "better" : ""}`));
			} else if (id === "name") {
				/* In short, unless it is the rest that was searched for. */
				const short = r.name.length > 40 ? brief(r.name) : r.name;
				const cell = marked(re && !re.test(short) ? r.name : short, re);
				if (S.view === "tree") {
					cell.prepend(el("i", r.kids ? (r.open ? "▾" : "▸") : "", "twist"));
					cell.style.paddingLeft = `${Math.min(r.depth, 60) * 14}px`;
					if (r.kids)
						line.setAttribute("aria-expanded", r.open);
					line.setAttribute("aria-level", r.depth + 1);
				}
				line.append(cell);
			} else {
				line.append(el("span", r.module, "more"));
			}
		}
		out.push(line);
	}
	$("list-rows").style.top = `${first * 26}px`;
	$("list-rows").replaceChildren(...out);
	if (!rowsShown.length)
		$("list-rows").append(el("p", S.query ? "No function matches." : "No samples in this time range.", "none"));
	box.setAttribute("aria-activedescendant", rowsShown.length ? `row${rowAt}` : "");
}
function marked(name, re) {
	const c = el("span", undefined, "name"), m = re && re.exec(name);
	if (m && m[0])
		c.append(name.slice(0, m.index), el("em", m[0]), name.slice(m.index + m[0].length));
	else
		c.append(name);
	return c;
}

/* ---- the strip of time ---- */

const strip = $("strip"), sctx = strip.getContext("2d");
const LANES = 6, LANE = 12;
let lanes = null, gutter = 0;
/* Weight of each bucket, for the busiest threads and for the rest together. */
function makeLanes() {
	const sum = new Map(), pt = P.points, taskOf = k => P.trees.task[P.treeOf[pt.node[k]]];
	const counts = k => P.trees.event[P.treeOf[pt.node[k]]] === S.event;
	for (let k = 0; k < pt.nr; k++)
		if (counts(k))
			sum.set(taskOf(k), (sum.get(taskOf(k)) || 0) + pt.weight[k]);
	const busy = [...sum].sort((x, y) => y[1] - x[1]), own = busy.length <= LANES ? busy.length : LANES - 1;
	const rest = busy.length - own, lane = new Map(busy.slice(0, own).map(([t], i) => [t, i]));
	const names = busy.slice(0, own).map(([t]) => taskName(t, "tid"));
	if (rest)
		names.push(`${grouped.format(rest)} other threads`);
	const rows = names.map(() => new Float64Array(P.buckets));
	for (let k = 0; k < pt.nr; k++)
		if (counts(k))
			rows[lane.has(taskOf(k)) ? lane.get(taskOf(k)) : own][pt.bucket[k]] += pt.weight[k];
	return { event: S.event, names, rows };
}
function paintStrip() {
	if (!timed)
		return;
	if (!lanes || lanes.event !== S.event)
		lanes = makeLanes();
	const n = lanes.rows.length, each = n === 1 ? 26 : n === 2 ? 16 : LANE, high = n * each;
	const whole = strip.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(strip.parentElement).paddingLeft);
	const r = devicePixelRatio || 1, full = high + 18;
	strip.width = Math.round(whole * r);
	strip.height = Math.round(full * r);
	strip.style.height = `${full}px`;
	const style = getComputedStyle(document.body), font = `10.5px ${style.fontFamily}`;
	sctx.font = font;
	gutter = Math.ceil(Math.min(Math.max(...lanes.names.map(x => sctx.measureText(x).width)) + 10, whole / 4));
	const w = whole - gutter;
	sctx.setTransform(r, 0, 0, r, gutter * r, 0);
	const cols = Math.max(1, Math.min(Math.floor(w / 2), P.buckets)), colWidth = w / cols;
	const sums = lanes.rows.map(row => {
		const c = new Float64Array(cols);
		for (let b = 0; b < P.buckets; b++)
			c[Math.floor(b * cols / P.buckets)] += row[b];
		return c;
	});
	const most = sums.reduce((m, c) => c.reduce((x, y) => Math.max(x, y), m), 0) || 1, [hue, sat] = palette.heat, night = palette === palettes.dark;
	sums.forEach((c, lane) => {
		for (let i = 0; i < cols; i++) {
			const t = Math.sqrt(c[i] / most);
			sctx.fillStyle = c[i] ? `hsl(${hue} ${sat}% ${night ? 20 + 52 * t : 91 - 55 * t}%)` : night ? "#20272f" : "#e9edf1";
			sctx.fillRect(i * colWidth, lane * each, Math.ceil(colWidth * 10) / 10 + 0.3, each - 1);
		}
	});
	sctx.font = font;
	sctx.textBaseline = "middle";
	sctx.fillStyle = style.getPropertyValue("--soft");
	lanes.names.forEach((name, lane) => {
		let text = name;
		while (text.length > 2 && sctx.measureText(text).width > gutter - 8)
			text = text.slice(0, -2) + "…";
		sctx.fillText(text, -gutter, lane * each + each / 2);
	});
	axis(w, high, style);
	if (ranged()) {
		const x0 = S.from / P.buckets * w, x1 = S.to / P.buckets * w;
		sctx.fillStyle = night ? "rgba(18,22,27,.7)" : "rgba(245,247,249,.75)";
		sctx.fillRect(0, 0, x0, high);
		sctx.fillRect(x1, 0, w - x1, high);
		sctx.strokeStyle = style.getPropertyValue("--accent");
		sctx.lineWidth = 2;
		sctx.strokeRect(x0 + 1, 1, Math.max(x1 - x0 - 2, 1), high - 2);
	}
	$("range").hidden = !ranged();
	$("range-text").textContent = ranged() ? rangeText() : "";
	strip.setAttribute("aria-valuetext", ranged() ? rangeText() : "all");
}
function axis(w, y, style) {
	const span = P.bucket * P.buckets, least = span / (w / 80);
	let tick = 1;
	while (tick < least)
		tick *= tick.toExponential()[0] === "2" ? 2.5 : 2;
	sctx.fillStyle = sctx.strokeStyle = style.getPropertyValue("--soft");
	sctx.lineWidth = 1;
	for (let t = 0; t <= span; t += tick) {
		const x = Math.round(t / span * w) + 0.5, word = t === 0 ? "0" : tickText(t, tick), tw = sctx.measureText(word).width;
		sctx.globalAlpha = 0.5;
		sctx.beginPath();
		sctx.moveTo(x, y);
		sctx.lineTo(x, y + 4);
		sctx.stroke();
		sctx.globalAlpha = 1;
		sctx.fillText(word, Math.min(Math.max(x - tw / 2, 0), w - tw), y + 11);
	}
}
function tickText(ns, tick) {
	const [unit, name] = tick >= 1e9 || ns >= 1e9 ? [1e9, "s"] : tick >= 1e6 || ns >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
	return `${+(ns / unit).toFixed(tick >= unit ? 0 : 3)} ${name}`;
}
const rangeText = () => `${duration(S.from * P.bucket)} – ${duration(S.to * P.bucket)} (${duration((S.to - S.from) * P.bucket)})`;
function choose(from, to) {
	from = Math.max(0, Math.min(P.buckets - 1, from));
	to = Math.max(from + 1, Math.min(P.buckets, to));
	if (from === S.from && to === S.to)
		return;
	S.from = from;
	S.to = to;
	paintStrip();
	reweigh();
}
function allTime() {
	choose(0, P.buckets);
	paintStrip();
	remember();
}

/* ---- acting ---- */

function zoomTo(i, remembered) {
	if (i === S.zoom && view.aimTo - view.aimFrom === V.w.total[i])
		return;
	if (!remembered)
		back.push(S.zoom);
	S.zoom = i;
	search();
	aim(false);
	remember();
}
function goBack() {
	for (const id of ["keys", "code"])
		if ($(id).open)
			return $(id).close();
	/* Looked closer at by the wheel or a click on thin frames. */
	if (view.aimFrom !== V.x[S.zoom] || Math.abs(view.aimTo - view.aimFrom - (V.w.total[S.zoom] || 1)) > 1e-9 * V.w.total[0])
		return aim(false);
	if (S.zoom || back.length) {
		const to = back.length ? back.pop() : 0;
		return zoomTo(to, true);
	}
	if (S.query) {
		$("query").value = S.query = "";
		search();
		return remember();
	}
	if (ranged())
		allTime();
	picked = NONE;
	redraw();
}
function pick(i) {
	picked = i;
	const b = boxOf(V, i);
	if (b.w < 3 || b.x + b.w < 0 || b.x > width)
		zoomTo(V.depth[i] > 1 && b.w < 3 ? i : S.zoom ? 0 : i);
	reveal(i);
	redraw();
}
function move(key) {
	const i = picked === NONE ? S.zoom : picked, up = S.icicle !== S.invert ? "ArrowUp" : "ArrowDown", seen = c => V.w.total[c] > 0;
	let to = NONE;
	if (key === up) {
		to = V.parent[i];
	} else if (key === "ArrowUp" || key === "ArrowDown") {
		for (let c = i + 1; c < V.end[i] && to === NONE; c = V.end[c])
			to = seen(c) ? c : NONE;
	} else if (V.parent[i] !== NONE) {
		let last = NONE;
		for (let c = V.parent[i] + 1; c < V.end[V.parent[i]]; c = V.end[c]) {
			if (!seen(c))
				continue;
			if (key === "ArrowLeft" && c === i)
				to = last;
			if (key === "ArrowRight" && last === i)
				to = c;
			last = c;
		}
	}
	if (to !== NONE)
		pick(to);
}
function sandwich(frame) {
	if (frame < 0 || frame >= F)
		return;
	S.focus = frame;
	setView("sandwich");
}
/* The function with most weight of its own, to begin with. */
function topFunction() {
	let best = null;
	for (const r of makeFunctions())
		if (!best || r.self > best.self)
			best = r;
	return best ? best.f : NONE;
}
function setView(view_) {
	S.view = view_;
	if (view_ === "sandwich" && S.focus === NONE)
		S.focus = topFunction();
	applyView();
	reweigh();
	if (pair)
		scroll.scrollTop = Math.max(0, pair.callers.height * ROW - height / 2);
	remember();
}
function applyView() {
	for (const b of document.querySelectorAll("[data-view]"))
		b.setAttribute("aria-selected", b.dataset.view === S.view);
	$("main").className = S.view === "sandwich" ? "split" : "";
	$("list").hidden = S.view === "flame";
	$("list-scroll").setAttribute("role", S.view === "tree" ? "treegrid" : "grid");
	$("graph").hidden = listOnly();
	$("invert").disabled = S.view !== "flame" && S.view !== "tree";
	$("icicle").disabled = S.view !== "flame";
	hideTip();
	hovered = NONE;
	if (!listOnly())
		resize();
}
const listOnly = () => S.view === "table" || S.view === "tree";
function applyOptions() {
	$("merge").value = S.merge;
	$("colour").value = S.colour;
	$("norm").value = S.norm;
	$("event").value = S.event;
	$("query").value = S.query;
	$("invert").setAttribute("aria-pressed", S.invert);
	$("icicle").setAttribute("aria-pressed", S.icicle);
}
function applyTheme() {
	const night = S.theme ? S.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	document.documentElement.classList.toggle("dark", night);
	recolour();
}
function recolour() {
	palette = dark() && !printing ? palettes.dark : palettes.light;
	colourCache.clear();
	if (T) {
		rankModules();
		showLegend();
		paintStrip();
		redraw();
	}
}
/* Options that change which tree is drawn. */
function change(what) {
	Object.assign(S, what);
	applyOptions();
	rebuild();
	recolour();
	settle();
	remember();
}
/* The roots come into view. */
function settle() {
	$("space").style.height = `${Math.max(0, contentHeight() - height)}px`;
	scroll.scrollTop = pair ? Math.max(0, pair.callers.height * ROW - height / 2) : S.view === "flame" && S.icicle === S.invert ? 1e9 : 0;
	redraw();
}

/* ---- the address ---- */

let writing = false;
function remember() {
	const q = new URLSearchParams();
	const put = (key, value, usual) => value !== usual && q.set(key, value);
	put("view", S.view, "flame");
	put("merge", S.merge, usualMerge);
	put("colour", S.colour, usualColour);
	put("norm", S.norm, "share");
	put("event", String(S.event), String(mainEvent));
	put("q", S.query, "");
	put("callers", S.invert ? "1" : "", "");
	put("icicle", S.icicle ? "1" : "", "");
	put("time", ranged() ? `${S.from}-${S.to}` : "", "");
	put("zoom", S.zoom ? pathOf(V, S.zoom).join(".") : "", "");
	put("focus", S.focus === NONE ? "" : String(S.focus), "");
	put("theme", S.theme, "");
	const text = q.toString();
	writing = true;
	try {
		history.replaceState(null, "", text ? `#${text}` : "#");
	} catch {
		location.hash = text;
	}
	writing = false;
}
function recall() {
	const q = new URLSearchParams(location.hash.slice(1)), one = (key, among, usual) => among.includes(q.get(key)) ? q.get(key) : usual;
	const whole = (key, most) => /^\d+$/.test(q.get(key) || "") && +q.get(key) < most ? +q.get(key) : NONE;
	S.view = one("view", ["flame", "table", "sandwich", "tree"], "flame");
	S.merge = one("merge", diff ? ["all", "comm"] : ["all", "comm", "pid", "tid"], usualMerge);
	S.colour = one("colour", diff ? ["kind", "module", "diff"] : ["kind", "module"], usualColour);
	S.norm = one("norm", ["share", "abs"], "share");
	S.event = whole("event", P.events.length) === NONE ? mainEvent : whole("event", P.events.length);
	S.query = (q.get("q") || "").slice(0, 1000);
	S.invert = q.get("callers") === "1";
	S.icicle = q.get("icicle") === "1";
	S.focus = whole("focus", F) || NONE;
	S.theme = one("theme", ["dark", "light"], S.theme);
	const time = /^(\d+)-(\d+)$/.exec(q.get("time") || ""), valid = time && timed && +time[1] < +time[2] && +time[2] <= P.buckets;
	S.from = valid ? +time[1] : 0;
	S.to = valid ? +time[2] : P.buckets;
	V = null;
	rebuild();
	const path = (q.get("zoom") || "").split(".").filter(x => /^\d+$/.test(x)).map(Number);
	S.zoom = path.length ? follow(V, path) : 0;
	if (S.view === "sandwich" && S.focus === NONE)
		S.focus = topFunction();
	applyOptions();
	applyTheme();
	applyView();
	reweigh();
	settle();
}

/* ---- events ---- */

canvas.addEventListener("mousemove", e => {
	const box = canvas.getBoundingClientRect(), at = nodeAt(e.clientX - box.left, e.clientY - box.top);
	const i = at ? at.i : NONE, crowd = at ? null : crowdAt(e.clientX - box.left, e.clientY - box.top);
	canvas.style.cursor = at || (crowd && crowd.v === V) ? "pointer" : "default";
	if (at)
		showTip(at.v, i, e.clientX, e.clientY);
	else if (crowd)
		showCrowd(crowd, e.clientX, e.clientY);
	else
		hideTip();
	if (i !== hovered || (at && at.v !== hoveredIn)) {
		hovered = i;
		hoveredIn = at ? at.v : null;
		redraw();
	}
});
canvas.addEventListener("mouseleave", () => {
	hideTip();
	hovered = NONE;
	redraw();
});
canvas.addEventListener("click", e => {
	const box = canvas.getBoundingClientRect(), at = nodeAt(e.clientX - box.left, e.clientY - box.top);
	if (!at) {
		const crowd = crowdAt(e.clientX - box.left, e.clientY - box.top);
		if (crowd && crowd.v === V)
			enter(crowd);
		return;
	}
	if (e.shiftKey || at.v !== V)
		return sandwich(at.v.frame[at.i]);
	picked = at.i;
	zoomTo(at.i);
	hideTip();
});
canvas.addEventListener("wheel", e => {
	if (pair || (!e.ctrlKey && !e.metaKey && !e.shiftKey))
		return;
	e.preventDefault();
	const all = V.w.total[0], span = view.to - view.from;
	if (e.shiftKey && !e.ctrlKey && !e.metaKey) {
		const by = Math.max(-view.from, Math.min(all - view.to, (e.deltaX || e.deltaY) / width * span));
		view.aimFrom = view.from + by;
	} else {
		const to = Math.max(all / 1e7, Math.min(all, span * Math.exp(e.deltaY * 0.002))), x = (e.clientX - canvas.getBoundingClientRect().left) / width;
		view.aimFrom = Math.max(0, Math.min(all - to, view.from + (span - to) * x));
		view.aimTo = view.aimFrom + to;
		view.start = -1e9;
		return redraw();
	}
	view.aimTo = view.aimFrom + span;
	view.start = -1e9;
	redraw();
}, { passive: false });
scroll.addEventListener("scroll", () => { hideTip(); redraw(); });

let dragFrom = NONE;
const bucketAt = e => {
	const box = strip.getBoundingClientRect();
	return Math.max(0, Math.min(P.buckets, (e.clientX - box.left - gutter) / (box.width - gutter) * P.buckets));
};
let dragged = null, dragQueued = false;
strip.addEventListener("pointerdown", e => {
	dragFrom = bucketAt(e);
	strip.setPointerCapture(e.pointerId);
});
strip.addEventListener("pointermove", e => {
	if (dragFrom === NONE)
		return;
	const to = bucketAt(e);
	if (Math.abs(to - dragFrom) / P.buckets * strip.clientWidth < 3)
		return;
	dragged = [Math.floor(Math.min(dragFrom, to)), Math.ceil(Math.max(dragFrom, to))];
	if (!dragQueued) {
		dragQueued = true;
		requestAnimationFrame(() => {
			dragQueued = false;
			if (dragged)
				choose(...dragged);
		});
	}
});
strip.addEventListener("pointerup", () => {
	if (dragged)
		choose(...dragged);
	else if (dragFrom !== NONE && ranged())
		allTime();
	dragFrom = NONE;
	dragged = null;
	remember();
});
$("range-clear").addEventListener("click", allTime);
/* By keyboard: arrows move the range, with shift its end; without one they make it, at the beginning or the end. */
strip.addEventListener("keydown", e => {
	if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(e.key) || e.altKey || e.ctrlKey || e.metaKey)
		return;
	const part = Math.max(1, Math.round(P.buckets / 40)), on = e.key === "ArrowRight" || e.key === "End", by = on ? part : -part;
	e.preventDefault();
	e.stopPropagation();
	if (!ranged() || e.key === "Home" || e.key === "End") {
		const span = ranged() ? S.to - S.from : 4 * part, first = e.key === "ArrowRight" || e.key === "Home";
		choose(first ? 0 : P.buckets - span, first ? span : P.buckets);
	} else if (e.shiftKey) {
		choose(S.from, Math.max(S.from + part, S.to + by));
	} else {
		const move = Math.max(-S.from, Math.min(P.buckets - S.to, by));
		choose(S.from + move, S.to + move);
	}
	remember();
});

$("query").addEventListener("input", e => {
	S.query = e.target.value;
	search();
	remember();
});
$("query").addEventListener("keydown", e => {
	if (e.key === "Enter")
		stepMatch(e.shiftKey ? -1 : 1);
	else if (e.key === "Escape")
		e.target.blur();
	else
		return;
	e.preventDefault();
	e.stopPropagation();
	if (e.key === "Escape" && !S.query)
		canvas.focus();
});
$("next").addEventListener("click", () => stepMatch(1));
$("prev").addEventListener("click", () => stepMatch(-1));
for (const id of ["merge", "norm"])
	$(id).addEventListener("change", e => change({ [id]: e.target.value }));
$("event").addEventListener("change", e => change({ event: +e.target.value }));
$("colour").addEventListener("change", e => setColour(e.target.value));
function setColour(to) {
	S.colour = to;
	applyOptions();
	recolour();
	remember();
}
$("invert").addEventListener("click", () => change({ invert: !S.invert }));
$("icicle").addEventListener("click", () => {
	S.icicle = !S.icicle;
	applyOptions();
	settle();
	remember();
});
$("reset").addEventListener("click", () => { back = []; zoomTo(0, true); aim(false); });
$("theme").addEventListener("click", () => {
	S.theme = dark() ? "light" : "dark";
	applyTheme();
	remember();
});
$("code-button").addEventListener("click", () => showCode(meant()));
$("help").addEventListener("click", () => $("keys").showModal());
for (const b of document.querySelectorAll("[data-view]"))
	b.addEventListener("click", () => setView(b.dataset.view));
$("list-head").addEventListener("click", e => {
	const key = e.target.dataset.sort;
	if (!key)
		return;
	S.down = S.sort === key ? !S.down : true;
	S.sort = key;
	showList();
});
$("list-scroll").addEventListener("scroll", showRows);
$("list-rows").addEventListener("click", e => {
	const line = e.target.closest(".row");
	if (!line)
		return;
	rowAt = +line.id.slice(3);
	if (S.view === "tree" && !e.shiftKey)
		openRow(rowAt);
	else
		sandwich(+line.dataset.frame);
});
$("list-scroll").addEventListener("keydown", e => {
	if (e.altKey || e.ctrlKey || e.metaKey || !rowsShown.length)
		return;
	if (S.view === "tree" && (e.key === "Enter" || e.key === "ArrowRight"))
		openRow(rowAt, e.key === "Enter" ? undefined : true);
	else if (S.view === "tree" && e.key === "ArrowLeft")
		closeRow(rowAt);
	else if (S.view === "tree" && e.key === "s")
		sandwich(rowsShown[rowAt].f);
	else if (e.key === "Enter")
		sandwich(rowsShown[rowAt].f);
	else if (["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"].includes(e.key))
		moveRow(e.key);
	else
		return;
	e.preventDefault();
	e.stopPropagation();
});

document.addEventListener("keydown", e => {
	const dialog = document.querySelector("dialog[open]");
	if (dialog && e.key === "Escape") {
		e.preventDefault();
		return dialog.close();
	}
	if (e.target.matches("input, select, dialog *") || e.altKey || ((e.ctrlKey || e.metaKey) && e.key !== "f"))
		return;
	const cycle = id => {
		const list = [...$(id).options].filter(o => !o.hidden), at = list.findIndex(o => o.value === $(id).value);
		return list[(at + 1) % list.length].value;
	};
	const span = S.to - S.from;
	const keys = {
		"/": () => $("query").focus(), "f": () => $("query").focus(), Escape: goBack, "0": () => $("reset").click(), "?": () => $("keys").showModal(),
		n: () => stepMatch(1), N: () => stepMatch(-1), i: () => $("icicle").click(), v: () => change({ invert: !S.invert }),
		m: () => change({ merge: cycle("merge") }), c: () => setColour(cycle("colour")), d: () => $("theme").click(),
		"1": () => setView("flame"), "2": () => setView("table"), "3": () => setView("sandwich"), "4": () => setView("tree"), a: () => showCode(meant()),
		Enter: () => picked !== NONE && zoomTo(picked), s: () => sandwich(V.frame[picked !== NONE ? picked : hovered !== NONE ? hovered : S.zoom]),
		y: () => copy(nameOf(V.frame[picked !== NONE ? picked : hovered !== NONE ? hovered : S.zoom])),
		",": () => ranged() && (choose(Math.max(0, S.from - span), Math.max(span, S.from)), remember()),
		".": () => ranged() && (choose(Math.min(P.buckets - span, S.to), Math.min(P.buckets, S.to + span)), remember()),
	};
	for (const k of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"])
		keys[k] = () => S.view === "flame" && move(k);
	if (e.key === "f" && !e.ctrlKey && !e.metaKey)
		return;
	if (!keys[e.key] || (e.key === "Enter" && e.target !== canvas && e.target !== document.body) ||
	    (e.key.startsWith("Arrow") && e.target === $("list-scroll")))
		return;
	e.preventDefault();
	keys[e.key]();
});
function copy(text) {
	const area = el("textarea", text);
	document.body.append(area);
	area.select();
	document.execCommand("copy");
	area.remove();
	$("status").textContent = `copied: ${text}`;
}
addEventListener("resize", () => {
	paintStrip();
	if (S.view !== "flame")
		showList();
});
new ResizeObserver(() => {
	if (printing || listOnly())
		return;
	const bottom = scroll.scrollHeight - scroll.scrollTop - height;
	resize();
	paint(performance.now());
	if (S.view === "flame" && S.icicle === S.invert) /* the roots stay where they are */
		scroll.scrollTop = scroll.scrollHeight - height - bottom;
}).observe(scroll);
addEventListener("hashchange", () => { if (!writing) recall(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => S.theme || applyTheme());
addEventListener("beforeprint", () => {
	printing = true;
	const night = dark();
	document.documentElement.classList.remove("dark");
	recolour();
	document.documentElement.classList.toggle("was-dark", night);
	if (!listOnly()) {
		const high = Math.min(contentHeight(), 12000);
		sizeCanvas(high);
		paint(performance.now());
		canvas.style.width = "100%";
		canvas.style.height = "auto";
	} else {
		showRows();
	}
});
addEventListener("afterprint", () => {
	printing = false;
	const root = document.documentElement;
	root.classList.toggle("dark", root.classList.contains("was-dark"));
	root.classList.remove("was-dark");
	resize();
	recolour();
});

/* ---- begin ---- */

let mainEvent = 0;
/* Events that nothing was sampled of (perf's dummy, which only brings side-band records) are not offered. */
P.events.forEach((name, i) => {
	const o = el("option", name);
	o.value = i;
	if (sideTotals(i)[0] + sideTotals(i)[1])
		$("event").append(o);
	if (sideTotals(i)[0] + sideTotals(i)[1] && !(sideTotals(mainEvent)[0] + sideTotals(mainEvent)[1]))
		mainEvent = i;
});
$("event-label").hidden = $("event").options.length < 2;
$("norm-label").hidden = !diff;
document.body.classList.toggle("diff", diff);
document.body.classList.toggle("crowded", diff || $("event").options.length > 1);
$("times").hidden = !timed;
for (const o of [...$("colour").options])
	if (o.value === "diff" && !diff)
		o.remove();
for (const o of [...$("merge").options])
	if (diff && (o.value === "pid" || o.value === "tid"))
		o.remove();
showHead();
recall();

/* For tests and for the curious. */
window.sonde = {
	profile: P, state: S, brief,
	label: (name, room) => fit("", name, room),
	get total() { return V.w.total[0]; },
	get samples() { return V.w.count[0]; },
	get drawn() { return drawn; },
	get nodes() { return V.n; },
	zoomed: () => nameOf(V.frame[S.zoom]),
	/* Client coordinates of the heaviest frame of that name, and its weights. */
	find(name) {
		let best = NONE;
		for (let i = 0; i < V.n; i++)
			if (nameOf(V.frame[i]) === name && (best === NONE || V.w.total[i] > V.w.total[best]))
				best = i;
		if (best === NONE)
			return null;
		const b = boxOf(V, best), c = canvas.getBoundingClientRect(), w = V.w;
		return { x: c.left + b.x, y: c.top + b.y, w: b.w, h: b.h, total: w.total[best], self: w.self[best], a: w.a && w.a[best], b: w.b && w.b[best],
			fill: fillOf(V, best) };
	},
	/* Blocks of frames that are too thin, with client coordinates. */
	get crowds() {
		const c = canvas.getBoundingClientRect();
		return crowds.map(k => ({ x: c.left + k.x, y: c.top + k.y, w: k.w, nr: k.nr }));
	},
	get span() { return view.aimTo - view.aimFrom; },
	get gutter() { return gutter; },
	/* The rows of the list or the call tree, as they are. */
	get rows() { return rowsShown.map(r => ({ name: r.name, depth: r.depth, self: r.self, total: r.total, open: r.open })); },
	/* What is written beside the graph. */
	notes: () => $("status").textContent + (pair ? cutNote(pair.callers) : ""),
	/* In the sandwich: the weight of a caller or callee, null when it is none. */
	around(name) {
		for (const v of pair ? [pair.callers, pair.callees] : [])
			for (let i = 1; i < v.n; i++)
				if (nameOf(v.frame[i]) === name && v.w.total[i])
					return v.w.total[i];
		return null;
	},
	settled: () => !queued && view.from === view.aimFrom && view.to === view.aimTo,
};
})();
