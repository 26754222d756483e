#!/usr/bin/env python3
"""Problems as tables: fits the labelled rows of each with `l2mt fit`, a file a task, and
predicts the test rows with `l2mt predict`, with a network of one's own and without.

    testdata/tables.py L2MT PROBLEMS NETWORK [MOST]

Needs NumPy. PROBLEMS is a file of `l2mt problems sample` on an npz of two or more classes.
Prints, for each way, the mean test error of the problems over that of STL, and in how
many of them it is lower, equal and higher than with the network shipped and than that of
the best of ten."""
import csv, json, os, subprocess, sys, tempfile
import numpy as np

l2mt, path, network = map(os.path.abspath, sys.argv[1:4])
file = json.load(open(path))
problems = file["problems"][: int(sys.argv[4]) if len(sys.argv) > 4 else None]
z = np.load(os.path.join(os.path.dirname(path), file["dataset"]["path"]))
if "X" in z:
    X = z["X"].astype(np.float32)
else:
    X = np.zeros(z["shape"], np.float32)
    X[np.repeat(np.arange(len(X)), np.diff(z["indptr"])), z["indices"]] = z["data"]
label = np.char.add("class ", z["classes"])[np.unique(z["y"], return_inverse=True)[1]]
names = list(z["features"]) if "features" in z else []
target = "the label" if names else str(X.shape[1])  # without names columns are known by number
TEN = ["stl", "rmtl", "snr1", "snr2", "mtrl", "ssnr2", "cmtl", "glmtl", "amtl", "spats"]
# Of several fits a way takes the one with the least loss on rows held out.
WAYS = {"stl": [["--model", "stl", "--step", "none"]], "best of ten": [["--model", m, "--step", "none"] for m in TEN], "l2mt": [["--step", "none"]], "l2mt, own network": [["--network", network]]}


def write(name, rows):
    with open(name, "w", newline="") as f:
        w = csv.writer(f)
        if names:
            w.writerow(names + [target])
        for i in rows:
            w.writerow([repr(float(v)) if v else "0" for v in X[i]] + [label[i]])


def error(tasks, args):
    """The loss on rows held out and the error on test rows."""
    files = [f"{k}.csv" for k in range(len(tasks))]
    fit = subprocess.run([l2mt, "-q", "--json", "fit", *files, "--target", target, "--out", "model", *args], check=True, capture_output=True, text=True).stdout
    wrong = []
    for k, t in enumerate(tasks):
        out = subprocess.run([l2mt, "-q", "predict", f"{k}-test.csv", "--model", "model", "--task", str(k)], check=True, capture_output=True, text=True).stdout
        said = [row[1] for row in csv.reader(out.splitlines()[1:])]
        wrong.append(np.mean(np.array(said) != label[t["test"]]))
    return min(s["loss"] for s in json.loads(fit)["structures"]), np.mean(wrong)


errors = {way: [] for way in WAYS}
with tempfile.TemporaryDirectory() as d:
    os.chdir(d)
    for p in problems:
        for k, t in enumerate(p["tasks"]):
            write(f"{k}.csv", t["train"] + t.get("validation", []))
            write(f"{k}-test.csv", t["test"])
        for way, args in WAYS.items():
            errors[way].append(min((error(p["tasks"], a) for a in args), key=lambda e: e[0])[1])
        print(p["name"], *(f"{e[-1]:.4f}" for e in errors.values()), file=sys.stderr)
stl = np.mean(errors["stl"])
for way, e in errors.items():
    sign = [np.sign(np.array(e) - errors[other]) for other in ("l2mt", "best of ten")]
    print(f"{np.mean(e) / stl:.4f}", *("/".join(str((s == v).sum()) for v in (-1, 0, 1)) for s in sign), way, sep="  ")
