"use strict";
/*
 * The timeline page. The data comes as bytes (view/html_timeline.h says how they lie) and is decoded once into typed arrays:
 *
 *	slices   of all tracks after each other; of a track they follow each other in time, and one more start marks its end
 *	sums     time in each state up to every BLOCK-th slice of a track: what a pixel or a range holds costs two searches, not a walk
 *	order    of each CPU: its running slices by time, with sums of the same kind
 *
 * Rows are drawn into the pixels of an image, each column with the share of every state, so the cost of a frame goes with what is seen
 * and not with how much there is. Text reaches the page through textContent and fillText alone.
 */
(() => {
const loading = performance.now();
const $ = id => document.getElementById(id);
const UNKNOWN = 0, RUNNING = 1, READY = 2, BLOCKED = 3;
const LOSSY = 1, SINCE_BEFORE = 2, UNTIL_END = 4, PREEMPTED = 8, BY_IRQ = 16;
const NONE = -1, BLOCK = 32, ROW = 20, RULER = 22, WALK = 8, MAX_ARROWS = 400, MAX_HOPS = 12, MAX_TABLE = 200, SHORT = 5;
const DISK = "D".charCodeAt(0);

/* ---- the data ---- */

function decode(text) {
	const bin = atob(text.trim()), n = bin.length, bytes = new Uint8Array(n);
	for (let i = 0; i < n; i++)
		bytes[i] = bin.charCodeAt(i);
	let at = 0;
	const utf8 = new TextDecoder();
	const num = () => {
		let b = bytes[at++];
		if (b < 128)
			return b;
		let v = b & 127, mul = 128;
		do {
			b = bytes[at++];
			v += (b & 127) * mul;
			mul *= 128;
		} while (b > 127);
		return v;
	};
	const string = () => {
		const len = num();
		at += len;
		return utf8.decode(bytes.subarray(at - len, at));
	};
	at = 4;
	if (utf8.decode(bytes.subarray(0, 4)) !== "STL1")
		throw new Error("the data in this page is damaged");
	const p = { first: num(), span: Math.max(num(), 1), cpus: num(), switches: num(), wakes: num(), lost: num(), pid: num(), facts: {} };
	for (let k = num(); k > 0; k--) {
		const key = string();
		p.facts[key] = string();
	}
	p.strings = Array.from({ length: num() }, string);
	const nt = p.tracks = num();
	p.tid = new Int32Array(nt);
	p.pidOf = new Int32Array(nt);
	p.parent = new Int32Array(nt);
	p.comm = new Int32Array(nt);
	p.home = new Int32Array(nt);
	for (let i = 0; i < nt; i++) {
		p.tid[i] = num();
		p.pidOf[i] = num();
		p.parent[i] = num() - 1;
		p.comm[i] = num();
		p.home[i] = num();
	}
	const ns = p.slices = num(), size = ns + nt;
	p.start = new Float64Array(size);
	p.state = new Uint8Array(size);
	p.flags = new Uint8Array(size);
	p.cpu = new Uint16Array(size);
	p.letter = new Uint8Array(size);
	p.cause = new Int32Array(size);
	p.where = new Int32Array(size);
	p.from = new Int32Array(nt + 1);
	let i = 0;
	for (let t = 0; t < nt; t++) {
		p.from[t] = i;
		const end = i + num();
		let time = num();
		for (; i < end; i++) {
			const head = num(), len = num(), state = head & 3;
			p.start[i] = time;
			p.state[i] = state;
			p.flags[i] = head >> 2;
			p.cause[i] = NONE;
			if (state === RUNNING || state === READY) {
				p.cpu[i] = num();
			} else if (state === BLOCKED) {
				p.letter[i] = num();
				p.cause[i] = num() - 1;
				p.where[i] = num();
			}
			time += len;
		}
		p.start[i++] = time; /* the end of the last one */
	}
	p.from[nt] = i;
	const ni = p.instants = num();
	p.itime = new Float64Array(ni);
	p.icpu = new Uint16Array(ni);
	p.ievent = new Int32Array(ni);
	p.iwhere = new Int32Array(ni);
	p.ifrom = new Int32Array(nt + 1);
	for (let t = 0, k = 0; t < nt; t++) {
		p.ifrom[t] = k;
		let time = 0;
		for (const end = k + num(); k < end; k++) {
			p.itime[k] = time += num();
			p.icpu[k] = num();
			p.ievent[k] = num();
			p.iwhere[k] = num();
		}
		p.ifrom[t + 1] = k;
	}
	p.gaps = Array.from({ length: num() }, () => ({ cpu: num(), from: num(), len: num(), nr: num() - 1 }));
	return p;
}

const P = decode($("data").textContent);
$("data").textContent = "";

/* Slices of a track: [first, last). */
const firstOf = t => P.from[t], endOf = t => P.from[t + 1] - 1;

/* The last index in [lo, hi) whose time is not after t; lo if all are. */
function search(times, lo, hi, t) {
	while (hi - lo > 1) {
		const mid = (lo + hi) >>> 1;
		if (times[mid] <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Sums before every BLOCK-th slice, counted over all tracks: those of a track are differences. */
const blocks = Math.ceil(P.start.length / BLOCK) + 1;
const sums = { run: new Float64Array(blocks), ready: new Float64Array(blocks), blocked: new Float64Array(blocks), disk: new Float64Array(blocks) };
function makeSums() {
	let run = 0, ready = 0, blocked = 0, disk = 0, t = 0;
	const n = P.start.length;
	for (let i = 0; i < n; i++) {
		if (i % BLOCK === 0) {
			const b = i / BLOCK;
			sums.run[b] = run;
			sums.ready[b] = ready;
			sums.blocked[b] = blocked;
			sums.disk[b] = disk;
		}
		while (t < P.tracks && i >= P.from[t + 1])
			t++;
		if (i >= endOf(t))
			continue;
		const len = P.start[i + 1] - P.start[i], s = P.state[i];
		if (s === RUNNING)
			run += len;
		else if (s === READY)
			ready += len;
		else if (s === BLOCKED) {
			blocked += len;
			if (P.letter[i] === DISK)
				disk += len;
		}
	}
}
makeSums();

const acc = { run: 0, ready: 0, blocked: 0, disk: 0 };
/* Into acc: what track t had done up to time `at`, which is in slice i, plus the same for all that lies before it. */
function sumAt(t, i, at) {
	const b = Math.floor(i / BLOCK), end = endOf(t);
	let run = sums.run[b], ready = sums.ready[b], blocked = sums.blocked[b], disk = sums.disk[b];
	let k = b * BLOCK, track = t;
	if (k < P.from[t])
		track = search(P.from, 0, P.tracks, k);
	for (; k <= i; k++) {
		while (k >= P.from[track + 1])
			track++;
		if (k === P.from[track + 1] - 1 || (k === i && i >= end))
			continue;
		const till = k === i ? Math.min(at, P.start[k + 1]) : P.start[k + 1], len = Math.max(till - P.start[k], 0), s = P.state[k];
		if (s === RUNNING)
			run += len;
		else if (s === READY)
			ready += len;
		else if (s === BLOCKED) {
			blocked += len;
			if (P.letter[k] === DISK)
				disk += len;
		}
	}
	acc.run = run;
	acc.ready = ready;
	acc.blocked = blocked;
	acc.disk = disk;
}
/* What a track did in [a, b). */
function between(t, a, b) {
	const lo = firstOf(t), hi = endOf(t), out = { run: 0, ready: 0, blocked: 0, disk: 0, all: 0 };
	if (hi <= lo)
		return out;
	a = Math.max(a, P.start[lo]);
	b = Math.min(b, P.start[hi]);
	if (b <= a)
		return out;
	sumAt(t, search(P.start, lo, hi, a), a);
	const before = { ...acc };
	sumAt(t, search(P.start, lo, hi, b), b);
	for (const k of ["run", "ready", "blocked", "disk"])
		out[k] = acc[k] - before[k];
	out.all = b - a;
	return out;
}

/* Running slices of each CPU by time: sorted by buckets of time, then within these. */
const trackOfSlice = i => search(P.from, 0, P.tracks + 1, i);
function makeCpus() {
	const nb = 1 << 18;
	let count = 0;
	for (let t = 0; t < P.tracks; t++)
		for (let i = firstOf(t), e = endOf(t); i < e; i++)
			count += P.state[i] === RUNNING ? 1 : 0;
	const heads = new Int32Array(nb + 2), sorted = new Int32Array(count), scale = (nb - 1) / P.span;
	const bucket = i => Math.min(P.start[i] * scale | 0, nb - 1);
	for (let t = 0; t < P.tracks; t++)
		for (let i = firstOf(t), e = endOf(t); i < e; i++)
			if (P.state[i] === RUNNING)
				heads[bucket(i) + 2]++;
	for (let b = 2; b < nb + 2; b++)
		heads[b] += heads[b - 1];
	for (let t = 0; t < P.tracks; t++)
		for (let i = firstOf(t), e = endOf(t); i < e; i++)
			if (P.state[i] === RUNNING)
				sorted[heads[bucket(i) + 1]++] = i;
	/* After that, heads[b] is where bucket b begins. */
	for (let b = 0; b < nb; b++) {
		const lo = heads[b], hi = heads[b + 1];
		if (hi - lo > 64) {
			sorted.subarray(lo, hi).sort((x, y) => P.start[x] - P.start[y]);
			continue;
		}
		for (let k = lo + 1; k < hi; k++) {
			const v = sorted[k], s = P.start[v];
			let j = k - 1;
			for (; j >= lo && P.start[sorted[j]] > s; j--)
				sorted[j + 1] = sorted[j];
			sorted[j + 1] = v;
		}
	}
	const sizes = new Int32Array(65536);
	let max = P.cpus;
	for (let k = 0; k < count; k++) {
		sizes[P.cpu[sorted[k]]]++;
		max = Math.max(max, P.cpu[sorted[k]] + 1);
	}
	const cpus = [];
	for (let c = 0; c < max; c++)
		cpus.push({ order: new Int32Array(sizes[c]), time: new Float64Array(sizes[c]), sums: new Float64Array(Math.ceil(sizes[c] / BLOCK) + 1), nr: 0 });
	for (let k = 0; k < count; k++) {
		const i = sorted[k], c = cpus[P.cpu[i]];
		c.time[c.nr] = P.start[i];
		c.order[c.nr++] = i;
	}
	for (const c of cpus)
		for (let k = 0, run = 0; k < c.nr; k++) {
			if (k % BLOCK === 0)
				c.sums[k / BLOCK] = run;
			run += P.start[c.order[k] + 1] - P.start[c.order[k]];
		}
	return cpus;
}
const cpus = makeCpus();
/* How long a CPU was busy up to a time that is in, or after, its k-th slice. */
function busyAt(c, k, at) {
	let run = c.sums[Math.floor(k / BLOCK)];
	for (let j = Math.floor(k / BLOCK) * BLOCK; j <= k; j++) {
		const i = c.order[j];
		run += Math.max(Math.min(P.start[i + 1], at) - P.start[i], 0);
	}
	return run;
}

/* ---- names and numbers ---- */

const commOf = t => P.tid[t] ? P.strings[P.comm[t]] || "?" : `idle CPU ${P.home[t]}`;
const nameOf = t => P.tid[t] ? `${commOf(t)} ${P.tid[t]}` : commOf(t);
const processNames = new Map();
for (let t = 0; t < P.tracks; t++)
	if (P.pidOf[t] && (P.pidOf[t] === P.tid[t] || !processNames.has(P.pidOf[t])))
		processNames.set(P.pidOf[t], commOf(t));
const processOf = t => P.pidOf[t] || P.tid[t];

/* Processes that the recorded command is made of: it, and what descends from it. */
const family = new Set();
function findFamily(root) {
	const trackOf = new Map(), parents = new Map(), belongs = new Map([[root, true]]);
	for (let t = 0; t < P.tracks; t++)
		trackOf.set(P.tid[t], t);
	for (let t = 0; t < P.tracks; t++) {
		const by = P.parent[t] > 0 ? trackOf.get(P.parent[t]) : undefined;
		if (by !== undefined && processOf(by) !== processOf(t))
			parents.set(processOf(t), processOf(by));
	}
	for (let t = 0; t < P.tracks; t++) {
		const path = [];
		let at = processOf(t);
		for (; at !== undefined && !belongs.has(at); at = parents.get(at)) {
			belongs.set(at, false); /* a loop ends here */
			path.push(at);
		}
		const yes = belongs.get(at) === true;
		for (const pid of path)
			belongs.set(pid, yes);
	}
	for (const [pid, yes] of belongs)
		if (yes)
			family.add(pid);
}
if (Number(P.facts.family) > 0)
	findFamily(Number(P.facts.family));

function duration(ns) {
	const v = Math.abs(ns);
	for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
		if (v >= size)
			return `${(ns / size).toFixed(v >= 100 * size ? 1 : v >= 10 * size ? 2 : 3)} ${unit}`;
	return `${Math.round(ns)} ns`;
}
const percent = v => `${(100 * v).toFixed(2)} %`;
const count = v => v.toLocaleString("en-US");
const clock = t => `${((P.first + t) / 1e9).toFixed(6)} s`;
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

/* ---- what is shown ---- */

const state = { from: 0, to: P.span, pid: 0, query: "", slice: NONE, range: null, row: NONE, pins: new Set(), drawer: true, move: false };
let rows = [], top_ = 0, dark = false, dirty = false, pointer = { x: 0, y: 0 };
const canvas = $("rows"), ctx = canvas.getContext("2d", { alpha: false }), scroll = $("scroll");
let width = 0, height = 0, gutter = 180, ratio = 1, image = null, pixels = null;
let colours = {};

/* Blue, orange, purple and grey differ for readers who cannot tell red from green; the two that matter most differ in lightness, too. */
const PALETTES = {
	light: { page: "#ffffff", row: "#f5f7f9", text: "#17212b", soft: "#5a6875", line: "#d9dfe5", run: "#0072b2", ready: "#e69f00", disk: "#b0468e",
		blocked: "#dfe4e9", unknown: "#ffffff", lossy: "#c43c1f", sample: "#007a5a", other: "#4d9bcb", accent: "#0b63b5", range: "rgba(11, 99, 181, .12)" },
	dark: { page: "#12161b", row: "#1a2027", text: "#e7edf3", soft: "#9dabb8", line: "#303a45", run: "#56b4e9", ready: "#f0b429", disk: "#dc8fc3",
		blocked: "#2c353f", unknown: "#12161b", lossy: "#ff8f75", sample: "#2fc79a", other: "#3f83aa", accent: "#72b7f5", range: "rgba(114, 183, 245, .16)" },
};
const word = css => {
	const v = parseInt(css.slice(1), 16);
	return 0xff000000 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16;
};
function setTheme(on) {
	dark = on;
	document.documentElement.classList.toggle("dark", dark);
	const css = PALETTES[dark ? "dark" : "light"];
	colours = { css };
	for (const k in css)
		if (css[k][0] === "#")
			colours[k] = word(css[k]) >>> 0;
	const legend = $("legend");
	legend.textContent = "";
	for (const [key, name] of [["run", "running"], ["ready", "waiting for a CPU"], ["disk", "waiting, uninterruptible (D)"], ["blocked", "sleeping"], ["sample", "samples"]]) {
		const li = document.createElement("li"), i = document.createElement("i");
		i.style.background = css[key];
		li.append(i, name);
		legend.append(li);
	}
	draw();
}

const totals = new Map();
function totalOf(t) {
	if (!totals.has(t)) {
		const b = between(t, 0, P.span);
		totals.set(t, b.run + b.ready + b.disk / 1e3);
	}
	return totals.get(t);
}

function makeRows() {
	const query = state.query.toLowerCase(), groups = new Map();
	const fits = t => P.tid[t] > 0 && (!state.pid || processOf(t) === state.pid) &&
		(!query || commOf(t).toLowerCase().includes(query) || String(P.tid[t]) === query || String(processOf(t)) === query);
	for (let t = 0; t < P.tracks; t++) {
		if (!fits(t))
			continue;
		const p = processOf(t);
		if (!groups.has(p))
			groups.set(p, { pid: p, tracks: [], total: 0 });
		groups.get(p).tracks.push(t);
		groups.get(p).total += totalOf(t);
	}
	rows = [];
	for (const t of state.pins)
		rows.push({ kind: "task", track: t, pinned: true });
	for (let c = 0; c < cpus.length; c++)
		rows.push({ kind: "cpu", cpu: c });
	let found = 0;
	const own = g => family.has(g.pid);
	let ours = 0;
	for (const g of [...groups.values()].sort((a, b) => own(b) - own(a) || b.total - a.total || a.pid - b.pid)) {
		if (ours > 0 && !own(g)) {
			rows.push({ kind: "rest" });
			ours = -Infinity;
		}
		ours += own(g);
		if (g.tracks.length > 1)
			rows.push({ kind: "process", pid: g.pid, nr: g.tracks.length });
		found += g.tracks.length;
		for (const t of g.tracks.sort((a, b) => totalOf(b) - totalOf(a) || P.tid[a] - P.tid[b]))
			if (!state.pins.has(t))
				rows.push({ kind: "task", track: t, inside: g.tracks.length > 1 });
	}
	$("empty").hidden = found > 0;
	$("found").textContent = query ? plural(found, "thread", "threads") : "";
	$("filter").hidden = !state.pid;
	if (state.pid)
		$("filter-text").textContent = `${processNames.get(state.pid) || ""} ${state.pid}`;
	$("space").style.height = `${Math.max(rows.length * ROW + RULER - height, 0)}px`;
	draw();
}

/* ---- drawing ---- */

function resize() {
	ratio = Math.min(window.devicePixelRatio || 1, 3);
	width = scroll.clientWidth;
	height = scroll.clientHeight;
	gutter = width < 600 ? 96 : 180;
	canvas.width = Math.max(Math.round(width * ratio), 1);
	canvas.height = Math.max(Math.round(height * ratio), 1);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	image = ctx.createImageData(canvas.width, canvas.height);
	pixels = new Uint32Array(image.data.buffer);
	share = { run: new Float64Array(canvas.width + 1), ready: new Float64Array(canvas.width + 1), blocked: new Float64Array(canvas.width + 1), disk: new Float64Array(canvas.width + 1) };
	$("space").style.height = `${Math.max(rows.length * ROW + RULER - height, 0)}px`;
	draw();
}
let share = null;

const xOf = t => gutter + (t - state.from) / (state.to - state.from) * (width - gutter);
const timeOf = x => state.from + (x - gutter) / (width - gutter) * (state.to - state.from);

/* Columns of the image that rows are drawn in, and where a row's are. */
const columns = () => ({ x0: Math.round(gutter * ratio), nr: canvas.width - Math.round(gutter * ratio) });

/* Adds what slice i has of each pixel. per: time of a pixel. */
function spread(into, from, to, per, nr) {
	let a = Math.max((from - state.from) / per, 0), b = Math.min((to - state.from) / per, nr);
	if (b <= a)
		return;
	const pa = Math.floor(a), pb = Math.min(Math.floor(b), nr - 1);
	if (pa === pb) {
		into[pa] += b - a;
		return;
	}
	into[pa] += pa + 1 - a;
	for (let k = pa + 1; k < pb; k++)
		into[k] = 1;
	into[pb] += b - pb;
}

function sharesOfTrack(t, nr) {
	const lo = firstOf(t), hi = endOf(t), per = (state.to - state.from) / nr;
	for (const k in share)
		share[k].fill(0, 0, nr);
	if (hi <= lo || P.start[hi] <= state.from || P.start[lo] >= state.to)
		return false;
	const i0 = search(P.start, lo, hi, state.from), i1 = Math.min(search(P.start, lo, hi, state.to) + 1, hi);
	if (i1 - i0 <= WALK * nr) {
		for (let i = i0; i < i1; i++) {
			const s = P.state[i];
			if (s !== UNKNOWN)
				spread(s === RUNNING ? share.run : s === READY ? share.ready : P.letter[i] === DISK ? share.disk : share.blocked, P.start[i], P.start[i + 1], per, nr);
		}
		return true;
	}
	let last = { run: 0, ready: 0, blocked: 0, disk: 0 }, i = i0;
	const p0 = Math.max(Math.floor((P.start[lo] - state.from) / per), 0), p1 = Math.min(Math.ceil((P.start[hi] - state.from) / per), nr);
	for (let k = p0; k <= p1; k++) {
		const at = Math.min(Math.max(state.from + k * per, P.start[lo]), P.start[hi]);
		/* From where the last one was, in growing steps. */
		let step = 1, far = i;
		while (far < hi && P.start[far] <= at) {
			i = far;
			far += step;
			step *= 2;
		}
		i = search(P.start, i, Math.min(far, hi), at);
		sumAt(t, i, at);
		if (k > p0) {
			share.run[k - 1] = (acc.run - last.run) / per;
			share.ready[k - 1] = (acc.ready - last.ready) / per;
			share.disk[k - 1] = (acc.disk - last.disk) / per;
			share.blocked[k - 1] = (acc.blocked - acc.disk - last.blocked + last.disk) / per;
		}
		last.run = acc.run;
		last.ready = acc.ready;
		last.blocked = acc.blocked;
		last.disk = acc.disk;
	}
	return true;
}

/* From the bottom of the row: running, waiting for a CPU, D; sleeping is a thin band where there is nothing else. */
function paintTrack(y, tall, x0, nr) {
	const w = canvas.width, h = canvas.height, thin = Math.max(Math.round(tall / 4), 2), bottom = y + tall;
	for (let k = 0; k < nr; k++) {
		const run = share.run[k], ready = share.ready[k], disk = share.disk[k], busy = run + ready + disk;
		let at = bottom, x = x0 + k;
		if (busy > 0) {
			/* What is there is seen, however short: at least one pixel. */
			const a = run > 0 ? Math.max(Math.round(run * tall), 1) : 0, b = ready > 0 ? Math.max(Math.round(ready * tall), 1) : 0;
			const c = disk > 0 ? Math.max(Math.round(disk * tall), 1) : 0;
			for (let j = 0; j < a && at > y; j++)
				if (--at < h && at >= 0)
					pixels[at * w + x] = colours.run;
			for (let j = 0; j < b && at > y; j++)
				if (--at < h && at >= 0)
					pixels[at * w + x] = colours.ready;
			for (let j = 0; j < c && at > y; j++)
				if (--at < h && at >= 0)
					pixels[at * w + x] = colours.disk;
		}
		if (share.blocked[k] > 0)
			for (const least = bottom - thin; at > least;)
				if (--at < h && at >= 0)
					pixels[at * w + x] = colours.blocked;
	}
}

function sharesOfCpu(c, nr) {
	const per = (state.to - state.from) / nr;
	for (const k in share)
		share[k].fill(0, 0, nr);
	if (!c.nr)
		return;
	const k0 = search(c.time, 0, c.nr, state.from), k1 = search(c.time, 0, c.nr, state.to) + 1;
	if (k1 - k0 <= WALK * nr) {
		for (let k = k0; k < k1; k++) {
			const i = c.order[k], mine = !state.pid || processOf(trackOfSlice(i)) === state.pid;
			spread(mine ? share.run : share.disk, P.start[i], P.start[i + 1], per, nr);
		}
		return;
	}
	let last = 0, k = k0;
	for (let p = 0; p <= nr; p++) {
		const at = state.from + p * per;
		let step = 1, far = k;
		while (far < c.nr && c.time[far] <= at) {
			k = far;
			far += step;
			step *= 2;
		}
		k = search(c.time, k, Math.min(far, c.nr), at);
		const now = c.time[k] <= at ? busyAt(c, k, at) : 0;
		if (p)
			share.run[p - 1] = (now - last) / per;
		last = now;
	}
}

function paintCpu(y, tall, x0, nr) {
	const w = canvas.width, h = canvas.height, bottom = y + tall;
	for (let k = 0; k < nr; k++) {
		const mine = share.run[k], other = share.disk[k];
		let at = bottom;
		for (let j = mine > 0 ? Math.max(Math.round(mine * tall), 1) : 0; j > 0 && at > y; j--)
			if (--at < h && at >= 0)
				pixels[at * w + x0 + k] = colours.run;
		for (let j = other > 0 ? Math.max(Math.round(other * tall), 1) : 0; j > 0 && at > y; j--)
			if (--at < h && at >= 0)
				pixels[at * w + x0 + k] = colours.other;
	}
}

function fillPixels(x, y, w, h, colour) {
	const x1 = Math.min(x + w, canvas.width), y1 = Math.min(y + h, canvas.height);
	x = Math.max(x, 0);
	for (let j = Math.max(y, 0); j < y1; j++)
		pixels.fill(colour, j * canvas.width + x, j * canvas.width + Math.max(x1, x));
}

function paintInstants(t, y, tall, x0, nr) {
	const per = (state.to - state.from) / nr, hi = P.ifrom[t + 1];
	let i = P.ifrom[t];
	if (i === hi)
		return;
	i = search(P.itime, i, hi, state.from);
	while (i < hi && P.itime[i] < state.to) {
		const px = Math.floor((P.itime[i] - state.from) / per);
		if (px < 0) {
			i++;
			continue;
		}
		fillPixels(x0 + px, y, Math.max(Math.round(ratio), 1), tall, colours.sample);
		/* All others of this pixel look the same. */
		i = Math.max(search(P.itime, i, hi, state.from + (px + 1) * per), i + 1);
		if (i < hi && Math.floor((P.itime[i] - state.from) / per) === px)
			i++;
	}
}

function paintGaps(cpu, y, tall, x0, nr) {
	const per = (state.to - state.from) / nr;
	for (const g of P.gaps) {
		if (g.cpu !== cpu || g.from > state.to || g.from + g.len < state.from)
			continue;
		const a = Math.max(Math.floor((g.from - state.from) / per), 0), b = Math.min(Math.ceil((g.from + g.len - state.from) / per), nr);
		for (let j = Math.max(y, 0); j < Math.min(y + tall, canvas.height); j++)
			for (let k = a; k < Math.max(b, a + 2) && k < nr; k++)
				if ((j + k) % 4 < 2)
					pixels[j * canvas.width + x0 + k] = colours.lossy;
	}
}

function drawRuler() {
	const css = colours.css, per = (state.to - state.from) / Math.max(width - gutter, 1);
	let step = 10 ** Math.ceil(Math.log10(Math.max(per * 100, 1)));
	for (const d of [5, 2])
		if (step / d >= per * 100)
			step = step / d;
	ctx.fillStyle = css.row;
	ctx.fillRect(0, 0, width, RULER);
	ctx.strokeStyle = css.line;
	ctx.fillStyle = css.soft;
	ctx.textAlign = "left";
	ctx.beginPath();
	for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step) {
		const x = Math.round(xOf(t)) + .5;
		ctx.moveTo(x, 0);
		ctx.lineTo(x, RULER);
		ctx.fillText(duration(t), x + 4, RULER / 2);
	}
	ctx.moveTo(0, RULER - .5);
	ctx.lineTo(width, RULER - .5);
	ctx.stroke();
	ctx.fillStyle = css.row;
	ctx.fillRect(0, 0, gutter, RULER - 1);
	ctx.fillStyle = css.soft;
	ctx.fillText(width < 600 ? "" : "from the start", 8, RULER / 2);
}

/* As much of a name as fits, its end if need be. */
function clip(text, room) {
	if (ctx.measureText(text).width <= room)
		return text;
	let lo = 0, hi = text.length;
	while (hi - lo > 1) {
		const mid = (lo + hi) >> 1;
		if (ctx.measureText(text.slice(0, mid) + "…").width <= room)
			lo = mid;
		else
			hi = mid;
	}
	return text.slice(0, lo) + "…";
}

function textOf(row) {
	switch (row.kind) {
	case "cpu": return `CPU ${row.cpu}`;
	case "process": return `${processNames.get(row.pid) || ""} ${row.pid}`;
	case "rest": return "everything else";
	default: return nameOf(row.track);
	}
}

function drawLabels(first, last) {
	const css = colours.css;
	ctx.textAlign = "left";
	for (let r = first; r < last; r++) {
		const row = rows[r], y = RULER + r * ROW - top_ + ROW / 2;
		const text = textOf(row);
		ctx.fillStyle = r === state.row ? css.accent : row.kind === "task" ? css.text : css.soft;
		ctx.fillText(clip((row.pinned ? "• " : "") + text, gutter - (row.inside ? 26 : 14)), row.inside ? 18 : 8, y);
		if (row.kind === "process") {
			ctx.fillStyle = css.soft;
			ctx.fillText(`${count(row.nr)} threads`, gutter + 6, y);
		}
	}
}

/* Names of what runs, on CPUs where there is room. */
function drawNames(first, last) {
	ctx.fillStyle = dark ? "#10141a" : "#ffffff";
	for (let r = first; r < last; r++) {
		if (rows[r].kind !== "cpu")
			continue;
		const c = cpus[rows[r].cpu], y = RULER + r * ROW - top_ + ROW / 2;
		if (!c.nr)
			continue;
		const k0 = search(c.time, 0, c.nr, state.from), k1 = search(c.time, 0, c.nr, state.to);
		if (k1 - k0 > 400)
			continue;
		for (let k = k0; k <= k1; k++) {
			const i = c.order[k], x0 = Math.max(xOf(P.start[i]), gutter), x1 = Math.min(xOf(P.start[i + 1]), width);
			if (x1 - x0 > 36)
				ctx.fillText(clip(nameOf(trackOfSlice(i)), x1 - x0 - 8), x0 + 4, y);
		}
	}
}

function rowOfTrack(t) {
	return rows.findIndex(r => r.kind === "task" && r.track === t);
}

function arrow(t, fromRow, toRow) {
	const x = Math.round(xOf(t)) + .5, y0 = RULER + fromRow * ROW - top_ + ROW / 2, y1 = RULER + toRow * ROW - top_ + ROW / 2, d = y1 > y0 ? -4 : 4;
	ctx.moveTo(x, y0);
	ctx.lineTo(x, y1);
	ctx.moveTo(x - 3, y1 + d);
	ctx.lineTo(x, y1);
	ctx.lineTo(x + 3, y1 + d);
}

let arrows = 0;
function drawArrows(first, last) {
	const found = [];
	arrows = 0;
	for (let r = first; r < last; r++) {
		if (rows[r].kind !== "task")
			continue;
		const t = rows[r].track, lo = firstOf(t), hi = endOf(t);
		if (hi <= lo)
			continue;
		const i0 = search(P.start, lo, hi, state.from), i1 = Math.min(search(P.start, lo, hi, state.to) + 1, hi);
		if (i1 - i0 > 4 * MAX_ARROWS)
			return;
		for (let i = i0; i < i1; i++)
			if (P.cause[i] >= 0 && P.tid[P.cause[i]] && P.start[i + 1] <= state.to)
				found.push([i, r]);
		if (found.length > MAX_ARROWS)
			return;
	}
	if (!found.length)
		return;
	const at = new Map(rows.map((row, r) => [row.kind === "task" ? row.track : NONE, r]));
	ctx.strokeStyle = colours.css.soft;
	ctx.lineWidth = 1;
	ctx.beginPath();
	for (const [i, r] of found)
		if (at.has(P.cause[i])) {
			arrow(P.start[i + 1], at.get(P.cause[i]), r);
			arrows++;
		}
	/* many arrows are faint, so that what they cross can still be read */
	ctx.globalAlpha = Math.min(Math.max(width / (12 * Math.max(arrows, 1)), .2), 1);
	ctx.stroke();
	ctx.globalAlpha = 1;
}

/* Who woke whom, back from a slice: [{ blocked, waker, at, by }]; ends at interrupts, and at what was there before. */
function chainOf(slice) {
	const hops = [];
	for (let i = slice, t = trackOfSlice(slice); hops.length < MAX_HOPS;) {
		const lo = firstOf(t);
		while (i > lo && P.state[i] !== BLOCKED)
			i--;
		if (P.state[i] !== BLOCKED)
			break;
		const at = P.start[i + 1], by = P.cause[i];
		if (by < 0)
			break;
		hops.push({ blocked: i, track: t, waker: by, at, irq: !P.tid[by] || (P.flags[i] & BY_IRQ) > 0 });
		if (hops.at(-1).irq || endOf(by) <= firstOf(by))
			break;
		const next = search(P.start, firstOf(by), endOf(by), at);
		if (by === t || P.state[next] !== RUNNING)
			break;
		i = next;
		t = by;
	}
	return hops;
}

function drawSelection() {
	const css = colours.css;
	if (state.range) {
		const a = Math.max(xOf(state.range[0]), gutter), b = Math.min(xOf(state.range[1]), width);
		if (b > a) {
			ctx.fillStyle = css.range;
			ctx.fillRect(a, RULER, b - a, height);
			ctx.strokeStyle = css.accent;
			ctx.strokeRect(a + .5, -1, Math.max(b - a - 1, 1), height + 2);
		}
	}
	if (state.slice === NONE)
		return;
	ctx.save();
	ctx.beginPath();
	ctx.rect(gutter, RULER, width, height);
	ctx.clip();
	ctx.strokeStyle = css.text;
	ctx.lineWidth = 2;
	const r = rowOfTrack(trackOfSlice(state.slice)), y = RULER + r * ROW - top_;
	if (r >= 0) {
		const a = xOf(P.start[state.slice]), b = xOf(P.start[state.slice + 1]);
		ctx.strokeRect(a, y + 1, Math.max(b - a, 2), ROW - 2);
	}
	ctx.strokeStyle = css.accent;
	ctx.beginPath();
	for (const h of chainOf(state.slice)) {
		const from = rowOfTrack(h.waker), to = rowOfTrack(h.track);
		if (from >= 0 && to >= 0)
			arrow(h.at, from, to);
	}
	ctx.stroke();
	ctx.restore();
	ctx.lineWidth = 1;
}

let frameMs = 0, worstMs = 0;
function drawNow() {
	const begun = performance.now(), css = colours.css;
	dirty = false;
	if (!pixels)
		return;
	top_ = scroll.scrollTop;
	const first = Math.max(Math.floor(top_ / ROW), 0), last = Math.min(Math.ceil((top_ + height - RULER) / ROW), rows.length), { x0, nr } = columns();
	pixels.fill(colours.page);
	for (let r = first; r < last; r++) {
		const y = Math.round((RULER + r * ROW - top_) * ratio), tall = Math.round((ROW - 6) * ratio), row = rows[r];
		if (row.kind === "process" || row.kind === "rest" || r === state.row)
			fillPixels(0, y, canvas.width, Math.round(ROW * ratio), colours.row);
		if (nr <= 0)
			continue;
		if (row.kind === "cpu") {
			sharesOfCpu(cpus[row.cpu], nr);
			paintCpu(y + Math.round(2 * ratio), tall, x0, nr);
			paintGaps(row.cpu, y, Math.round(4 * ratio), x0, nr);
		} else if (row.kind === "task") {
			const strip = P.ifrom[row.track + 1] > P.ifrom[row.track];
			if (sharesOfTrack(row.track, nr))
				paintTrack(y + Math.round(2 * ratio), strip ? tall - Math.round(3 * ratio) : tall, x0, nr);
			if (strip)
				paintInstants(row.track, y + Math.round((ROW - 6) * ratio), Math.round(4 * ratio), x0, nr);
		}
	}
	ctx.setTransform(1, 0, 0, 1, 0, 0);
	ctx.putImageData(image, 0, 0);
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.font = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"DejaVu Sans\", sans-serif";
	ctx.textBaseline = "middle";
	ctx.lineWidth = 1;
	drawNames(first, last);
	drawLabels(first, last);
	ctx.strokeStyle = css.line;
	ctx.beginPath();
	ctx.moveTo(gutter - .5, 0);
	ctx.lineTo(gutter - .5, height);
	ctx.stroke();
	ctx.save();
	ctx.beginPath();
	ctx.rect(gutter, RULER, width, height);
	ctx.clip();
	drawArrows(first, last);
	ctx.restore();
	drawSelection();
	drawRuler();
	frameMs = performance.now() - begun;
	worstMs = Math.max(worstMs, frameMs);
}
function draw() {
	if (!dirty) {
		dirty = true;
		requestAnimationFrame(drawNow);
	}
}

/* ---- moving ---- */

function setView(from, to) {
	const least = Math.min(100, P.span);
	let len = Math.min(Math.max(to - from, least), P.span);
	from = Math.min(Math.max(from, 0), P.span - len);
	state.from = from;
	state.to = from + len;
	saveSoon();
	draw();
}
function zoom(by, x) {
	const at = timeOf(Math.max(x, gutter)), len = (state.to - state.from) * by, part = (at - state.from) / (state.to - state.from);
	setView(at - len * part, at + len * (1 - part));
}
function pan(by) {
	const d = (state.to - state.from) * by;
	setView(state.from + d, state.to + d);
}
function show(from, to) {
	const room = (to - from) * .15;
	setView(from - room, to + room);
}
function reveal(r) {
	const y = r * ROW;
	if (y < scroll.scrollTop || y + ROW > scroll.scrollTop + height - RULER)
		scroll.scrollTop = Math.max(y - (height - RULER) / 2, 0);
}

/* ---- details ---- */

const el = (name, text, cls) => {
	const e = document.createElement(name);
	if (text !== undefined)
		e.textContent = text;
	if (cls)
		e.className = cls;
	return e;
};
function table(head, lines) {
	const t = el("table");
	if (head) {
		const tr = el("tr");
		head.forEach((h, i) => {
			const th = el("th", h);
			if (i)
				th.style.textAlign = "right";
			tr.append(th);
		});
		t.append(tr);
	}
	for (const l of lines) {
		const tr = el("tr", undefined, l.cls);
		l.cells.forEach((c, i) => tr.append(el("td", c, i ? l.text ? "text" : "" : "name")));
		if (l.go) {
			tr.classList.add("go");
			tr.addEventListener("click", l.go);
		}
		t.append(tr);
	}
	return t;
}

const LETTERS = { S: "sleeping", D: "uninterruptible", T: "stopped", t: "traced", X: "dead", Z: "zombie", P: "parked", I: "idle" };
function stateText(i) {
	const letter = String.fromCharCode(P.letter[i]);
	if (P.state[i] === RUNNING)
		return `running on CPU ${P.cpu[i]}`;
	if (P.state[i] === READY)
		return `${P.flags[i] & PREEMPTED ? "preempted, " : ""}waiting for CPU ${P.cpu[i]}`;
	if (P.state[i] === BLOCKED)
		return P.letter[i] ? `blocked (${letter}${LETTERS[letter] ? ": " + LETTERS[letter] : ""})` : "blocked";
	return "not known";
}

function select(i) {
	state.slice = i;
	state.drawer = true;
	if (i !== NONE)
		state.row = rowOfTrack(trackOfSlice(i));
	fillDrawer();
	draw();
}

function detailsOf(i) {
	const t = trackOfSlice(i), lines = [], pair = (k, v) => v && lines.push({ cells: [k, v], text: true });
	pair("thread", `${nameOf(t)}${P.pidOf[t] && P.pidOf[t] !== P.tid[t] ? ` of process ${processNames.get(P.pidOf[t]) || ""} ${P.pidOf[t]}` : ""}`);
	pair("state", stateText(i));
	pair("from", `${clock(P.start[i])} (${duration(P.start[i])} after the start)`);
	pair("for", `${duration(P.start[i + 1] - P.start[i])}${P.flags[i] & SINCE_BEFORE ? ", and before the recording" : ""}${P.flags[i] & UNTIL_END ? ", until its end" : ""}`);
	pair("where", P.strings[P.where[i]]);
	pair("lost", P.flags[i] & LOSSY ? "events were lost meanwhile: not exact" : "");
	const body = $("drawer-body");
	body.append(table(null, lines));
	const hops = chainOf(i);
	if (hops.length)
		body.append(table(["Woken by", "at", "after"], hops.map(h => ({
			cells: [`${h.irq ? "interrupt" + (P.tid[h.waker] ? ", during " : ", ") : ""}${nameOf(h.waker)}`, duration(h.at), duration(h.at - P.start[h.blocked])],
			go: () => endOf(h.waker) > firstOf(h.waker) && go(search(P.start, firstOf(h.waker), endOf(h.waker), h.at)),
		}))));
	const range = [P.start[i], P.start[i + 1]], near = [];
	for (let k = P.ifrom[t]; k < P.ifrom[t + 1] && near.length < 20; k++)
		if (P.itime[k] >= range[0] && P.itime[k] < range[1])
			near.push({ cells: [P.strings[P.ievent[k]], duration(P.itime[k]), P.strings[P.iwhere[k]]], text: true });
	if (near.length)
		body.append(table(["Event", "at", "where"], near));
	return `${nameOf(t)}: ${stateText(i)}`;
}

/* What every thread that is shown did in a range, busiest first. */
function rangeRows(a, b) {
	const list = [], seen = new Set();
	for (const row of rows) {
		if (row.kind !== "task" || seen.has(row.track))
			continue;
		seen.add(row.track);
		const t = row.track, v = between(t, a, b);
		let samples = 0;
		if (P.ifrom[t + 1] > P.ifrom[t])
			for (let k = P.ifrom[t]; k < P.ifrom[t + 1]; k++)
				samples += P.itime[k] >= a && P.itime[k] < b ? 1 : 0;
		if (v.all > 0)
			list.push({ track: t, samples, ...v });
	}
	const own = v => onlyFamily() && family.has(processOf(v.track));
	return list.sort((x, y) => own(y) - own(x) || y.run - x.run || y.ready - x.ready || y.disk - x.disk);
}

/* ---- a range: stacks and waits ---- */

/* Threads whose stacks and waits are shown: those of the command, unless others were chosen. */
function tracksOfRange() {
	const shown = new Set(rows.filter(r => r.kind === "task").map(r => r.track));
	return [...shown].filter(t => !onlyFamily() || family.has(processOf(t)));
}
const onlyFamily = () => family.size > 0 && !state.pid && !state.query && !state.pins.size;
const ofWhom = what => onlyFamily() ? `${what} (the command)` : what;

/* Its innermost frames. */
function shortChain(where) {
	const frames = P.strings[where].split(" <- ");
	return frames.slice(0, SHORT).join(" <- ") + (frames.length > SHORT ? " …" : "");
}

const framesOf = new Map();
/* The frames of a call chain, outermost first. */
function chainFrames(where) {
	if (!framesOf.has(where))
		framesOf.set(where, P.strings[where].split(" <- ").reverse());
	return framesOf.get(where);
}

/* Samples in [a, b) as a tree of frames. self: those that were in the function itself. */
function stacksOf(whose, a, b) {
	const root = { name: "", n: 0, self: 0, kids: new Map() };
	for (const t of whose) {
		for (let k = P.ifrom[t]; k < P.ifrom[t + 1]; k++) {
			if (P.itime[k] < a || P.itime[k] >= b || !P.iwhere[k])
				continue;
			let at = root;
			at.n++;
			for (const name of chainFrames(P.iwhere[k])) {
				if (!at.kids.has(name))
					at.kids.set(name, { name, n: 0, self: 0, kids: new Map() });
				at = at.kids.get(name);
				at.n++;
			}
			at.self++;
		}
	}
	return root;
}

/* What threads waited for in [a, b), by the innermost function of the call chain and state, longest first. */
function waitsOf(whose, a, b) {
	const IRQ = -2, chains = new Map(), found = new Map(); /* by number first: there may be millions */
	for (const t of whose) {
		const lo = firstOf(t), hi = endOf(t);
		for (let i = hi > lo ? search(P.start, lo, hi, a) : hi; i < hi && P.start[i] < b; i++) {
			const ns = Math.min(P.start[i + 1], b) - Math.max(P.start[i], a), key = P.where[i] * 256 + P.letter[i];
			if (P.state[i] !== BLOCKED || ns <= 0)
				continue;
			let w = chains.get(key);
			if (!w)
				chains.set(key, w = { ns: 0, longest: 0, n: 0, wakers: new Map() });
			const by = P.flags[i] & BY_IRQ ? IRQ : P.cause[i];
			w.ns += ns;
			w.n++;
			w.longest = Math.max(w.longest, ns);
			if (by !== NONE)
				w.wakers.set(by, (w.wakers.get(by) || 0) + ns);
		}
	}
	for (const [key, from] of chains) {
		const where = Math.floor(key / 256), name = where ? P.strings[where].split(" <- ", 1)[0] : "not known", letter = key % 256 ? String.fromCharCode(key % 256) : "?", id = letter + name;
		if (!found.has(id))
			found.set(id, { name, letter, ns: 0, longest: 0, n: 0, wakers: new Map() });
		const w = found.get(id);
		w.ns += from.ns;
		w.n += from.n;
		w.longest = Math.max(w.longest, from.longest);
		for (const [by, ns] of from.wakers) {
			const waker = by === IRQ ? "an interrupt" : commOf(by);
			w.wakers.set(waker, (w.wakers.get(waker) || 0) + ns);
		}
	}
	for (const w of found.values())
		w.by = [...w.wakers].reduce((best, by) => by[1] > best[1] ? by : best, ["", 0])[0];
	return [...found.values()].sort((x, y) => y.ns - x.ns);
}

/* A tree of frames as boxes, callers above what they call. A click shows one box and what is below it, a click on a box above goes back. */
function flameOf(tree) {
	const LINE = 18, LEAST = .002, frame = el("div", undefined, "flame"), box = el("div"), path = [tree];
	const place = (node, depth, from, share, whole) => {
		const e = el("button", node.name || plural(node.n, "sample", "samples")), text = `${node.name || "all"}: ${plural(node.n, "sample", "samples")}, ${percent(node.n / tree.n)}`;
		e.type = "button";
		e.title = text;
		e.setAttribute("aria-label", text);
		e.style.cssText = `left:${100 * from}%;width:${100 * share}%;top:${depth * LINE}px`;
		e.style.background = node.name ? hue(node.name) : "";
		e.addEventListener("click", () => {
			const i = path.indexOf(node);
			path.splice(i < 0 ? path.length : i + 1, path.length, ...(i < 0 ? pathTo(path.at(-1), node) : []));
			paint();
		});
		box.append(e);
		let deepest = depth, at = from;
		if (whole)
			for (const kid of [...node.kids.values()].sort((x, y) => y.n - x.n || (x.name < y.name ? -1 : 1))) {
				const part = share * kid.n / node.n;
				if (part >= LEAST)
					deepest = Math.max(deepest, place(kid, depth + 1, at, part, true));
				at += part;
			}
		return deepest;
	};
	const paint = () => {
		box.textContent = "";
		let deepest = 0;
		path.forEach((node, depth) => deepest = place(node, depth, 0, 1, depth === path.length - 1));
		box.style.height = `${(deepest + 1) * LINE}px`;
	};
	paint();
	frame.append(box);
	return frame;
}
/* The nodes from below `from` down to `node`. */
function pathTo(from, node) {
	for (const kid of from.kids.values()) {
		const rest = kid === node ? [] : pathTo(kid, node);
		if (rest)
			return [kid, ...rest];
	}
	return null;
}
/* A colour for a name, the same each time. */
function hue(name) {
	let h = 0;
	for (let i = 0; i < name.length; i++)
		h = Math.imul(h, 31) + name.charCodeAt(i) | 0;
	return `hsl(${20 + (h >>> 0) % 35} ${dark ? 45 : 80}% ${(dark ? 32 : 68) + (h >>> 8) % 10}%)`;
}

function fillRange() {
	const [a, b] = state.range, list = rangeRows(a, b), body = $("drawer-body");
	const cells = v => [duration(v.run), percent(v.run / (b - a)), duration(v.ready), duration(v.disk), duration(v.blocked - v.disk), count(v.samples)];
	const all = { run: 0, ready: 0, disk: 0, blocked: 0, samples: 0 };
	for (const v of list)
		for (const k in all)
			all[k] += v[k];
	const lines = list.slice(0, MAX_TABLE).map(v => ({ cells: [nameOf(v.track), ...cells(v)], go: () => {
		state.row = rowOfTrack(v.track);
		reveal(state.row);
		draw();
	} }));
	lines.unshift({ cells: [plural(list.length, "thread", "threads"), ...cells(all)], cls: "all" });
	const whose = tracksOfRange(), tree = stacksOf(whose, a, b), functions = new Map(), waits = waitsOf(whose, a, b);
	if (tree.n)
		body.append(flameOf(tree));
	body.append(table(["Thread", "running", "of the range", "waiting for a CPU", "D", "sleeping", "samples"], lines));
	const leaves = node => node.kids.forEach(kid => {
		functions.set(kid.name, (functions.get(kid.name) || 0) + kid.self);
		leaves(kid);
	});
	leaves(tree);
	const beside = el("div");
	if (waits.length)
		beside.append(table([ofWhom("Waited in"), "state", "for", "longest", "times", "mostly woken by"], waits.slice(0, 12).map(w => ({ cells: [w.name, w.letter, duration(w.ns), duration(w.longest), count(w.n), w.by] }))));
	if (tree.n)
		beside.append(table([ofWhom("Function"), "samples"], [...functions].filter(f => f[1]).sort((x, y) => y[1] - x[1]).slice(0, 30).map(([name, n]) => ({ cells: [name, count(n)] }))));
	body.append(beside);
	return `${duration(b - a)} from ${duration(a)}`;
}
function fillDrawer() {
	const body = $("drawer-body"), had = $("drawer").hidden;
	body.textContent = "";
	$("drawer").hidden = !state.drawer || (state.slice === NONE && !state.range);
	if (!$("drawer").hidden)
		$("drawer-title").textContent = state.slice !== NONE ? detailsOf(state.slice) : fillRange();
	saveSoon();
	if (had !== $("drawer").hidden)
		resize();
	sayStatus();
}
function sayStatus(x, y) {
	let text = `${duration(state.to - state.from)} shown`;
	if (x !== undefined && x >= gutter) {
		text = `at ${duration(timeOf(x))}`;
		const hit = sliceAt(x, y);
		if (hit !== NONE)
			text += ` · ${nameOf(trackOfSlice(hit))} · ${stateText(hit)} for ${duration(P.start[hit + 1] - P.start[hit])}${P.where[hit] ? " · " + shortChain(P.where[hit]) : ""}`;
	}
	$("status").textContent = text;
}

/* ---- hits ---- */

const rowAt = y => y < RULER ? NONE : Math.floor((y - RULER + scroll.scrollTop) / ROW);
function sliceAt(x, y) {
	const r = rowAt(y);
	if (r < 0 || r >= rows.length || x < gutter)
		return NONE;
	const row = rows[r], at = timeOf(x), near = (state.to - state.from) / Math.max(width - gutter, 1);
	if (row.kind === "cpu") {
		const c = cpus[row.cpu];
		if (!c.nr)
			return NONE;
		const k = search(c.time, 0, c.nr, at), i = c.order[k];
		return P.start[i] <= at + near && P.start[i + 1] >= at - near ? i : NONE;
	}
	if (row.kind !== "task" || endOf(row.track) <= firstOf(row.track))
		return NONE;
	const i = search(P.start, firstOf(row.track), endOf(row.track), at);
	return P.start[i] <= at && P.start[i + 1] >= at ? i : NONE;
}
function go(i) {
	select(i);
	if (P.start[i] < state.from || P.start[i + 1] > state.to) {
		const mid = (P.start[i] + P.start[i + 1]) / 2, len = Math.max(state.to - state.from, (P.start[i + 1] - P.start[i]) * 1.3);
		setView(mid - len / 2, mid + len / 2);
	}
	if (state.row >= 0)
		reveal(state.row);
}
/* The next slice of the row, or the one before; where nothing is selected, what the view begins with. */
function step(by) {
	let i = state.slice;
	if (i === NONE) {
		const row = rows[state.row >= 0 ? state.row : rows.findIndex(r => r.kind === "task")];
		if (!row || row.kind !== "task" || endOf(row.track) <= firstOf(row.track))
			return;
		i = search(P.start, firstOf(row.track), endOf(row.track), state.from) - (by > 0 ? 1 : 0);
		go(Math.min(Math.max(i + by, firstOf(row.track)), endOf(row.track) - 1));
		return;
	}
	const t = trackOfSlice(i);
	if (i + by >= firstOf(t) && i + by < endOf(t))
		go(i + by);
}
function stepRow(by) {
	state.row = Math.min(Math.max((state.row < 0 ? (by > 0 ? -1 : 0) : state.row) + by, 0), rows.length - 1);
	const row = rows[state.row];
	if (state.slice !== NONE && row.kind === "task" && endOf(row.track) > firstOf(row.track))
		select(search(P.start, firstOf(row.track), endOf(row.track), P.start[state.slice]));
	reveal(state.row);
	draw();
}
function setPid(pid) {
	state.pid = pid;
	state.row = NONE;
	makeRows();
	if (state.slice !== NONE)
		state.row = rowOfTrack(trackOfSlice(state.slice));
	scroll.scrollTop = 0;
	fillDrawer();
}
function setQuery(q) {
	state.query = q.trim();
	makeRows();
	fillDrawer();
}
function clickAt(x, y) {
	const r = rowAt(y);
	if (x < gutter && r >= 0 && r < rows.length) {
		state.row = r;
		const row = rows[r], pid = row.kind === "process" ? row.pid : row.kind === "task" ? processOf(row.track) : 0;
		setPid(pid === state.pid ? 0 : pid);
		return;
	}
	if (state.range && state.slice === NONE)
		state.range = null;
	select(sliceAt(x, y));
}
function back() {
	if (state.slice !== NONE)
		state.slice = NONE;
	else if (state.range)
		state.range = null;
	else if (state.query) {
		$("query").value = "";
		setQuery("");
	} else if (state.pid)
		setPid(0);
	else
		setView(0, P.span);
	fillDrawer();
	draw();
}

/* ---- input ---- */

const touches = new Map();
let drag = null;
const place = e => {
	const box = canvas.getBoundingClientRect();
	return { x: e.clientX - box.left, y: e.clientY - box.top };
};
canvas.addEventListener("pointerdown", e => {
	const p = place(e);
	canvas.focus({ preventScroll: true });
	canvas.setPointerCapture(e.pointerId);
	touches.set(e.pointerId, p);
	const moves = e.pointerType === "touch" || e.shiftKey || e.button === 1 || state.move;
	drag = { x: p.x, y: p.y, from: state.from, to: state.to, top: scroll.scrollTop, moves, far: false, pinch: null };
	if (touches.size === 2) {
		const [a, b] = [...touches.values()];
		drag.pinch = { len: Math.max(Math.abs(a.x - b.x), 20), at: timeOf((a.x + b.x) / 2) };
		drag.far = true;
	}
});
canvas.addEventListener("pointermove", e => {
	const p = pointer = place(e);
	if (!drag || !touches.has(e.pointerId)) {
		sayStatus(p.x, p.y);
		return;
	}
	touches.set(e.pointerId, p);
	const per = (drag.to - drag.from) / Math.max(width - gutter, 1);
	if (drag.pinch && touches.size === 2) {
		const [a, b] = [...touches.values()], len = (drag.to - drag.from) * drag.pinch.len / Math.max(Math.abs(a.x - b.x), 20);
		const part = ((a.x + b.x) / 2 - gutter) / Math.max(width - gutter, 1);
		setView(drag.pinch.at - len * part, drag.pinch.at + len * (1 - part));
		return;
	}
	drag.far = drag.far || Math.hypot(p.x - drag.x, p.y - drag.y) > 4;
	if (!drag.far)
		return;
	if (drag.moves) {
		setView(drag.from - (p.x - drag.x) * per, drag.to - (p.x - drag.x) * per);
		scroll.scrollTop = drag.top - (p.y - drag.y);
	} else if (drag.x >= gutter) {
		const a = timeOf(Math.max(Math.min(drag.x, p.x), gutter)), b = timeOf(Math.min(Math.max(drag.x, p.x), width));
		state.range = [Math.max(a, 0), Math.min(b, P.span)];
		draw();
	}
});
function release(e) {
	const p = place(e), d = drag;
	touches.delete(e.pointerId);
	if (touches.size)
		return;
	drag = null;
	if (!d || e.type === "pointercancel")
		return;
	if (!d.far)
		clickAt(p.x, p.y);
	else if (!d.moves && d.x >= gutter) {
		state.slice = NONE;
		state.drawer = true;
		fillDrawer();
		draw();
	}
}
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("dblclick", e => {
	const p = place(e), i = sliceAt(p.x, p.y);
	if (i !== NONE)
		show(P.start[i], P.start[i + 1]);
});
canvas.addEventListener("wheel", e => {
	if (e.ctrlKey || e.metaKey) {
		e.preventDefault();
		zoom(Math.exp(Math.max(Math.min(e.deltaY, 200), -200) * .004), place(e).x);
	} else if (e.deltaX || e.shiftKey) {
		e.preventDefault();
		pan((e.deltaX || e.deltaY) / Math.max(width - gutter, 1));
	}
}, { passive: false });
scroll.addEventListener("scroll", draw);

const middle = () => pointer.x > gutter ? pointer.x : gutter + (width - gutter) / 2;
const KEYS = {
	w: () => zoom(.7, middle()), s: () => zoom(1 / .7, middle()), a: () => pan(-.2), d: () => pan(.2),
	".": () => step(1), ",": () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowUp: () => stepRow(-1), ArrowDown: () => stepRow(1),
	f: () => state.slice !== NONE ? show(P.start[state.slice], P.start[state.slice + 1]) : state.range && show(...state.range),
	m: () => {
		if (state.slice !== NONE) {
			state.range = [P.start[state.slice], P.start[state.slice + 1]];
			state.slice = NONE;
			fillDrawer();
			draw();
		}
	},
	p: () => {
		const row = rows[state.row];
		if (row && row.kind === "task") {
			if (!state.pins.delete(row.track))
				state.pins.add(row.track);
			makeRows();
			state.row = rowOfTrack(row.track);
		}
	},
	q: () => {
		state.drawer = !state.drawer;
		fillDrawer();
	},
	"/": () => $("query").focus(), "0": () => setView(0, P.span), t: () => setTheme(!dark), "?": () => $("keys").showModal(), Escape: back,
};
document.addEventListener("keydown", e => {
	const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
	if (key === "p" && (e.ctrlKey || e.metaKey)) {
		e.preventDefault();
		$("query").focus();
		return;
	}
	if (e.target === $("query")) {
		if (key === "Escape" || key === "Enter") {
			if (key === "Escape") {
				$("query").value = "";
				setQuery("");
			}
			canvas.focus();
			e.preventDefault();
		}
		return;
	}
	if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open || !KEYS[key])
		return;
	e.preventDefault();
	KEYS[key]();
});
$("query").addEventListener("input", () => setQuery($("query").value));
$("filter-clear").addEventListener("click", () => setPid(0));
$("drawer-close").addEventListener("click", () => KEYS.q());
$("zoom-in").addEventListener("click", () => zoom(.5, gutter + (width - gutter) / 2));
$("zoom-out").addEventListener("click", () => zoom(2, gutter + (width - gutter) / 2));
$("reset").addEventListener("click", () => {
	Object.assign(state, { slice: NONE, range: null, query: "", pid: 0 });
	$("query").value = "";
	state.pins.clear();
	makeRows();
	setView(0, P.span);
	fillDrawer();
});
$("mode").addEventListener("click", () => {
	state.move = !state.move;
	$("mode").setAttribute("aria-pressed", state.move);
	canvas.classList.toggle("move", state.move);
});
$("theme").addEventListener("click", () => setTheme(!dark));
$("help").addEventListener("click", () => $("keys").showModal());
window.addEventListener("resize", resize);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", e => setTheme(e.matches));

/* ---- the address ---- */

let saving = 0;
function save() {
	saving = 0;
	const words = [];
	if (state.from > 0 || state.to < P.span)
		words.push(`view=${Math.round(state.from)}-${Math.round(state.to)}`);
	if (state.range)
		words.push(`range=${Math.round(state.range[0])}-${Math.round(state.range[1])}`);
	if (state.pid)
		words.push(`pid=${state.pid}`);
	if (state.query)
		words.push(`find=${encodeURIComponent(state.query)}`);
	if (state.slice !== NONE)
		words.push(`slice=${state.slice}`);
	history.replaceState(null, "", "#" + words.join("&"));
}
function saveSoon() {
	if (!saving)
		saving = setTimeout(save, 100);
}
function load() {
	const words = new Map(location.hash.slice(1).split("&").map(w => w.split("="))), pair = k => {
		const m = /^(\d+)-(\d+)$/.exec(words.get(k) || "");
		return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Math.min(Number(m[2]), P.span)] : null;
	};
	const number = k => /^\d+$/.test(words.get(k) || "") ? Number(words.get(k)) : 0;
	state.pid = words.has("pid") ? number("pid") : processNames.has(P.pid) || [...P.tid].includes(P.pid) ? P.pid : 0;
	state.query = decodeURIComponent(words.get("find") || "");
	$("query").value = state.query;
	state.range = pair("range");
	const slice = number("slice");
	if (words.has("slice") && slice < P.start.length && slice < endOf(trackOfSlice(slice)))
		state.slice = slice;
	return pair("view");
}

/* ---- start ---- */

function fact(key, value, cls) {
	const li = el("li", key ? key + " " : "", cls);
	li.append(el("b", value));
	$("facts").append(li);
}
function begin() {
	$("title").textContent = document.title;
	let threads = 0;
	for (const tid of P.tid)
		threads += tid ? 1 : 0;
	fact("", duration(P.span));
	fact("", plural(threads, "thread", "threads"));
	fact("", plural(P.cpus, "CPU", "CPUs"));
	fact("", plural(P.switches, "switch", "switches"));
	fact("", plural(P.wakes, "wake-up", "wake-ups"), "minor");
	if (P.instants)
		fact("", plural(P.instants, "sample", "samples"), "minor");
	fact("", `${count(P.lost)} lost`, P.lost || P.gaps.length ? "warn" : "");
	if (P.facts.host)
		fact("on", P.facts.host, "minor");
	if (P.facts.release)
		fact("Linux", P.facts.release, "minor");
	const view = load();
	setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
	resize();
	makeRows();
	if (view)
		setView(...view);
	if (state.slice !== NONE)
		state.row = rowOfTrack(trackOfSlice(state.slice));
	fillDrawer();
	if (state.row >= 0)
		reveal(state.row);
	drawNow();
}
begin();

/* For tests and for who reads the page with a program. */
const probe = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { alpha: false, willReadFrequently: true });
window.sonde = {
	state, data: P, rows: () => rows.map(r => r.kind === "process" ? `process ${r.pid}` : textOf(r)),
	settled: () => !dirty, gutter: () => gutter, xOf, timeOf, setView, between, chainOf,
	arrows: () => arrows, ready_ms: performance.now(), load_ms: performance.now() - loading,
	frame: () => frameMs, worst: () => worstMs, drawNow: () => {
		drawNow();
		return frameMs;
	},
	rowBox: name => {
		const r = sonde.rows().indexOf(name), box = canvas.getBoundingClientRect();
		return r < 0 ? null : { x: box.left, y: box.top + RULER + r * ROW - scroll.scrollTop, w: width, h: ROW, gutter };
	},
	track: name => {
		for (let t = 0; t < P.tracks; t++)
			if (nameOf(t) === name || commOf(t) === name)
				return t;
		return NONE;
	},
	range: () => state.range ? rangeRows(...state.range).map(v => ({ name: nameOf(v.track), ...v })) : [],
	setRange: (a, b) => {
		state.slice = NONE;
		state.range = [a, b];
		state.drawer = true;
		fillDrawer();
		draw();
	},
	details: () => state.slice === NONE ? "" : stateText(state.slice),
	pixel: (x, y) => {
		probe.drawImage(canvas, Math.round(x * ratio), Math.round(y * ratio), 1, 1, 0, 0, 1, 1);
		return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
	},
	colours: () => colours.css,
};
})();
