"use strict";
/* Asks for what is new every interval, keeps it, draws it. All texts go into the page as text. */
(() => {
const $ = id => document.getElementById(id);
const about = JSON.parse($("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const colours = ["#3b82c4", "#d9822b", "#4a9d5b", "#c0504d", "#8064a2", "#2aa198", "#b58900", "#d33682"];
const ROWS_MAX = 8192, SILENT_MS = 3000;
let drag = null, range = null, frames = [], zoomed = [], boxes = [], over = false;
let generation = -1, columns = [], rows = [], figures = [], paused = false, hover = null, failures = 0, answers = 0;

$("title").textContent = document.title;

function number(v, unit) {
	if (v === null || v === undefined) return "–";
	const base = unit.startsWith("bytes") ? 1024 : 1000, letters = ["", "k", "M", "G", "T", "P", "E"];
	let step = 0, a = Math.abs(v);
	while (a >= base && step + 1 < letters.length) { a /= base; v /= base; step++; }
	const text = step || a % 1 ? v.toFixed(a < 10 ? 2 : a < 100 ? 1 : 0) : String(v);
	return text + letters[step] + (unit === "%" ? " %" : unit ? " " + unit.replace("1/s", "/s") : "");
}

/* Columns of one part with one unit share a chart. */
function build() {
	$("charts").replaceChildren();
	figures = [];
	columns.forEach((c, i) => {
		let f = figures.find(g => g.title === c.title && g.unit === c.unit);
		if (!f) {
			const box = document.createElement("figure"), head = document.createElement("figcaption");
			f = { title: c.title, unit: c.unit, canvas: document.createElement("canvas"), legend: document.createElement("ul"), at: [], out: [] };
			head.textContent = c.title + (c.unit ? " · " + c.unit : "");
			f.legend.className = "legend";
			f.canvas.setAttribute("role", "img");
			f.canvas.setAttribute("aria-label", c.title);
			box.append(head, f.canvas, f.legend);
			$("charts").append(box);
			f.canvas.addEventListener("pointermove", e => { hover = e.offsetX / f.canvas.clientWidth; if (drag !== null) drag.to = hover; draw(); });
			f.canvas.addEventListener("pointerleave", () => { hover = drag = null; draw(); });
			if (about.profile) {
				f.canvas.addEventListener("pointerdown", e => { drag = { from: e.offsetX / f.canvas.clientWidth, to: null }; });
				f.canvas.addEventListener("pointerup", choose);
			}
			figures.push(f);
		}
		const item = document.createElement("li"), dot = document.createElement("i"), value = document.createElement("span");
		dot.style.background = colours[f.at.length % colours.length];
		item.title = c.about;
		item.append(dot, c.key.replaceAll("_", " ") + " ", value);
		f.legend.append(item);
		f.at.push(i);
		f.out.push(value);
	});
}

function shown() {
	const span = Number($("span").value) * 1000, last = rows.length ? rows[rows.length - 1][0] : 0;
	return span ? rows.filter(r => r[0] > last - span) : rows;
}

function draw() {
	const some = shown(), style = getComputedStyle(document.documentElement);
	const first = some.length ? some[0][0] : 0, last = some.length ? some[some.length - 1][0] : 1;
	const wide = Math.max(last - first, 1);
	let pick = some.length - 1;
	if (hover !== null)
		some.forEach((r, i) => { if (Math.abs(r[0] - first - hover * wide) < Math.abs(some[pick][0] - first - hover * wide)) pick = i; });
	for (const f of figures) {
		const w = f.canvas.clientWidth, h = f.canvas.clientHeight, ratio = devicePixelRatio || 1;
		if (f.canvas.width !== Math.round(w * ratio)) { f.canvas.width = Math.round(w * ratio); f.canvas.height = Math.round(h * ratio); }
		const c = f.canvas.getContext("2d");
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, w, h);
		let top = f.unit === "%" ? 100 : 0;
		for (const r of some) for (const i of f.at) top = Math.max(top, r[i + 1] ?? 0);
		top = top || 1;
		c.strokeStyle = style.getPropertyValue("--line");
		c.lineWidth = 1;
		c.strokeRect(.5, .5, w - 1, h - 1);
		f.at.forEach((i, k) => {
			c.strokeStyle = colours[k % colours.length];
			c.lineWidth = 1.5;
			c.beginPath();
			let pen = false;
			for (const r of some) {
				const v = r[i + 1];
				if (v === null || v === undefined) { pen = false; continue; }
				const x = (r[0] - first) / wide * (w - 4) + 2, y = h - 2 - v / top * (h - 14);
				if (pen) c.lineTo(x, y); else c.moveTo(x, y);
				pen = true;
			}
			c.stroke();
			f.out[k].textContent = pick >= 0 ? number(some[pick][i + 1], f.unit) : "–";
		});
		const chosen = drag && drag.to !== null ? [drag.from, drag.to].map(x => first + x * wide) : range;
		if (chosen) {
			const [x0, x1] = [Math.min(...chosen), Math.max(...chosen)].map(t => (t - first) / wide * (w - 4) + 2);
			c.globalAlpha = .2;
			c.fillStyle = style.getPropertyValue("--accent");
			c.fillRect(x0, 0, Math.max(x1 - x0, 2), h);
			c.globalAlpha = 1;
		}
		c.fillStyle = style.getPropertyValue("--soft");
		c.font = "11px system-ui, sans-serif";
		c.fillText(number(top, f.unit), 5, 12);
		if (pick >= 0) {
			const when = new Date(some[pick][0]).toLocaleTimeString();
			c.fillText(when, w - c.measureText(when).width - 5, 12);
		}
	}
}

/* ---- functions: intervals of stacks, added up ---- */

const KINDS = ["user", "kernel", "inlined", "jit", "unknown", "mark", "command", "event"];
const COMMAND = 6;
const FILL = { user: "#9cc4e4", kernel: "#f2b27a", inlined: "#c9dcec", jit: "#b5d8a8", unknown: "#cfcfcf", mark: "#e6e0c8", command: "#d9dfe5", event: "#d9dfe5" };
const HELD_MAX = 3 << 20; /* numbers of stacks: as many as the program keeps */
let held = 0;
const ROW = 18, ROWS_SHOWN = 80, FUNCTIONS_SHOWN = 40;

/* A drag ends: a range of time; a click: none. */
function choose() {
	const some = shown();
	if (!drag || !some.length) return;
	const first = some[0][0], wide = Math.max(some[some.length - 1][0] - first, 1);
	const moved = drag.to === null ? 0 : Math.abs(drag.to - drag.from);
	range = moved < .01 ? null : [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)].map(x => first + x * wide);
	drag = null;
	draw();
	functions();
}

/* A row is of the interval that ends at its time: those that end in the range count. */
function counted() {
	return range ? rows.filter(r => r[0] >= range[0] && r[0] <= range[1]) : shown();
}

function child(node, frame) {
	let c = node.children.get(frame);
	if (!c) node.children.set(frame, c = { frame, self: 0, total: 0, depth: node.depth + 1, parent: node, children: new Map() });
	return c;
}

/* All events, each a tree of commands. */
function addUp(some) {
	const root = { frame: 0, self: 0, total: 0, depth: 0, parent: null, children: new Map() };
	for (const r of some) {
		const flat = r.nodes, at = [root];
		for (let i = 0; i < flat.length; i += 3) {
			const node = child(at[flat[i]], flat[i + 1]);
			at.push(node);
			node.self += flat[i + 2];
		}
	}
	const sum = node => { node.total = node.self; for (const c of node.children.values()) node.total += sum(c); return node.total; };
	sum(root);
	return root;
}

function eventTree(root) {
	const events = [...root.children.values()], names = events.map(e => frames[e.frame][0]), select = $("event");
	const had = [...select.options].map(o => o.value);
	for (const name of names) {
		if (had.includes(name)) continue;
		const option = document.createElement("option");
		option.value = option.textContent = name;
		select.append(option);
	}
	$("event-label").hidden = select.options.length < 2;
	return events[names.indexOf(select.value)] ?? { frame: 0, self: 0, total: 0, depth: 1, parent: root, children: new Map() };
}

/* Where the zoom is in this tree, as far as it is still there. */
function follow(top) {
	let node = top;
	for (const frame of zoomed) {
		const next = node.children.get(frame);
		if (!next) break;
		node = next;
	}
	return node;
}

function matcher() {
	const text = $("search").value;
	let re = null;
	try { re = text ? new RegExp(text, "i") : null; $("search").className = ""; } catch { $("search").className = "bad"; }
	return re && (frame => re.test(frames[frame][0]));
}

const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + " %";

function paint(top, focus, matches) {
	const canvas = $("flame"), w = canvas.clientWidth, ratio = devicePixelRatio || 1;
	const path = [];
	for (let n = focus; n !== top; n = n.parent) path.unshift(n);
	let deepest = path.length;
	boxes = [];
	path.slice(0, -1).forEach((n, i) => boxes.push({ node: n, x: 0, w, y: i, faded: true }));
	const place = (node, x, wide, y) => {
		if (wide < .5 || y >= ROWS_SHOWN) return;
		boxes.push({ node, x, w: wide, y });
		deepest = Math.max(deepest, y + 1);
		let at = x;
		for (const c of [...node.children.values()].sort((a, b) => frames[a.frame][0] < frames[b.frame][0] ? -1 : 1)) {
			const part = node.total ? wide * c.total / node.total : 0;
			place(c, at, part, y + 1);
			at += part;
		}
	};
	if (focus !== top) place(focus, 0, w, path.length - 1);
	else {
		let at = 0;
		for (const c of [...top.children.values()].sort((a, b) => b.total - a.total)) { place(c, at, top.total ? w * c.total / top.total : 0, 0); at += top.total ? w * c.total / top.total : 0; }
	}
	const h = Math.max(deepest, 1) * ROW;
	canvas.style.height = h + "px";
	canvas.width = Math.round(w * ratio);
	canvas.height = Math.round(h * ratio);
	const c = canvas.getContext("2d");
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.font = "12px system-ui, sans-serif";
	c.textBaseline = "middle";
	for (const b of boxes) {
		const [name, , kind] = frames[b.node.frame];
		c.globalAlpha = b.faded ? .45 : 1;
		c.fillStyle = matches && matches(b.node.frame) ? "#d64bd6" : FILL[KINDS[kind]] ?? "#cfcfcf";
		c.fillRect(b.x, b.y * ROW, Math.max(b.w - 1, .5), ROW - 1);
		if (b.w < 24) continue;
		c.fillStyle = "#10161c";
		c.save();
		c.beginPath();
		c.rect(b.x, b.y * ROW, b.w - 3, ROW);
		c.clip();
		c.fillText(name, b.x + 3, b.y * ROW + ROW / 2);
		c.restore();
	}
	c.globalAlpha = 1;
}

/* A function that calls itself counts once. */
function tabulate(focus) {
	const by = new Map(), above = new Map();
	const walk = node => {
		const [, , kind] = frames[node.frame], counts = kind < COMMAND;
		const entry = by.get(node.frame) ?? { frame: node.frame, self: 0, total: 0 };
		if (counts) {
			by.set(node.frame, entry);
			entry.self += node.self;
			if (!above.get(node.frame)) entry.total += node.total;
			above.set(node.frame, (above.get(node.frame) ?? 0) + 1);
		}
		for (const c of node.children.values()) walk(c);
		if (counts) above.set(node.frame, above.get(node.frame) - 1);
	};
	for (const c of focus.children.values()) walk(c);
	if (frames[focus.frame] && frames[focus.frame][2] < COMMAND && focus.self) {
		const entry = by.get(focus.frame) ?? { frame: focus.frame, self: 0, total: 0 };
		entry.self += focus.self;
		entry.total = focus.total;
		by.set(focus.frame, entry);
	}
	return [...by.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

function matchedWeight(node, matches) {
	if (node.frame && matches(node.frame)) return node.total;
	let sum = 0;
	for (const c of node.children.values()) sum += matchedWeight(c, matches);
	return sum;
}

let tree = null;
function functions() {
	if (!about.profile || !frames.length) return;
	const some = counted();
	tree = eventTree(addUp(some));
	const focus = follow(tree), matches = matcher(), all = tabulate(focus);
	paint(tree, focus, matches);
	$("functions").replaceChildren(...all.slice(0, FUNCTIONS_SHOWN).map(f => {
		const line = document.createElement("tr"), [name, module] = frames[f.frame];
		for (const [text, n] of [[percent(f.self, tree.total), 1], [percent(f.total, tree.total), 1], [name, 0], [module, 0]]) {
			const cell = document.createElement("td");
			cell.textContent = text;
			if (n) cell.className = "n";
			line.append(cell);
		}
		return line;
	}));
	$("matched").textContent = matches ? "matched " + percent(matchedWeight(focus, matches), focus.total) : "";
	const clock = t => new Date(t).toLocaleTimeString(), cut = some.reduce((sum, r) => sum + r.cut, 0);
	$("range").textContent = (some.length ? clock(some[0][0] - about.delay_ms) + " – " + clock(some[some.length - 1][0]) : "no samples in this range")
		+ (range ? "" : ", live") + (cut ? ", " + cut + " samples without their inner functions" : "") + " · " + about.events + ", " + about.target;
}

function boxAt(e) {
	const y = Math.floor(e.offsetY / ROW);
	return boxes.find(b => b.y === y && e.offsetX >= b.x && e.offsetX < b.x + b.w);
}

function zoomTo(node) {
	zoomed = [];
	for (let n = node; n && n.depth > 1; n = n.parent) zoomed.unshift(n.frame);
	functions();
}

function showAll() {
	zoomed = [];
	range = null;
	draw();
	functions();
}

if (about.profile) {
	$("profile").hidden = false;
	$("flame").addEventListener("click", e => { const b = boxAt(e); if (b) zoomTo(b.node); });
	$("flame").addEventListener("pointermove", e => {
		const b = boxAt(e);
		$("about").textContent = b ? [frames[b.node.frame][0], frames[b.node.frame][1], percent(b.node.total, tree.total) + " total", percent(b.node.self, tree.total) + " self"].filter(t => t).join(" · ") : "\u00a0";
	});
	$("whole").addEventListener("click", showAll);
	$("search").addEventListener("input", functions);
	$("event").addEventListener("change", () => { zoomed = []; functions(); });
	$("span").addEventListener("change", functions);
	addEventListener("resize", functions);
	addEventListener("keydown", e => { if (e.key === "Escape") showAll(); });
}

function list(processes) {
	$("rows").replaceChildren(...processes.map(p => {
		const line = document.createElement("tr");
		for (const [text, n] of [[p.pid, 1], [p.state, 0], [p.cpu.toFixed(1), 1], [number(p.memory, "bytes").replace(" bytes", ""), 1], [p.command, 0]]) {
			const cell = document.createElement("td");
			cell.textContent = text;
			if (n) cell.className = "n";
			line.append(cell);
		}
		return line;
	}));
}

function take(answer) {
	if (answer.generation !== generation) {
		({ generation, columns } = answer);
		rows = [];
		frames = [];
		zoomed = [];
		held = 0;
		build();
	}
	if (about.profile) {
		for (const f of answer.frames) frames.push(f);
		answer.rows.forEach((r, i) => { r.nodes = answer.stacks[i]; r.cut = answer.cut[i]; held += r.nodes.length; });
		while (held > HELD_MAX && rows.length) held -= rows.shift().nodes.length;
		({ over } = answer);
	}
	rows.push(...answer.rows);
	if (rows.length > ROWS_MAX) rows.splice(0, rows.length - ROWS_MAX);
	list(answer.processes);
	draw();
	if (answer.rows.length && !answer.more) functions();
	return answer.more;
}

function say(text, bad) {
	$("state").textContent = text;
	$("state").className = bad ? "bad" : "";
}

async function ask() {
	if (!paused) {
		const since = rows.length ? rows[rows.length - 1][0] : 0;
		try {
			const q = new URLSearchParams({ since, generation });
			if (about.profile) q.set("frames", frames.length);
			if (token) q.set("token", token);
			const r = await fetch("data?" + q, { cache: "no-store" });
			if (!r.ok) throw new Error((await r.text()).trim());
			const more = take(await r.json());
			failures = 0;
			answers++;
			say(about.host + " · every " + about.delay_ms / 1000 + " s" + (over ? " · all tasks have ended" : ""));
			if (more) return setTimeout(ask, 0);
		} catch (e) {
			failures++;
			say("no answer: " + e.message, true);
		}
	}
	setTimeout(ask, failures ? SILENT_MS : Math.max(about.delay_ms, 200));
}

function pause() {
	paused = !paused;
	$("pause").setAttribute("aria-pressed", paused);
	$("pause").textContent = paused ? "Go on" : "Pause";
}
const dark = on => document.documentElement.classList.toggle("dark", on);
dark(matchMedia("(prefers-color-scheme: dark)").matches);
$("pause").addEventListener("click", pause);
$("theme").addEventListener("click", () => { dark(); draw(); });
$("span").addEventListener("change", draw);
addEventListener("resize", draw);
addEventListener("keydown", e => {
	if (e.ctrlKey || e.metaKey || e.altKey || ["SELECT", "BUTTON", "INPUT"].includes(e.target.tagName)) return;
	if (e.key === " ") { e.preventDefault(); pause(); }
	if (e.key === "d") { dark(); draw(); }
});
window.sonde = { get answers() { return answers; }, get rows() { return rows; }, get columns() { return columns; }, get charts() { return figures.length; },
	get frames() { return frames; }, get boxes() { return boxes.map(b => ({ name: frames[b.node.frame][0], kind: KINDS[frames[b.node.frame][2]], x: b.x, w: b.w, y: b.y })); }, get range() { return range; } };
ask();
})();
