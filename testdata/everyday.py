#!/usr/bin/env python3
"""What l2mt fit promises of tables of the real world, and what new rows have: time, repeated things,
skewed targets, weights, groups in groups, heavy tails, tasks of few rows and new ones, rare classes,
widths of what is printed.

    everyday.py BINARY [LANDMINE.npz]

Cigar, Sleepstudy and Exam come from the R packages plm, lme4 and mlmRev, the other tables are
generated. A line has the promised RMSE (the mean of tasks), the RMSE and the mean absolute error of
the new rows, and of the intervals of 90 % how many hold, the mean width, and how many begin below
zero.
"""
import csv, json, subprocess, sys, tempfile
import numpy as np

binary, work = sys.argv[1], tempfile.mkdtemp()


def write(name, head, rows):
    with open(f"{work}/{name}.csv", "w", newline="") as f:
        csv.writer(f).writerows([head, *rows])


def l2mt(*args):
    return subprocess.run([binary, "-q", *args], check=True, capture_output=True, text=True).stdout


def measure(title, head, train, test, task, target, *flags, parts={}):
    write("train", head, train)
    write("test", head, test)
    fit = json.loads(l2mt("fit", f"{work}/train.csv", "--task", task, "--target", target, "--json", "--out", f"{work}/m", *flags))
    l2mt("predict", "--model", f"{work}/m", f"{work}/test.csv", "--interval", "0.9", "--out", f"{work}/p.csv")
    rows = list(csv.DictReader(open(f"{work}/p.csv")))
    f, low, high = (np.array([float(r[k]) for r in rows]) for k in ("prediction", "low", "high"))
    y = np.array([float(r[head.index(target)]) for r in test])
    promised, holds = fit["mean"]["by"]["model"]["error"], ((low <= y) & (y <= high)).mean()
    print("%-32s %9.3f %9.3f %9.3f %6.3f %9.2f %5d" % (
        title + " " + " ".join(flags), promised, np.sqrt(((f - y) ** 2).mean()), abs(f - y).mean(), holds, (high - low).mean(), (low < 0).sum()))
    for part, names in parts.items():
        of = np.array([r[head.index(task)] in names for r in test])
        print("    %s: %d rows, RMSE %.3f, within %.3f" % (part, of.sum(), np.sqrt(((f - y)[of] ** 2).mean()), ((low <= y) & (y <= high))[of].mean()))


def from_r(package, name):
    code = f'data({name}, package="{package}"); write.csv({name}, "{work}/r.csv", row.names=FALSE)'
    subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)
    head, *rows = csv.reader(open(f"{work}/r.csv"))
    return head, rows


for package, name, task, time, target, last in ("plm", "Cigar", "state", "year", "sales", 85), ("lme4", "sleepstudy", "Subject", "Days", "Reaction", 6):
    head, rows = from_r(package, name)
    at = head.index(time)
    past, future = [r for r in rows if float(r[at]) <= last], [r for r in rows if float(r[at]) > last]
    for flags in [], ["--time", time]:
        measure(name, head, past, future, task, target, *flags)


def visits(seed, first, n):
    r = np.random.default_rng(seed)
    for patient in range(first, first + n):
        clinic, age, bmi, pressure, level = "abcde"[r.integers(5)], r.uniform(20, 80), r.normal(27, 4), r.normal(130, 15), r.normal(0, 2)
        for _ in range(6):
            dose = r.uniform(0, 1)
            yield [clinic, patient, "%.1f" % age, "%.1f" % bmi, "%.1f" % pressure, "%.3f" % dose, "%.3f" % (level + .02 * age + .5 * dose + r.normal(0, .3))]


head = ["clinic", "patient", "age", "bmi", "bp", "dose", "score"]
for flags in [], ["--group", "patient"], ["--ignore", "patient", "--group", "age,bmi,bp"]:
    measure("visits", head, list(visits(1, 0, 100)), list(visits(2, 100, 60)), "clinic", "score", *flags)
for seed in 1, 2:
    r = np.random.default_rng(seed)
    level, slope, train, test = r.normal(0, .7, 30), r.normal(.5, .2, 30), [], []
    for shop in range(30):
        for k in range(50):
            a, b = r.normal(size=2)
            y = np.exp(7 + level[shop] + slope[shop] * a + .3 * b + r.normal(0, .5))
            (train if k < 25 else test).append(["s%02d" % shop, "%.3f" % a, "%.3f" % b, "%.2f" % y])
    for flags in ["--target-scale", "identity"], []:
        measure("revenue", ["shop", "ads", "price", "revenue"], train, test, "shop", "revenue", *flags)
