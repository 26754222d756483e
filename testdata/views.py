#!/usr/bin/env python3
"""l2mt fit and predict on tables, without parts of it, beside scikit-learn on the same rows.

    views.py BINARY SPLITS SET...

A SET is FILE.npz:ROWS with X, y and task (ROWS a task to learn from), or FILE.csv.gz with the columns
x* and the targets y* (two thirds of the rows to learn from). Errors are means over the splits: RMSE,
1 - AUC of tasks where y has two values, or of tables RMSE over that of the training mean. Rows are
L2MT, the same with straight columns and without sharing, and ridge with one-hot tasks, forest, extra
trees and boosting.
"""
import csv, gzip, json, re, subprocess, sys, tempfile
import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

binary, splits, work = sys.argv[1], int(sys.argv[2]), tempfile.mkdtemp()


def load(name, split):
    """X, targets, tasks or None, rows to learn from, rows to predict."""
    r = np.random.default_rng(700 + split)
    if ".npz" in name:
        path, rows = name.rsplit(":", 1)
        z = np.load(path)
        X, y, task, learn = z["X"].astype(float), z["y"].astype(float), z["task"], []
        y = y[:, :1] if y.ndim > 1 else y[:, None]
        for t in np.unique(task):
            k = np.flatnonzero(task == t)
            p, n = r.permutation(k), min(int(rows), len(k) // 2)
            while set(y[:, 0]) == {0, 1} and len(set(y[p[:n], 0])) < 2:
                p = r.permutation(k)
            learn += list(p[:n])
        return X, y, task, np.array(learn), np.setdiff1d(np.arange(len(y)), learn)
    rows = list(csv.reader(gzip.open(name, "rt")))
    head, rows = rows[0], rows[1:]
    d, columns = sum(h.startswith("x") for h in head), []
    for j in range(d):
        if any(r[j][:1] == "v" for r in rows):
            columns += [[float(r[j] == v) for r in rows] for v in sorted({r[j] for r in rows})]
        else:
            columns.append([float(r[j]) if r[j] else np.nan for r in rows])
    X, y, order = np.array(columns).T, np.array([[float(v) for v in r[d:]] for r in rows]), r.permutation(len(rows))
    learn, rest = order[: 2 * len(y) // 3], order[2 * len(y) // 3 :]
    return np.where(np.isnan(X), np.nan_to_num(np.nanmean(X[learn], 0)), X), y, None, learn, rest


def error(y, p, task, base):
    if task is None:
        return np.mean((np.sqrt(((y - p) ** 2).mean(0)) / base)[base > 0])
    if set(y[:, 0]) == {0, 1}:
        return 1 - np.mean([roc_auc_score(y[task == t, 0], p[task == t, 0]) for t in np.unique(task) if len(set(y[task == t, 0])) == 2])
    return np.sqrt(((y - p) ** 2).mean())


def l2mt(X, y, task, learn, rest, flags):
    """What is predicted of the rest, and the name of the model."""
    targets = ["y%d" % j for j in range(y.shape[1])]
    for name, rows, of in (("train", learn, targets), ("test", rest, [])):
        with open(f"{work}/{name}.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["task"] * (task is not None) + ["f%d" % j for j in range(X.shape[1])] + of)
            for k in rows:
                w.writerow(([] if task is None else ["t%d" % task[k]]) + ["%.7g" % v for v in X[k]] + ["%.9g" % v for v in y[k]][: len(of)])
    classes = set(y[:, 0]) == {0, 1}
    ask = [binary, "--json", "-q", "fit", f"{work}/train.csv", "--out", f"{work}/m", "--target", "y*", "--kind", "classification" if classes else "regression"]
    fit = subprocess.run(ask + (["--task", "task"] if task is not None else []) + flags, capture_output=True, text=True, check=True)
    subprocess.run([binary, "-q", "predict", "--model", f"{work}/m", f"{work}/test.csv", "--out", f"{work}/p.csv"], check=True)
    p = list(csv.DictReader(open(f"{work}/p.csv")))
    columns = targets if task is None and len(targets) > 1 else ["probability of 1"] if classes else ["prediction"]
    return np.array([[float(r[c]) for c in columns] for r in p]), json.loads(fit.stdout)["model"]


for name in sys.argv[3:]:
    errors, chosen = {}, []
    for s in range(splits):
        X, y, task, learn, rest = load(name, s)
        base = np.sqrt(((y[rest] - y[learn].mean(0)) ** 2).mean(0))
        judge = lambda what, p: errors.setdefault(what, []).append(error(y[rest], p.reshape(len(rest), -1), None if task is None else task[rest], base))
        p, model = l2mt(X, y, task, learn, rest, [])
        judge("l2mt", p)
        chosen.append(model)
        view = re.match("straight|curves|kernel", model)
        judge("straight", l2mt(X, y, task, learn, rest, ["--view", "straight"])[0])
        judge("no sharing", l2mt(X, y, task, learn, rest, ["--model", view.group() + "-alone" if view else "stl"])[0])
        one = np.zeros((len(y), 0)) if task is None else (task[:, None] == np.unique(task)).astype(float)
        Z = np.c_[X, one]
        for what, m in (("ridge", make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))), ("forest", RandomForestRegressor(200, random_state=0)), ("extra trees", ExtraTreesRegressor(200, random_state=0))):
            judge(what, np.asarray(m.fit(Z[learn], y[learn] if y.shape[1] > 1 else y[learn, 0]).predict(Z[rest])))
        judge("boosting", np.stack([HistGradientBoostingRegressor(random_state=0).fit(Z[learn], y[learn, j]).predict(Z[rest]) for j in range(y.shape[1])], 1))
    print(name, "  ".join(f"{k} {np.mean(v):.4f}" for k, v in errors.items()), " ".join(sorted(set(chosen))), flush=True)
