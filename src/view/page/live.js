"use strict";
/* Asks for what is new every interval, keeps it, draws it. All texts go into the page as text. */
(() => {
const $ = id => document.getElementById(id);
const about = JSON.parse($("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const colours = ["#3b82c4", "#d9822b", "#4a9d5b", "#c0504d", "#8064a2", "#2aa198", "#b58900", "#d33682"];
const ROWS_MAX = 8192, SILENT_MS = 3000;
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
			f.canvas.addEventListener("pointermove", e => { hover = e.offsetX / f.canvas.clientWidth; draw(); });
			f.canvas.addEventListener("pointerleave", () => { hover = null; draw(); });
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
		c.fillStyle = style.getPropertyValue("--soft");
		c.font = "11px system-ui, sans-serif";
		c.fillText(number(top, f.unit), 5, 12);
		if (pick >= 0) {
			const when = new Date(some[pick][0]).toLocaleTimeString();
			c.fillText(when, w - c.measureText(when).width - 5, 12);
		}
	}
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
		build();
	}
	rows.push(...answer.rows);
	if (rows.length > ROWS_MAX) rows.splice(0, rows.length - ROWS_MAX);
	list(answer.processes);
	draw();
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
			if (token) q.set("token", token);
			const r = await fetch("data?" + q, { cache: "no-store" });
			if (!r.ok) throw new Error((await r.text()).trim());
			take(await r.json());
			failures = 0;
			answers++;
			say(about.host + " · every " + about.delay_ms / 1000 + " s");
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
	if (e.ctrlKey || e.metaKey || e.altKey || ["SELECT", "BUTTON"].includes(e.target.tagName)) return;
	if (e.key === " ") { e.preventDefault(); pause(); }
	if (e.key === "d") { dark(); draw(); }
});
window.sonde = { get answers() { return answers; }, get rows() { return rows; }, get columns() { return columns; }, get charts() { return figures.length; } };
ask();
})();
