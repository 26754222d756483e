"""Predictions of a saved model without the program: python3 reader.py MODEL TABLE TASK

The files model.json and weights.safetensors are a contract: docs/tables.md says what is in them.
Features are in single precision, as in the program; the rest is in double precision.
"""
import json, struct, sys
import numpy as np, pandas as pd

def load(folder):
    raw = open(folder + "/weights.safetensors", "rb").read()
    size = 8 + struct.unpack("<Q", raw[:8])[0]
    head = {k: t for k, t in json.loads(raw[8:size]).items() if k != "__metadata__"}
    w = {k: np.frombuffer(raw[size:][slice(*t["data_offsets"])]).reshape(t["shape"]) for k, t in head.items()}
    return json.load(open(folder + "/model.json")), w

def features(recipe, table):
    made = []
    for c in recipe["columns"]:
        x = table[c["name"]]
        parts = np.stack([x == v for v in c["levels"]], 1) if "levels" in c else x.to_numpy(float)[:, None]
        gap = x.isna().to_numpy()[:, None]
        parts = np.where(gap & ("mean" in c), c.get("mean", 0), parts) - c.get("offset", 0)
        made += [parts, gap] if c.get("gaps") else [parts]
    return np.hstack(made).astype(np.float32).astype(float)

def step(s, X):
    if s["kind"] == "standardise":
        d = np.array(s["deviation"])
        made = np.where(d > 0, (X - s["mean"]) / np.where(d > 0, d, 1), 0)
    elif s["kind"] == "laplace":
        apart = X.astype(np.float32)[:, None] - np.array(s["landmarks"], np.float32)
        made = np.exp(-s["width"] * np.abs(apart.astype(float)).sum(2))
    elif s["kind"] == "curves":
        bends = lambda x, c: [curve(x, np.array(c["knots"]), np.array(b)) for b in c.get("bends") or []]
        made = np.hstack([np.stack([x] + bends(x, c), 1) for x, c in zip(X.T, s["curves"])])
    else:  # views
        made = np.hstack([step(part, X) for part in s["parts"]])
    return made.astype(np.float32).astype(float)

def curve(x, k, b):
    near = x.clip(k[0], k[-1])
    d = near[:, None] - k
    f, slope = (d * d * np.abs(d)) @ b[:-2], 3 * (d * np.abs(d)) @ b[:-2] + b[-2]
    return f + b[-2] * near + b[-1] + slope * (x - near)

def predict(folder, table, task):
    """Numbers, or for classes the probabilities of all."""
    m, w = load(folder)
    X = features(m["recipe"], table)
    for s in m["recipe"].get("steps") or []:
        X = step(s, X)
    t = [t["name"] for t in m["tasks"]].index(task)
    if "steps" not in m["recipe"]:
        offset = lambda c: c.get("offset", [0] * len(c.get("levels", "x"))) + [0] * c.get("gaps", False)
        X = X + np.hstack([offset(c) for c in m["recipe"]["columns"]])
    score = X @ w["W"][..., t].T + w["b"][..., t]
    if m["kind"] == "regression":
        return score
    if "doubt" in m:
        one, d = np.hstack([np.ones((len(X), 1)), X]), m["doubt"]["tasks"][t]
        own, common = [((one @ w["doubt " + n].T) ** 2).sum(1) for n in ("own", "common")]
        v = d["scale"] ** 2 * (m["doubt"]["noise"] + d["left"] * (own + d["loading"] ** 2 * common))
        score = score / np.sqrt(1 + np.pi * (v if score.ndim == 1 else v[:, None]) / 8)
    p = 1 / (1 + np.exp(-score / m["temperature"]))
    return p / p.sum(1, keepdims=True) if p.ndim == 2 else np.stack([1 - p, p], 1)

if __name__ == "__main__":
    print(predict(sys.argv[1], pd.read_csv(sys.argv[2]), sys.argv[3]))
