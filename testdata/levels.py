#!/usr/bin/env python3
"""Tasks that differ in level alone, beside lme4: the error of tasks of one row over that of lmer.

    levels.py BINARY [TABLES]

A table has sixty tasks of one to nine rows, every third of one row, two columns of slopes 1 and -1,
noise of deviation 1, and levels of deviation 1, 3 or 10 (rows of the output). Needs NumPy, and R
with lme4. Prints geometric means over the tables, of tasks of one row and of all others."""
import csv, subprocess, sys, tempfile
import numpy as np

binary, tables, work = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10, tempfile.mkdtemp()
LMER = """suppressMessages(library(lme4)); a <- read.csv("train.csv"); b <- read.csv("test.csv")
write.csv(data.frame(p = predict(lmer(y ~ x + z + (1 | task), a), b)), "lmer.csv")"""


def column(name, key):
    return np.array([float(r[key]) for r in csv.DictReader(open(f"{work}/{name}.csv"))])


def run(*command):
    subprocess.run(command, check=True, capture_output=True, cwd=work)


for deviation in 1, 3, 10:
    ratios = []
    for seed in range(tables):
        r, sets, small = np.random.default_rng([seed, deviation]), {"train": [], "test": []}, []
        for t in range(60):
            level, n = deviation * r.normal(), 1 if t % 3 == 0 else int(r.integers(2, 10))
            for k in range(n + 20):
                x, z = r.normal(size=2)
                sets["train" if k < n else "test"].append([f"t{t:02}", x, z, level + x - z + r.normal()])
            small += [n == 1] * 20
        for name, rows in sets.items():
            with open(f"{work}/{name}.csv", "w", newline="") as f:
                csv.writer(f).writerows([["task", "x", "z", "y"], *rows])
        run(binary, "-q", "fit", "train.csv", "--task", "task", "--target", "y", "--out", "m")
        run(binary, "-q", "predict", "--model", "m", "test.csv", "--out", "ours.csv")
        run("Rscript", "-e", LMER)
        y, small = column("test", "y"), np.array(small)
        ours, lmer = ((p - y) ** 2 for p in (column("ours", "prediction"), column("lmer", "p")))
        ratios.append([np.log(ours[w].mean() / lmer[w].mean()) / 2 for w in (small, ~small)])
    mean = np.exp(np.mean(ratios, 0))
    print(f"levels of deviation {deviation}: RMSE over lmer {mean[0]:.3f} of tasks of one row, {mean[1]:.3f} of others")
