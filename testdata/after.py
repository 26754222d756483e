#!/usr/bin/env python3
"""l2mt fit --after and predict --adapt on new tasks, beside what the old rows bring otherwise.

    after.py BINARY DATA [SPLITS]

DATA has classics/*.npz (X, y, task) and tables/*.csv.gz (columns x*, targets y*). Half of the tasks are
old, with all of their rows; of a table of targets they have other rows. The others have so few rows as the
name of the set says, and are measured on the rest: RMSE, of Landmine 1 - AUC, means over the splits. The
ratio is the geometric mean over "new rows alone", the last number seconds of processor time.
"""
import csv, gzip, os, resource, subprocess, sys, tempfile
import numpy as np
from scipy.stats import rankdata

binary, data, work = sys.argv[1], sys.argv[2], tempfile.mkdtemp()
splits = int((sys.argv[3:] or [5])[0])
SETS = [("school", 3), ("school", 6), ("parkinsons", 10), ("parkinsons", 28), ("wq", 20), ("oes97", 20), ("landmine", 10)]
WAYS = ["new rows alone", "and some old rows", "and all old rows", "fit --after", "predict --adapt"]


def load(name):
    """Rows and targets of every task."""
    if os.path.exists(path := f"{data}/classics/{name}.npz"):
        z = np.load(path)
        y = z["y"].astype(float)
        y = y if y.ndim == 1 else y[:, 0]
        return [(z["X"][z["task"] == t].astype(float), y[z["task"] == t]) for t in np.unique(z["task"])]
    head, *rows = csv.reader(gzip.open(f"{data}/tables/{name}.csv.gz", "rt"))
    d = sum(h.startswith("x") for h in head)
    M = np.array([[float(v) if v not in ("", "?") else np.nan for v in r] for r in rows])
    X = np.where(np.isnan(M[:, :d]), np.nanmean(M[:, :d], 0), M[:, :d])
    X, Y = X[:, X.std(0) > 0], (M[:, d:] - M[:, d:].mean(0)) / M[:, d:].std(0)
    return [(X, Y[:, j]) for j in range(Y.shape[1])]


def split(name, k, seed):
    """Old tasks, the few rows of new ones, and the rest of these."""
    tasks, r = load(name), np.random.default_rng(900 + seed)
    order, half = r.permutation(len(tasks)), 14 if name == "landmine" else len(tasks) // 2
    old, new, few, rest = [tasks[i] for i in order[:half]], [tasks[i] for i in order[half:]], [], []
    same = all(X is tasks[0][0] for X, _ in tasks)
    rows = r.permutation(len(tasks[0][1])) if name != "landmine" else None
    end = len(rows) // 2 if same else None
    for X, y in new:
        q = rows if same else r.permutation(len(y))
        n = min(k, len(y) // 2)
        while name == "landmine" and len(set(y[q[:n]])) < 2:
            q = r.permutation(len(y))
        few.append((X[q[:n]], y[q[:n]]))
        rest.append((X[q[n:end]], y[q[n:end]]))
    return [(X[rows[end:]], y[rows[end:]]) for X, y in old] if same else old, few, rest


def write(name, *parts):
    with open(f"{work}/{name}.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["task"] + ["f%d" % j for j in range(parts[0][1][0][0].shape[1])] + ["y"])
        for kind, tasks in parts:
            for i, (X, y) in enumerate(tasks):
                w.writerows(["%s%d" % (kind, i)] + ["%.8g" % v for v in x] + ["%.9g" % v] for x, v in zip(X, y))


def run(*args):
    """Seconds of processor time that the program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([binary, "-q", *args], check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def error(rest, classes):
    rows = list(csv.DictReader(open(f"{work}/p.csv")))
    y, task = np.concatenate([y for _, y in rest]), np.repeat(np.arange(len(rest)), [len(y) for _, y in rest])
    p = np.array([float(r["probability of 1" if classes else "prediction"]) for r in rows])
    if not classes:
        return np.sqrt(((p - y) ** 2).mean())
    areas = []
    for t in range(len(rest)):
        u, n = rankdata(p[task == t]), (y[task == t] > 0).sum()
        areas.append((u[y[task == t] > 0].sum() - n * (n + 1) / 2) / (n * (len(u) - n)))
    return 1 - np.mean(areas)


errors, seconds = {w: [] for w in WAYS}, {w: [] for w in WAYS}
for name, k in SETS:
    found = {w: [] for w in WAYS}
    for s in range(splits):
        old, few, rest = split(name, k, s)
        some = 20 if len(old) > 40 else 60
        write("old", ("o", old))
        write("new", ("n", few))
        write("some", ("o", [(X[:some], y[:some]) for X, y in old]), ("n", few))
        write("all", ("o", old), ("n", few))
        write("rest", ("n", rest))
        classes = name == "landmine"
        fit = lambda table, out, *more: run("fit", f"{work}/{table}.csv", "--task", "task", "--target", "y", "--kind",
                                            "classification" if classes else "regression", "--out", f"{work}/{out}", *more)
        fit("old", "before")
        for way in WAYS:
            if way == "predict --adapt":
                t = run("predict", "--model", f"{work}/before", "--adapt", f"{work}/new.csv", f"{work}/rest.csv", "--out", f"{work}/p.csv")
            else:
                table = {"and some old rows": "some", "and all old rows": "all"}.get(way, "new")
                t = fit(table, "m", *(["--after", f"{work}/before"] if way == "fit --after" else []))
                run("predict", "--model", f"{work}/m", f"{work}/rest.csv", "--out", f"{work}/p.csv")
            found[way].append(error(rest, classes))
            seconds[way].append(t)
    for way in WAYS:
        errors[way].append(np.mean(found[way]))
    print(name, k, "  ".join(f"{w} {errors[w][-1]:.3f}" for w in WAYS), flush=True)
for way in WAYS:
    ratio = np.exp(np.mean(np.log(np.array(errors[way]) / errors[WAYS[0]])))
    print(f"| {way} | " + " | ".join(f"{e:.3f}" for e in errors[way]) + f" | {ratio:.3f} | {np.mean(seconds[way]):.2f} |")
