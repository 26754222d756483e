#!/usr/bin/env python3
"""l2mt fit of tables in which tasks have one row or one class, beside what else could be done.

    borrow.py BINARY SPLITS FILE.npz:ROWS...

FILE has X, y and task; ROWS of every task are to learn from as they come, and of a regression one
row of a third of the tasks. Errors of the rest are means over the splits, of the tasks that borrow
and of the others: RMSE, or the log loss of tasks and their AUC.
"""
import csv, subprocess, sys, tempfile
import numpy as np
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

binary, splits, work = sys.argv[1], int(sys.argv[2]), tempfile.mkdtemp()


def predicted(X, y, task, learn, rest, flags):
    for name, rows in (("train", learn), ("test", rest)):
        with open(f"{work}/{name}.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["task"] + ["f%d" % j for j in range(X.shape[1])] + ["y"] * (name == "train"))
            for k in rows:
                w.writerow(["t%d" % task[k]] + ["%.7g" % v for v in X[k]] + ["%.9g" % y[k]] * (name == "train"))
    kind = "classification" if set(y) == {0, 1} else "regression"
    subprocess.run([binary, "-q", "fit", f"{work}/train.csv", "--task", "task", "--target", "y", "--kind", kind, "--out", f"{work}/m", *flags], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([binary, "-q", "predict", "--model", f"{work}/m", f"{work}/test.csv", "--out", f"{work}/p.csv"], check=True)
    rows = list(csv.DictReader(open(f"{work}/p.csv")))
    return np.array([float(r["prediction" if kind == "regression" else "probability of 1"]) for r in rows])


def errors(y, p, task):
    if not set(y) <= {0, 1}:
        return (np.sqrt(((y - p) ** 2).mean()),)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    loss = -np.where(y > 0, np.log(p), np.log(1 - p))
    of = [(y[task == t], p[task == t]) for t in np.unique(task)]
    return np.mean([loss[task == t].mean() for t in np.unique(task)]), np.mean([roc_auc_score(a, b) for a, b in of if len(set(a)) == 2])


for name in sys.argv[3:]:
    path, rows = name.rsplit(":", 1)
    z = np.load(path)
    X, y, task, found = z["X"].astype(float), z["y"].astype(float), z["task"], {}
    classes = set(y) == {0, 1}
    for s in range(splits):
        r, learn, borrow = np.random.default_rng(900 + s), [], []
        for t in np.unique(task):
            k = r.permutation(np.flatnonzero(task == t))
            n = min(int(rows), len(k) // 2)
            if not classes and r.random() < 1 / 3:
                n = 1
            learn += list(k[:n])
            if n == 1 or classes and len(set(y[k[:n]])) < 2:
                borrow.append(t)
        learn = np.array(learn)
        rest = np.setdiff1d(np.arange(len(y)), learn)
        Z = np.c_[StandardScaler().fit(X[learn]).transform(X), task[:, None] == np.unique(task)]
        ridge = RidgeCV(np.logspace(-2, 4, 13)) if not classes else LogisticRegressionCV(Cs=8, scoring="neg_log_loss", max_iter=2000)
        ridge.fit(Z[learn], y[learn])
        fit = lambda *flags: predicted(X, y, task, learn, rest, flags)
        for what, p in (
            ("L2MT", fit()),
            ("L2MT without them, and as new tasks there", fit("--skip-tasks")),
            ("STL", fit("--model", "stl")),
            ("pooled", fit("--model", "pooled")),
            ("the mean of all", np.full(len(rest), y[learn].mean())),
            ("ridge with the task as a category", ridge.predict_proba(Z[rest])[:, 1] if classes else ridge.predict(Z[rest])),
        ):
            for who, rows_of in (("borrow", np.isin(task[rest], borrow)), ("others", ~np.isin(task[rest], borrow))):
                found.setdefault((who, what), []).append(errors(y[rest][rows_of], p[rows_of], task[rest][rows_of]))
    for (who, what), e in sorted(found.items()):
        print(name, who, what, np.round(np.mean(e, 0), 4), flush=True)
