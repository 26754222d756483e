#!/usr/bin/env python3
"""Times l2mt beside pandas, NumPy and scikit-learn, turn by turn, and prints medians of
the seconds that passed and of those of CPU time:

    testdata/peers.py L2MT SCHOOL.npz [ROUNDS]

predict   10^6 rows of 64 columns of a CSV, against pandas.read_csv, a product with NumPy
          and to_csv of the result
fit       School, 5 folds, 12 values of lambda1: `l2mt fit --model stl` (with the pooled
          model that it prints beside, and the fit on all rows), against RidgeCV(cv=5)
          for every task
folds     the same with 5 folds against one part of the rows to validate: 5 times the
          work, and the fit on all rows"""
import os, resource, statistics, subprocess, sys, tempfile, time, warnings
import numpy as np, pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")  # of matrices that are ill-conditioned at the least alphas
l2mt, school, rounds = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3


def cpu():
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(f):
    begin, used = time.time(), cpu()
    f()
    return time.time() - begin, cpu() - used


def run(*args):
    subprocess.run([l2mt, "-q", *args], check=True, stdout=subprocess.DEVNULL)


def pandas_predicts():
    x = pd.read_csv("big.csv")
    pd.DataFrame({"prediction": x.to_numpy() @ np.linspace(-1, 1, 64)}).to_csv("p2.csv", index=False)


def ridge_fits():
    z = np.load(school)
    x = StandardScaler().fit_transform(z["X"])
    for t in np.unique(z["task"]):
        rows = z["task"] == t
        RidgeCV(alphas=np.logspace(-6, -0.5, 12) * rows.sum(), cv=5).fit(x[rows], z["y"][rows])


def compare(what, ours, theirs, peer="peer"):
    turns = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    for k, seconds in enumerate(["seconds", "CPU seconds"]):
        a, b = (statistics.median(t[who][k] for t in turns) for who in (0, 1))
        print(f"{what}, {seconds}: l2mt {a:.2f}, {peer} {b:.2f}, {b / a:.1f} times as many")


with tempfile.TemporaryDirectory() as d:
    os.chdir(d)
    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(64)]
    small = pd.DataFrame(rng.normal(size=(500, 64)), columns=names)
    small["y"] = small.to_numpy() @ np.linspace(-1, 1, 64) + rng.normal(size=500)
    small.to_csv("small.csv", index=False)
    run("fit", "small.csv", "--target", "y", "--model", "stl", "--out", "model")
    with open("big.csv", "w") as f:
        for k in range(100):
            pd.DataFrame(rng.normal(size=(10000, 64)), columns=names).to_csv(f, index=False, header=k == 0, float_format="%.6g")
    compare("predict 10^6 x 64", lambda: run("predict", "--model", "model", "big.csv", "--out", "p1.csv"), pandas_predicts)
    compare("fit School", lambda: run("fit", school, "--model", "stl"), ridge_fits)
    z = np.load(school)
    table = pd.DataFrame(z["X"].astype(float), columns=[f"x{j}" for j in range(z["X"].shape[1])]).assign(task=z["task"], y=z["y"])
    held = np.random.default_rng(1).random(len(table)) < 0.2
    table.to_csv("all.csv", index=False), table[~held].to_csv("train.csv", index=False), table[held].to_csv("held.csv", index=False)
    columns = ["--task", "task", "--target", "y", "--kind", "regression", "--model", "stl"]
    compare("fit School with one part", lambda: run("fit", "train.csv", "--validation", "held.csv", *columns), lambda: run("fit", "all.csv", *columns), "with 5 folds")