for seed in 1, 2, 3:
    r, train, test = np.random.default_rng(seed), [], []
    for t in range(30):
        w, level = np.array([1, -1, .5, 0]) + r.normal(0, .4, 4), r.normal()
        for k in range(30):
            x, n = r.normal(size=4), [1, 4, 25][r.integers(3)]
            f, row = level + x @ w + np.sin(2 * x[3]), ["t%02d" % t, *("%.3f" % v for v in x)]
            if k < 15:
                train.append([*row, n, "%.3f" % (f + r.normal(0, 3 / np.sqrt(n)))])
            else:
                test.append([*row, 1, "%.3f" % f])
    for flags in ["--ignore", "n"], ["--weight", "n"]:
        measure("means of n", ["t", "a", "b", "c", "d", "n", "y"], train, test, "t", "y", *flags)
for seed in 1, 2, 3:
    r, train, test = np.random.default_rng(seed), [], []
    for school in range(20):
        level = r.normal()
        for group in range(4):
            own = r.normal(0, .8)
            for k in range(8):
                x = r.normal()
                (train if k < 4 else test).append(["s%d" % school, "s%dc%d" % (school, group), "%.4f" % x, "%.4f" % (level + own + .5 * x + r.normal())])
    for task, flags in ("school", []), ("class", []), ("school", ["--ignore", "class"]):
        measure(task, ["school", "class", "x", "y"], train, test, task, "y", *flags)
for freedom in 2, 3, 1e6:  # of Student's t: the noise of the rows; the new ones have none, and then as much
    for seed in 11, 12, 13:
        r, train, exact, noisy = np.random.default_rng(seed), [], [], []
        common = r.normal(size=4)
        for t in range(30):
            w, level = common + .4 * r.normal(size=4), r.normal()
            for k in range(30):
                x, noise = r.normal(size=4), r.standard_t(freedom)
                f, row = level + x @ w + np.sin(2 * x[3]), ["t%02d" % t, *("%.3f" % v for v in x)]
                for rows, y in ((train, f + noise),) if k < 15 else ((exact, f), (noisy, f + noise)):
                    rows.append([*row, "%.3f" % y])
        for flags in ["--target-scale", "identity"], []:
            for test in exact, noisy:
                measure("t%g" % freedom, ["t", "a", "b", "c", "d", "y"], train, test, "t", "y", *flags)
head, rows = from_r("mlmRev", "Exam")
keep = [head.index(c) for c in ("school", "normexam", "standLRT", "sex", "type")]
for seed in 1, 2, 3:
    r, train, test, parts = np.random.default_rng(seed), [], [], {}
    schools = r.permutation(sorted({row[keep[0]] for row in rows}))
    for k, school in enumerate(schools):
        n, part = [(1, "1 row"), (2, "2 rows"), (3, "3 rows"), (0, "new"), (20, "20 rows")][min(k // 10, 4)]
        of = r.permutation([[row[j] for j in keep] for row in rows if row[keep[0]] == school]).tolist()
        train += of[:n]
        test += of[n:]
        parts.setdefault(part, set()).add(school)
    measure("exam", [head[j] for j in keep], train, test, "school", "normexam", parts=parts)
printed = l2mt("fit", f"{work}/train.csv", "--task", "school", "--target", "normexam", "--structures")
print("the widest line of fit has %d characters" % max(map(len, printed.splitlines())))
if len(sys.argv) > 2:
    d = np.load(sys.argv[2])
    r, train, test = np.random.default_rng(1), [], []
    for t in np.unique(d["task"]):
        rows = r.permutation(np.flatnonzero(d["task"] == t))
        for k, i in enumerate(rows):
            (train if k < 100 else test).append([t, *d["X"][i], int(d["y"][i] > 0)])
    head = ["task", *("x%d" % j for j in range(d["X"].shape[1])), "y"]
    write("train", head, train)
    write("test", head, test)
    for flags in [], ["--threshold", "f1"], ["--threshold", "cost=10"]:
        l2mt("fit", f"{work}/train.csv", "--task", "task", "--target", "y", "--kind", "classification", "--out", f"{work}/m", *flags)
        s = json.loads(l2mt("predict", "--model", f"{work}/m", f"{work}/test.csv", "--out", f"{work}/p.csv", "--json"))["all"]["by"]["model"]
        print("landmine", *flags, *("%s %.3f" % (k, s[k]) for k in ("error", "recall", "precision", "average_precision", "auc")))
