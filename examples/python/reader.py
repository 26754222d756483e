"""Predictions of a saved model without the program: python3 reader.py MODEL TABLE [TASK]

docs/model.md says what the files of a model have in them, and what each line here does with it.
"""
import datetime as dt, json, re, struct, sys, unicodedata
import numpy as np, pandas as pd

MISSING = ["na", "n/a", "#n/a", "nan", "null", "none", "?"]
DATES = {"2006": "%Y", "January": "%B", "Jan": "%b", "15": "%H", "04": "%M", "05": "%S", "06": "%y", "Z07:00": "%z", "0?1": "%m", "0?2": "%d"}

def key(name):
    return unicodedata.normalize("NFC", re.sub(r"^([+-]?\d+)\.0*$", r"\1", name)).lower()

def single(x):
    return np.asarray(x, float).astype(np.float32).astype(float)

def load(folder):
    raw = open(folder + "/weights.safetensors", "rb").read()
    size = 8 + struct.unpack("<Q", raw[:8])[0]
    head = {name: t for name, t in json.loads(raw[8:size]).items() if name != "__metadata__"}
    weights = {name: np.frombuffer(raw[size:][slice(*t["data_offsets"])]).reshape(t["shape"]) for name, t in head.items()}
    return json.load(open(folder + "/model.json")), weights

def date(word, layout):
    for go, python in DATES.items():
        layout = re.sub(go, python, layout)
    t = dt.datetime.strptime(word, layout)
    day = t.replace(tzinfo=t.tzinfo or dt.timezone.utc).timestamp() // 1 / 86400
    return {"day": day, "year": t.year, "hour": t.hour + t.minute / 60, t.strftime("%A"): 1}

def features(word, c, missing):
    """The features that column c makes of a cell."""
    if key(word) in missing:
        return c["mean"] + [1] * c.get("gaps", False)
    if "date" in c:
        values = [date(word, c["date"]).get(level, 0) for level in c["levels"]]
    else:
        values = [key(level) == key(word) for level in c["levels"]] if "levels" in c else [float(word)]
    return values + [0] * c.get("gaps", False)

def rows(recipe, table):
    """Rows before the steps, and what they are less than in the table."""
    missing = {"", *map(key, recipe.get("na", MISSING))}
    made, offset = [], []
    for c in recipe["columns"]:
        cells = {word: features(word, c, missing) for word in set(table[c["name"]])}
        made.append(np.array([cells[word] for word in table[c["name"]]], float))
        offset += c.get("offset", [0] * len(c.get("levels", "x"))) + [0] * c.get("gaps", False)
    return single(np.hstack(made) - offset), np.array(offset)

def bend(x, knots, c):
    near = x.clip(knots[0], knots[-1])
    d = near[:, None] - knots
    slope = 3 * d * np.abs(d) @ c[:-2] + c[-2]
    return np.abs(d) ** 3 @ c[:-2] + c[-2] * near + c[-1] + slope * (x - near)

def within(s, X):
    low, high = single([s["low"], s["high"]])
    return X.clip(low - (high - low), high + (high - low))

STEPS = {
    "tfidf": lambda s, X: (X > 0) * (1 + np.log(np.maximum(X, 1))) * (1 + np.log((1 + s["documents"]) / (1 + np.array(s["frequency"])))),
    "unit": lambda s, X: X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300),
    "standardise": lambda s, X: (X - s["mean"]) / [d or np.inf for d in s["deviation"]],
    "curves": lambda s, X: np.stack([f for x, c in zip(within(s, X).T, s["curves"]) for f in [x, *(bend(x, c["knots"], b) for b in c.get("bends", []))]], 1),
    "laplace": lambda s, X: np.exp(-s["width"] * np.abs(X[:, None] - single(s["landmarks"])).sum(2)),
    "views": lambda s, X: np.hstack([step(part, X) for part in s["parts"]]),
}

def step(s, X):
    return single(STEPS[s["kind"]](s, X))

def predict(folder, table, names):
    """Numbers, or the probabilities of classes, of rows of texts, each of the task of its name."""
    m, w = load(folder)
    X, offset = rows(m["recipe"], table)
    for s in m["recipe"].get("steps", []):
        X, offset = step(s, X), []
    k, known = len(m.get("classes", "1")), {key(task["name"]): t for t, task in enumerate(m["tasks"])}
    W, b = w["W"].reshape(k, -1, len(known)), w["b"].reshape(k, -1)
    if "shared W" in w:
        new, level = w["shared W"].T, w["shared b"]
    else:  # the mean of the tasks that have a class
        have = np.array([[k == 1 or share > 0 for share in task["mean"][:k]] for task in m["tasks"]]).T
        n = np.maximum(have.sum(1), 1)
        new, level = (W * have[:, None]).sum(2) / n[:, None], np.where(have.any(1), np.where(have, b, 0).sum(1) / n, -np.inf)
    W, b = np.dstack([W, new]), np.column_stack([b, level])
    for j, v in enumerate(offset):
        b = b + v * W[:, j]
    t = [known.get(key(name), -1) for name in names]
    score = np.einsum("nd,kdn->nk", X, W[:, :, t]) + b[:, t].T
    if m["kind"] == "regression":
        return np.exp(score[:, 0].clip(None, m.get("largest", 0))) if m.get("log") else score[:, 0]
    if "doubt" in m:
        left, loading, scale = np.array([[d["left"], d["loading"], d["scale"]] for d in m["doubt"]["tasks"]])[t].T
        own, common = [((w["doubt " + part] @ np.vstack([np.ones(len(X)), X.T])) ** 2).sum(0) for part in ["own", "common"]]
        v = scale ** 2 * (m["doubt"]["noise"] + left * (own + loading ** 2 * common))
        score = score / np.sqrt(1 + np.pi * v / 8)[:, None]
    score = score if k > 1 else score * [-1, 1]
    p = -np.logaddexp(0, -score / m["temperature"])
    p = np.exp(p - p.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)

if __name__ == "__main__":
    recipe = load(sys.argv[1])[0]["recipe"]
    header = None if recipe.get("by_position") else 0
    table = pd.read_csv(sys.argv[2], header=header, dtype=str, keep_default_na=False).rename(columns=str)
    names = sys.argv[3:] * len(table) or table[recipe["task"]]
    pd.DataFrame(predict(sys.argv[1], table, names)).to_csv(sys.stdout, index=False)
