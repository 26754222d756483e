#!/usr/bin/env python3
"""The picture of the README: error on test rows over the labelled rows a task.

    rows.py BINARY DATA OUT.svg [SPLITS]

DATA has school.npz and parkinsons.npz (X, y, task). Methods are l2mt fit by default, the same with
--model stl and with --model pooled, and scikit-learn's boosting with the task as a column. Errors are
RMSE on all rows that are not learned from, means over the splits.
"""
import csv, subprocess, sys, tempfile
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

binary, data, out = sys.argv[1:4]
splits, work = int((sys.argv[4:] or [3])[0]), tempfile.mkdtemp()
sets = [("School: exam scores, 139 schools", "school", [3, 6, 11, 22, 44]), ("Parkinson's: motor score, 42 patients", "parkinsons", [5, 10, 20, 40])]
methods = {"L2MT": [], "every task alone, straight": ["--model", "stl"], "one model for all": ["--model", "pooled"], "boosting": None}


def l2mt(X, y, task, learn, rest, flags):
    for name, rows in (("train", learn), ("test", rest)):
        with open(f"{work}/{name}.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["task"] + ["f%d" % j for j in range(X.shape[1])] + ["y"] * (name == "train"))
            w.writerows(["t%d" % task[k]] + ["%.7g" % v for v in X[k]] + ["%.9g" % y[k]] * (name == "train") for k in rows)
    subprocess.run([binary, "-q", "fit", f"{work}/train.csv", "--task", "task", "--target", "y", "--kind", "regression", "--out", f"{work}/m", *flags], check=True, capture_output=True)
    subprocess.run([binary, "-q", "predict", "--model", f"{work}/m", f"{work}/test.csv", "--out", f"{work}/p.csv"], check=True)
    return np.array([float(r["prediction"]) for r in csv.DictReader(open(f"{work}/p.csv"))])


def errors(name, rows):
    z = np.load(f"{data}/{name}.npz")
    X, y, task, found = z["X"].astype(float), z["y"].astype(float), z["task"], {m: [] for m in methods}
    y = y[:, 0] if y.ndim > 1 else y
    for s in range(splits):
        r = np.random.default_rng(900 + s)
        learn = np.concatenate([(k := r.permutation(np.flatnonzero(task == t)))[: min(rows, len(k) // 2)] for t in np.unique(task)])
        rest = np.setdiff1d(np.arange(len(y)), learn)
        for m, flags in methods.items():
            if flags is None:
                Z = np.c_[X, task]
                p = HistGradientBoostingRegressor(random_state=0).fit(Z[learn], y[learn]).predict(Z[rest])
            else:
                p = l2mt(X, y, task, learn, rest, flags)
            found[m].append(np.sqrt(((p - y[rest]) ** 2).mean()))
    return {m: np.mean(v) for m, v in found.items()}


def panel(title, rows, found, left):
    """One chart of 400 x 300, both axes logarithmic."""
    values = [v for e in found for v in e.values()]
    x = lambda n: left + 56 + 300 * np.log(n / rows[0]) / np.log(rows[-1] / rows[0])
    low, high = min(values) * 0.9, max(values) * 1.1
    y = lambda v: 262 - 210 * np.log(v / low) / np.log(high / low)
    s = [f'<text x="{left + 56}" y="30" class="title">{title}</text>']
    for v in [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 11, 12, 14, 17, 20, 50) if low <= t <= high]:
        s.append(f'<path d="M{left + 56} {y(v):.1f}h300" class="grid"/><text x="{left + 48}" y="{y(v) + 4:.1f}" class="end">{v:g}</text>')
    for n in rows:
        s.append(f'<text x="{x(n):.1f}" y="282" class="middle">{n}</text>')
    s.append(f'<text x="{left + 206}" y="302" class="middle">labelled rows a task</text>')
    for k, m in enumerate(methods):
        points = [f"{x(n):.1f},{y(e[m]):.1f}" for n, e in zip(rows, found)]
        s.append(f'<polyline points="{" ".join(points)}" class="m{k}"/>' + "".join('<circle cx="%s" cy="%s" r="%d" class="m%d"/>' % (*p.split(","), 4 if k == 0 else 3, k) for p in points))
    return "".join(s)


body = ""
for i, (title, name, rows) in enumerate(sets):
    found = [errors(name, n) for n in rows]
    for n, e in zip(rows, found):
        print(name, n, "  ".join(f"{m} {v:.3f}" for m, v in e.items()), flush=True)
    body += panel(title, rows, found, 400 * i)
legend = "".join(f'<circle cx="{64 + 200 * k}" cy="336" r="4" class="m{k}"/><text x="{76 + 200 * k}" y="341">{m}</text>' for k, m in enumerate(methods))
open(out, "w").write(f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 356" font-family="system-ui, sans-serif" font-size="13">
<style>
text {{ fill: #222 }} .title {{ font-size: 15px; font-weight: 600 }} .end {{ text-anchor: end }} .middle {{ text-anchor: middle }}
.grid {{ stroke: #ddd }} polyline {{ fill: none; stroke-width: 1.6 }} polyline.m0 {{ stroke-width: 3 }}
.m0 {{ stroke: #0072b2 }} .m1 {{ stroke: #e69f00 }} .m2 {{ stroke: #8a8a8a }} .m3 {{ stroke: #009e73 }}
circle.m0 {{ fill: #0072b2 }} circle.m1 {{ fill: #e69f00 }} circle.m2 {{ fill: #8a8a8a }} circle.m3 {{ fill: #009e73 }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e6e6e6 }} .grid {{ stroke: #444 }} .m0 {{ stroke: #56b4e9 }} circle.m0 {{ fill: #56b4e9 }} }}
</style>
<text x="8" y="52" font-size="12">RMSE</text>
{body}{legend}
</svg>
""")
