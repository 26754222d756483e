#!/usr/bin/env python3
"""Times single fits of l2mt beside liblinear and cvxopt, turn by turn on one thread, and
prints medians of the seconds of the fits alone with the objectives reached:

    OPENBLAS_NUM_THREADS=1 testdata/solvers.py L2MT 20newsgroups.svmlight.gz [ROUNDS]

stl     six pairs of newsgroups, all words, rows of length 1, the weight 1e-4 on
        ||w||^2/2 of every task, against liblinear (scikit-learn, tolerance 1e-4, which
        penalises the intercept)
spats   8 regression tasks of 30 rows and 8 features, Lambda1 = Lambda2, against one cone
        program of cvxopt to 1e-6, the making of its matrices not counted"""
import json, os, statistics, subprocess, sys, tempfile, time, warnings
import numpy as np
from cvxopt import matrix, solvers, spmatrix
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
solvers.options.update(show_progress=False, reltol=1e-6, abstol=1e-9, feastol=1e-7)
l2mt, news, rounds = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3


def run(*args):
    return subprocess.run([l2mt, "-q", *args], check=True, stdout=subprocess.PIPE).stdout


def fit(dataset, tasks, model, *options):
    """The seconds and the objective of one fit by l2mt."""
    with open("problem.json", "w") as f:
        json.dump({"schema": 1, "dataset": {"path": dataset}, "problems": [{"name": "p", "tasks": tasks}]}, f)
    made = json.loads(run("fit", "--problems", "problem.json", "--model", model, "--workers", "1", "--json", *options))[0]
    return made["seconds"], made["objective"]


def timed(f):
    begin = time.process_time()
    value = f()
    return time.process_time() - begin, value


def compare(what, ours, theirs, peer):
    turns = [(ours(), theirs()) for _ in range(rounds)]
    a, b = (statistics.median(t[k][0] for t in turns) for k in (0, 1))
    print(f"{what}: l2mt {a:.4f} s, {peer} {b:.4f} s, {b / a:.2f} times as long; objectives {turns[0][0][1]:.9g}, {turns[0][1][1]:.9g}")


def split(rows):
    """Rows to train on; l2mt wants two to validate and two to test, too."""
    rows = rows.tolist()
    return {"validation": rows[:1] + rows[-1:], "test": rows[1:2] + rows[-2:-1], "train": rows[2:-2]}


def liblinear(x, y, tasks, weight):
    def all():
        objective = 0
        for t in tasks:
            xi, yi = x[t["train"]], np.where(y[t["train"]] == float(t["positive"]), 1.0, -1.0)
            m = LogisticRegression(C=1 / (weight * len(yi)), solver="liblinear", tol=1e-4, max_iter=10000).fit(xi, yi)
            f = xi @ m.coef_.ravel() + m.intercept_
            objective += np.mean(np.logaddexp(0, -yi * f)) + weight / 2 * (m.coef_ @ m.coef_.T).item()
        return objective

    return timed(all)


def cone(tasks, l1, l2):
    """min sum_i 1/n_i ||y - X w - b||^2 + l1/2 tr(T) + l2 (tr Omega + 2 sum |Omega_ij|)
    over [[Omega, W'], [W, T]] >= 0, tr Omega = 1"""
    m, d = len(tasks), tasks[0][0].shape[1]
    triangle = lambda k: [(i, j) for j in range(k) for i in range(j, k)]
    omega = {p: k for k, p in enumerate(triangle(m))}
    beside = [p for p in omega if p[0] != p[1]]
    first_b, first_o = d * m, d * m + m
    first_t = first_o + len(omega)
    first_abs = first_t + d * (d + 1) // 2
    n = first_abs + len(beside)
    P, q, constant = np.zeros((n, n)), np.zeros(n), 0.0
    for i, (x, y) in enumerate(tasks):
        a = np.hstack([x, np.ones((len(y), 1))])
        at = [i * d + k for k in range(d)] + [first_b + i]
        P[np.ix_(at, at)] += 2 * a.T @ a / len(y)
        q[at] -= 2 * a.T @ y / len(y)
        constant += y @ y / len(y)
    for k, (i, j) in enumerate(triangle(d)):
        q[first_t + k] = l1 / 2 * (i == j)
    for (i, j), k in omega.items():
        q[first_o + k] = l2 * (i == j)
    q[first_abs:] = 2 * l2
    entries, side = [], m + d
    for k, p in enumerate(beside):
        for row, sign in ((2 * k, 1.0), (2 * k + 1, -1.0)):
            entries += [(sign, row, first_o + omega[p]), (-1.0, row, first_abs + k)]
    lines = 2 * len(beside)

    def put(i, j, variable):
        for a, b in {(i, j), (j, i)}:
            entries.append((-1.0, lines + b * side + a, variable))

    for (i, j), k in omega.items():
        put(i, j, first_o + k)
    for k, (i, j) in enumerate(triangle(d)):
        put(m + i, m + j, first_t + k)
    for i in range(m):
        for k in range(d):
            put(m + k, i, i * d + k)
    G = spmatrix(*zip(*entries), (lines + side * side, n))
    A = spmatrix(1.0, [0] * m, [first_o + omega[i, i] for i in range(m)], (1, n))
    program = matrix(P), matrix(q), G, matrix(0.0, (lines + side * side, 1)), dict(l=lines, q=[], s=[side]), A, matrix(1.0)
    return timed(lambda: solvers.coneqp(*program)["primal objective"] + constant)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    run("data", "import", news, "--step", "unit", "--out", "news.npz")
    x, y = load_svmlight_file(news)
    x = x.multiply(1 / np.maximum(np.sqrt(x.multiply(x).sum(1)), 1e-300)).tocsr()
    names, weight, tasks = sorted(set(y)), 1e-4, []
    for a, b in zip(names[0:12:2], names[1:12:2]):
        rows = np.concatenate([np.flatnonzero(y == a), np.flatnonzero(y == b)])
        tasks.append({"name": f"{a:g} vs {b:g}", "kind": "classification", "positive": f"{a:g}", "negative": f"{b:g}", **split(rows)})
    compare("stl", lambda: fit("news.npz", tasks, "stl", f"--lambda1={weight / len(tasks)}"), lambda: liblinear(x, y, tasks, weight), "liblinear")

    rng, m, n = np.random.default_rng(1), 8, 34
    x = rng.normal(size=(m * n, 8)).astype(np.float32).astype(float)
    w = rng.normal(size=(2, 8))
    y = np.concatenate([x[i * n:][:n] @ w[i % 2] + rng.normal(size=n) for i in range(m)])
    np.savez("made.npz", X=x.astype(np.float32), y=y)
    made = [{"name": f"t{i}", "kind": "regression", **split(np.arange(i * n, i * n + n))} for i in range(m)]
    parts = [(x[t["train"]], y[t["train"]]) for t in made]
    for strength in (0.01, 1.0, 10.0):
        options = f"--lambda1={strength}", f"--lambda2={strength}"
        compare(f"spats, {strength:g}", lambda: fit("made.npz", made, "spats", *options), lambda: cone(parts, strength, strength), "cvxopt")
