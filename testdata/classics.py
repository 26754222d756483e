#!/usr/bin/env python3
"""Sets of related tasks: learn from a share of each task's rows with `l2mt fit`,
predict the rest with `l2mt predict`, over random splits.

    testdata/classics.py L2MT DATA MODEL[,MODEL...] [SPLITS [SHARE [BLOCKS]]]

Needs NumPy. DATA is an npz with X, y and task, of several targets the first, or a CSV
with y in its last column; without tasks they are so many BLOCKS of its rows. Targets of
50 different values or fewer are classes, which are shared out like the rows. Beside the
models of `l2mt fit` there are softmax and pooled-softmax, scikit-learn's logistic
regression of every task and of all. Prints, for every model, the mean over the splits
and its standard error of: the RMSE and R^2 of all test rows together and the mean of
those of the tasks; for labels 0 and 1 the mean AUC of the tasks and the AUC of all rows; for
more classes the mean error of the tasks and the error of all rows; and the median
seconds of CPU time."""
import csv, os, resource, subprocess, sys, tempfile
import numpy as np

l2mt, path, models = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
splits = int(sys.argv[4]) if len(sys.argv) > 4 else 10
share = float(sys.argv[5]) if len(sys.argv) > 5 else 0.2
if path.endswith(".npz"):
    z = np.load(path)
    X, y = z["X"], z["y"]
else:
    z = np.loadtxt(path, delimiter=",")
    X, y = z[:, :-1], z[:, -1]
task = np.arange(len(y)) * int(sys.argv[6]) // len(y) if len(sys.argv) > 6 else z["task"]
y = y[:, 0] if y.ndim > 1 else y
several = len(np.unique(y)) if len(np.unique(y)) <= 50 else 0  # classes
classes = several > 0
y = (y == y.max()) * 1.0 if several == 2 else y  # the larger one is positive


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
    if several == 2:
        return [np.nanmean([auc(prediction[e], truth[e] > 0) for e in each]), auc(prediction, truth > 0)]
    if several:
        wrong = prediction != truth
        return [np.mean([wrong[e].mean() for e in each]), wrong.mean()]
    error = prediction - truth
    return [np.sqrt(np.mean(error**2)), 1 - np.mean(error**2) / truth.var(), np.mean([np.sqrt(np.mean(error[e] ** 2)) for e in each]), np.mean([1 - np.mean(error[e] ** 2) / truth[e].var() for e in each])]


def cpu():
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def l2mt_predicts(model, seed):
    kind = "classification" if classes else "regression"
    subprocess.run([l2mt, "-q", "fit", "train.csv", "--task", "task", "--target", "y", "--kind", kind, "--model", model, "--seed", str(seed), "--out", model], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([l2mt, "-q", "predict", "--model", model, "test.csv"], check=True, capture_output=True, text=True).stdout
    column = 2 if several == 2 else 1  # the probability, or the prediction
    return np.array([float(line.split(",")[column]) for line in out.splitlines()[1:]])


def softmax_predicts(train, of):
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.preprocessing import StandardScaler

    x, prediction = StandardScaler().fit(X[train]).transform(X), np.empty(len(y))
    for t in np.unique(of):
        rows = train & (of == t)
        folds = min(5, np.unique(y[rows], return_counts=True)[1].min())
        fit = LogisticRegressionCV(Cs=np.logspace(-4, 1, 8), cv=folds, scoring="neg_log_loss", max_iter=500).fit(x[rows], y[rows])
        prediction[of == t] = fit.predict(x[of == t])
    return prediction[~train]


measured, seconds = {m: [] for m in models}, {m: [] for m in models}
with tempfile.TemporaryDirectory() as d:
    os.chdir(d)
    for seed in range(1, splits + 1):
        train = split(seed)
        write("train.csv", train)
        write("test.csv", ~train)
        for m in models:
            begin = cpu()
            if m.endswith("softmax"):
                prediction = softmax_predicts(train, task if m == "softmax" else np.zeros(len(y)))
            else:
                prediction = l2mt_predicts(m, seed)
            seconds[m].append(cpu() - begin)
            measured[m].append(measure(prediction, ~train))
            print(seed, m, *(f"{v:.4f}" for v in measured[m][-1]), f"{seconds[m][-1]:.1f} s", file=sys.stderr)
names = {0: ["RMSE", "R^2", "mean RMSE of tasks", "mean R^2 of tasks"], 2: ["mean AUC of tasks", "AUC of all rows"]}
print("  ".join(names.get(several, ["mean error of tasks", "error of all rows"])), "CPU seconds", "model", sep="  ")
for m in models:
    v = np.array(measured[m])
    s = v.std(0, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else np.full(v.shape[1], np.nan)
    print("  ".join(f"{a:.4f} ({b:.4f})" for a, b in zip(v.mean(0), s)), f"{np.median(seconds[m]):.1f}", m, sep="  ")
