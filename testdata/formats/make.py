"""Writes the small files of this folder with NumPy, SciPy and scikit-learn.

All files called table.* hold the same 8 rows: 5 features,
the last of them zero everywhere but in one row, and the classes 1, 2 and 5. The
files called tasks.* hold a regression problem with two targets and three tasks.
"""

import csv
import gzip
import io
import os

import numpy as np
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

X = np.array([
    [0, 1.5, 0, -2, 0],
    [3, 0, 0.25, 0, 0],
    [0, 0, 0, 0, 0],
    [1, 2, 3, 4, 5],
    [-0.5, 0, 1024, 0, 0],
    [0, 0.0009765625, 0, 7, 0],
    [2, 2, 2, 2, 0],
    [0, 0, 0, -1, 0],
])
y = np.array([2, 1, 5, 1, 2, 5, 1, 2])
features = ["width", "height", "a, quoted", "depth", "mass"]


def text(path, delimiter, header, opener=open):
    with opener(path, "wt", newline="") as f:
        out = csv.writer(f, delimiter=delimiter)
        if header:
            out.writerow([*features, "class"])
        out.writerows([repr(float(v)) for v in row] + [label] for row, label in zip(X, y))


def reproducible_gzip(path, mode, **more):
    return io.TextIOWrapper(gzip.GzipFile(path, "wb", mtime=0), **more)


text("table.csv", ",", True)
text("table.tsv", "\t", False)
text("table.csv.gz", ",", False, reproducible_gzip)

dump_svmlight_file(X, y, "table.svmlight", zero_based=False)
dump_svmlight_file(X, y, "table-from0.svmlight", zero_based=True, comment="indices from 0")

np.save("array.npy", np.column_stack([X, y]))
np.savez_compressed("table.npz", X=X.astype("f4"), y=y)
np.savez("table-plain.npz", X=X.astype("f4"), y=y.astype("u1"))
np.savez("table-columns.npz", X=np.asfortranarray(X), y=y.astype("i2"))
scipy.sparse.save_npz("csr.npz", scipy.sparse.csr_matrix(X))
with np.load("csr.npz") as csr:
    np.savez_compressed("table-sparse.npz", y=y, **csr)
os.remove("csr.npz")

names = np.array(["north", "south", "west"])
task = np.array([0, 0, 1, 2, 2, 1, 0, 2])
np.savez_compressed(
    "tasks.npz", X=X, y=np.column_stack([X.sum(axis=1) / 3, y]), targets=np.array(["third", "class"]),
    task=names[task], features=np.array(features), other=np.arange(3))
