#!/usr/bin/env python3
"""Times l2mt beside pandas, NumPy and scikit-learn, turn by turn, and prints medians:

    testdata/peers.py L2MT SCHOOL.npz [ROUNDS]

predict   10^6 rows of 64 columns of a CSV, against pandas.read_csv, a product with NumPy
          and to_csv of the result
fit       School, 5 folds, 12 values of lambda1: `l2mt fit --model stl` (with the pooled
          model that it prints beside, and the fit on all rows), against RidgeCV(cv=5)
          for every task"""
import os, statistics, subprocess, sys, tempfile, time, warnings
import numpy as np, pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")  # of matrices that are ill-conditioned at the least alphas
l2mt, school, rounds = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3


def timed(f):
    begin = time.time()
    f()
    return time.time() - begin


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


def compare(what, ours, theirs):
    a, b = [], []
    for _ in range(rounds):
        a.append(timed(ours))
        b.append(timed(theirs))
    a, b = statistics.median(a), statistics.median(b)
    print(f"{what}: l2mt {a:.2f} s, peer {b:.2f} s, {b / a:.1f} times faster")


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
