#!/usr/bin/env python3
"""Does the work of `l2mt collect` again with SciPy, and compares seconds of CPU time and
relative errors:

    l2mt problems sample --dataset news.npz --train 2 --train-fraction 0.15 --validation-fraction 0.15 --out problems
    testdata/collecting.py L2MT news.npz problems/train.json

For every covariance of the experience Lambda1 is chosen among LambdaGrid's twelve values
on the validation rows, each fit by L-BFGS from the last, and the test error taken over that
of single-task learning. L2MT makes the covariances too, those of classic models among them."""
import glob, json, os, resource, subprocess, sys, tempfile, time
import numpy as np, scipy.sparse as sp
from scipy.optimize import minimize

l2mt, dataset, problems = sys.argv[1:4]
z = np.load(dataset)
X = sp.csr_matrix((z["data"].astype(float), z["indices"], z["indptr"]), shape=z["shape"])
y, classes = z["y"] - z["y"].min(), [str(c) for c in z["classes"]]


def cpu(who):
    return resource.getrusage(who).ru_utime


def rows(task, part):
    index = np.array(task[part])
    return X[index], np.where(y[index] == classes.index(task["positive"]), 1.0, -1.0)


def fit(tasks, root, lambda1, at):
    """sum of mean logistic losses + lambda1/2 ||V||^2 with W = V root, root root = Omega."""
    d, m = tasks[0][0].shape[1], len(tasks)

    def value(u):
        V, b = u[: d * m].reshape(d, m), u[d * m :]
        W, slope, bias, loss = V @ root, np.empty((d, m)), np.empty(m), lambda1 / 2 * (V**2).sum()
        for i, (x, t) in enumerate(tasks):
            f = t * (x @ W[:, i] + b[i])
            loss += np.logaddexp(0, -f).mean()
            g = -t / (1 + np.exp(np.clip(f, -500, 500))) / len(t)
            slope[:, i], bias[i] = x.T @ g, g.sum()
        return loss, np.concatenate([(slope @ root + lambda1 * V).ravel(), bias])

    u = minimize(value, at, jac=True, method="L-BFGS-B", options=dict(maxiter=200, gtol=1e-6, ftol=1e-8)).x
    return u, u[: d * m].reshape(d, m) @ root, u[d * m :]


def error(tasks, W, b):
    return np.mean([np.mean((x @ W[:, i] + b[i] >= 0) != (t > 0)) for i, (x, t) in enumerate(tasks)])


def refit(problem, omega):
    train, validation, test = ([rows(t, part) for t in problem["tasks"]] for part in ("train", "validation", "test"))
    mu, U = np.linalg.eigh(omega)
    root = (U * np.sqrt(np.maximum(mu, 0))) @ U.T
    size = np.mean(np.concatenate([x.multiply(x).sum(1).A1 for x, _ in train]))
    at, best = np.zeros((X.shape[1] + 1) * len(train)), None
    for lambda1 in size * 10.0 ** (-6 + np.arange(11, -1, -1) / 2):
        at, W, b = fit(train, root, lambda1, at)
        e = error(validation, W, b)
        if best is None or e < best[0]:
            best = e, error(test, W, b)
    return best[1]


with tempfile.TemporaryDirectory() as out:
    begin = cpu(resource.RUSAGE_CHILDREN)
    subprocess.run([l2mt, "-q", "collect", "--problems", problems, "--models", "snr2,ssnr2,mtrl", "--explore", "8", "--workers", "1", "--out", out, "--allow-outside"], check=True, stdout=subprocess.DEVNULL)
    ours = cpu(resource.RUSAGE_CHILDREN) - begin
    records = [json.loads(line) for f in glob.glob(out + "/shard-*.jsonl") for line in open(f)]
of = {p["name"]: p for p in json.load(open(problems))["problems"]}
begin = cpu(resource.RUSAGE_SELF)
stl = {name: refit(p, np.eye(len(p["tasks"])) / len(p["tasks"])) for name, p in of.items()}
theirs = [refit(of[r["problem"]], np.array(r["omega"])) / stl[r["problem"]] for r in records if r["source"] != "stl"]
seconds = cpu(resource.RUSAGE_SELF) - begin
apart = np.abs(np.array(theirs) - [r["result"]["o"] for r in records if r["source"] != "stl"])
print(f"{len(records)} tuples: l2mt {ours:.2f} s of CPU time, SciPy {seconds:.2f} s, {seconds / ours:.1f} times as many")
print(f"relative errors differ by {np.median(apart):.4f} (median), {apart.max():.4f} at most")
