#!/usr/bin/env python3
"""The classic sets of multitask learning: learn from a share of each task's rows
with `l2mt fit`, predict the rest with `l2mt predict`, over random splits.

    testdata/classics.py L2MT DATA.npz MODEL[,MODEL...] [SPLITS [SHARE]]

Needs NumPy. DATA has X, y and task; of several targets the first is taken. Classes
are shared out like the rows. Prints, for every model, the mean over the splits and
its standard error of: the RMSE and R^2 of all test rows together and the mean RMSE of
the tasks, or for labels 0 and 1 the mean AUC of the tasks and the AUC of all rows;
and the median seconds of a fit."""
import csv, os, subprocess, sys, tempfile, time
import numpy as np

l2mt, path, models = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
splits = int(sys.argv[4]) if len(sys.argv) > 4 else 10
share = float(sys.argv[5]) if len(sys.argv) > 5 else 0.2
z = np.load(path)
X, y, task = z["X"], z["y"], z["task"]
y = y[:, 0] if y.ndim > 1 else y
classes = len(np.unique(y)) == 2


def split(seed):
    """The rows to learn from."""
    rng, train = np.random.default_rng(seed), np.zeros(len(y), bool)
    for t in np.unique(task):
        for c in np.unique(y) if classes else [None]:
            rows = np.flatnonzero((task == t) & ((y == c) if classes else True))
            train[rng.permutation(rows)[: max(2, round(share * len(rows)))]] = True
    return train


def write(name, rows):
    with open(name, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow([f"x{j}" for j in range(X.shape[1])] + ["task", "y"])
        for i in np.flatnonzero(rows):
            w.writerow([repr(float(v)) for v in X[i]] + [task[i], int(y[i]) if classes else repr(float(y[i]))])


def auc(score, positive):
    if positive.all() or not positive.any():
        return np.nan
    order = np.argsort(score, kind="stable")
    rank, ranked = np.empty(len(score)), score[order]
    rank[order] = np.arange(1, len(score) + 1)
    for v in np.unique(ranked[1:][np.diff(ranked) == 0]):
        rank[score == v] = rank[score == v].mean()
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n))


def measure(prediction, rows):
    truth, of = y[rows], task[rows]
    each = [of == t for t in np.unique(of)]
    if classes:
        return [np.nanmean([auc(prediction[e], truth[e] > 0) for e in each]), auc(prediction, truth > 0)]
    error = prediction - truth
    return [np.sqrt(np.mean(error**2)), 1 - np.mean(error**2) / truth.var(), np.mean([np.sqrt(np.mean(error[e] ** 2)) for e in each])]


measured, seconds = {m: [] for m in models}, {m: [] for m in models}
with tempfile.TemporaryDirectory() as d:
    os.chdir(d)
    for seed in range(1, splits + 1):
        train = split(seed)
        write("train.csv", train)
        write("test.csv", ~train)
        for m in models:
            begin = time.time()
            subprocess.run([l2mt, "-q", "fit", "train.csv", "--task", "task", "--target", "y", "--model", m, "--seed", str(seed), "--out", m], check=True, stdout=subprocess.DEVNULL)
            seconds[m].append(time.time() - begin)
            out = subprocess.run([l2mt, "-q", "predict", "--model", m, "test.csv"], check=True, capture_output=True, text=True).stdout
            column = 2 if classes else 1  # the probability, or the prediction
            prediction = np.array([float(line.split(",")[column]) for line in out.splitlines()[1:]])
            measured[m].append(measure(prediction, ~train))
            print(seed, m, *(f"{v:.4f}" for v in measured[m][-1]), f"{seconds[m][-1]:.1f} s", file=sys.stderr)
print("  ".join(["mean AUC of tasks", "AUC of all rows"] if classes else ["RMSE", "R^2", "mean RMSE of tasks"]), "seconds", "model", sep="  ")
for m in models:
    v = np.array(measured[m])
    s = v.std(0, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else np.full(v.shape[1], np.nan)
    print("  ".join(f"{a:.4f} ({b:.4f})" for a, b in zip(v.mean(0), s)), f"{np.median(seconds[m]):.1f}", m, sep="  ")
