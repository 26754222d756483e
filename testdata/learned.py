#!/usr/bin/env python3
"""What is learned, beside its controls and beside what a user would do with the same rows.

    testdata/learned.py DATA DIR [PROBLEMS [KIND [DATASET...]]]

DATA is the folder of the datasets. Makes DIR/learned.md; what is in DIR is gone on with. Needs NumPy,
SciPy, scikit-learn and Go.

The controls are of the first ten problems, and their ratio is over STL on these.

Five datasets have experience of their own, 40 problems at 5 + 5 %, of which the test problems have
other rows of the same classes (recurring), or other classes (new). Five were never seen by the shipped
network. A row is one method, and none is chosen by test rows: those of package solve are made by
testdata/learned/main.go, the others here, by scikit-learn with C from five folds.
"""
import json, os, subprocess, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import scipy.sparse as sp
from scipy.stats import wilcoxon
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

data, work = map(os.path.abspath, sys.argv[1:3])
most = int(sys.argv[3]) if len(sys.argv) > 3 else 50
asked, some = sys.argv[4:5], sys.argv[5:]  # all kinds and datasets, if none
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN = ["digits", "yaleb", "reuters", "caltech", "news"]
SHIPPED = ["agnews", "webkb", "segmentation", "tox171", "orl"]
SEED = {"recurring": 341, "new": 342, "shipped": 343}
os.makedirs(work, exist_ok=True)
os.chdir(work)


def l2mt(*args):
    subprocess.run([f"{work}/l2mt", "-q", *map(str, args)], check=True, stdout=subprocess.DEVNULL)


def once(path, make):
    """Makes a file or folder that is not there, under another name until it is whole."""
    if not os.path.exists(path):
        print(path, file=sys.stderr, flush=True)
        make("part-" + path)
        os.rename("part-" + path, path)
    return path


def dataset(name):
    def selected(path, *options):
        chosen = f"{name}-selected.npz"
        subprocess.run([f"{root}/testdata/selection.py", path, chosen, *options], check=True)
        return chosen

    def text(path):
        of = {"news": "20newsgroups/20newsgroups", "reuters": "reuters21578/reuters21578"}.get(name)
        names = f"{data}/{os.path.dirname(of)}/" if of else f"{data}/more/{name}."
        some = ["--min-class", "60"] if name == "reuters" else []
        chosen = selected(f"{data}/{of or 'more/' + name}.svmlight.gz", "--classes", names + "classes.txt",
                          "--words", names + "vocabulary.txt.gz", *some)
        l2mt("data", "import", chosen, "--step", "tfidf", "--step", "unit", "--out", f"{name}-all.npz")
        l2mt("data", "import", f"{name}-all.npz", "--step", "ridge1000", "--step", "unit", "--out", path)

    def dense(path):
        file = {"yaleb": f"{data}/yaleb/yaleb.npz"}.get(name, f"{data}/more/{name}.npz")
        if name == "caltech":
            file = selected(f"{data}/caltech101/caltech101_mobilenetv2_logits.npz", "--min-class", "60", "--max-class", "400")
        l2mt("data", "import", file, "--step", "standardise", "--step", "unit", "--out", path)

    def digits(path):
        l2mt("data", "import", f"{data}/digits/digits.csv.gz", "--header", "no", "--label", 64, "--step", "standardise", "--step", "unit", "--out", path)

    return once(f"{name}.npz", digits if name == "digits" else dense if name not in ("news", "reuters", "agnews", "webkb") else text)


def sampled(name, kind, percent):
    """Files of test problems, and of the training problems."""
    train, apart = (0, []) if kind == "shipped" else (40, ["--disjoint-rows" if kind == "recurring" else "--disjoint-classes"])
    out = f"{name}-{kind}-{percent}"
    once(out, lambda part: l2mt("problems", "sample", "--dataset", dataset(name), "--train", train, "--test", 50, "--train-fraction",
         percent / 100, "--validation-fraction", percent / 100, "--seed", SEED[kind], *apart, "--out", part))
    return f"{out}/test.json", f"{name}-{kind}-5/train.json"  # which fractions do not change the rows of


def networks(name, kind):
    """The trained network, and the one that kept its start."""
    if kind == "shipped":  # the start is made of the experience of testdata/pretrain.sh, where DIR has it
        return ["", *(["start"] if os.path.exists("start") else [])]
    of, start = f"{name}-{kind}", ["--train.epochs=1", "--train.rate=1e-9", "--train.embedding_rate=1e-9"]
    once(f"{of}-collected", lambda out: l2mt("collect", "--problems", sampled(name, kind, 5)[1], "--models", "stl", "--explore", 2, "--near", 6,
         "--o", "labelled", "--seed", SEED[kind], "--out", out))
    for network, more in ((f"{of}-trained", []), (f"{of}-start", start)):
        once(network, lambda out: l2mt("train", "--preset", "pairwise", "--seed", 1, "--experience", f"{of}-collected", *more, "--out", out))
    return [f"{of}-trained", f"{of}-start"]


def rows(name):
    z = np.load(dataset(name))
    X = z["X"].astype(float) if "X" in z else sp.csr_matrix((z["data"].astype(float), z["indices"], z["indptr"]), z["shape"])
    return X, z["classes"][np.unique(z["y"], return_inverse=True)[1]] if "classes" in z else z["y"].astype(int).astype(str)


def logistic(X, y, strengths=(0.1, 1, 10, 100, 1000), **more):
    """Logistic regression, C by five folds (of fewer rows, fewer)."""
    folds, more = min(5, np.unique(y, return_counts=True)[1].min()), more or {"solver": "liblinear", "intercept_scaling": 10}
    if folds < 2:
        return LogisticRegression(C=10, **more).fit(X, y)
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    return LogisticRegressionCV(Cs=strengths, cv=cv, scoring="neg_log_loss", **more).fit(X, y)


def rivals(name, kind, percent):
    """What the rows of the experience, and those of the problem, say by themselves: an error a problem."""
    X, y = rows(name)
    test, train = (json.load(open(f))["problems"] for f in sampled(name, kind, percent))
    known = sorted({i for p in train for t in p["tasks"] for part in ("train", "validation", "test") for i in t[part]})
    of = {c: [i for i in known if y[i] == c] for c in np.unique(y[known])}
    many = logistic(X[known], y[known], (1, 10, 100), solver="lbfgs", max_iter=300, tol=1e-3)
    logits = many.decision_function(X)
    flat = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X[known].toarray() if sp.issparse(X) else X[known], y[known])
    subspace = flat.transform(X.toarray() if sp.issparse(X) else X)
    unit = lambda Z: Z / np.sqrt((Z[known] ** 2).sum(1).mean())
    logits, subspace, pairs, errors = unit(logits), unit(subspace), {}, []
    for p in test[:most]:
        wrong = {}
        for t in p["tasks"]:
            a, b, few, ask = t["positive"], t["negative"], t["train"] + t["validation"], t["test"]
            judge = lambda what, said: wrong.setdefault(what, []).append(np.mean(said != y[ask]))
            for what, Z in (("on logits", logits), ("in the discriminant subspace", subspace)):
                judge(what, logistic(Z[few], y[few]).predict(Z[ask]))
            if a not in of or b not in of:
                continue
            both = of[a] + of[b]
            if (a, b) not in pairs:
                pairs[a, b] = logistic(X[both], y[both])
            judge("pair classifier", pairs[a, b].predict(X[ask]))
            judge("pair classifier, and labelled rows", (lambda k: logistic(X[k], y[k]))(both + few).predict(X[ask]))
            one, other = (list(many.classes_).index(c) for c in (a, b))
            judge("multi-class", np.where(logits[ask, one] >= logits[ask, other], a, b))
        errors.append({k: np.mean(v) for k, v in wrong.items()})
    return errors


def cell(name, kind, percent):
    """Errors of all methods, a problem each."""
    of = f"{name}-{kind}-{percent}-{most}"

    def solve(path):
        test, train = sampled(name, kind, percent)
        old = [] if kind == "shipped" else [train]
        out = subprocess.run([f"{work}/learned", test, str(most), *networks(name, kind), *old], check=True, capture_output=True).stdout
        open(path, "wb").write(out)

    all = [json.loads(line) for line in open(once(f"{of}.solve.jsonl", solve))]
    if kind != "shipped":
        for one, more in zip(all, json.load(open(once(f"{of}.rivals.json", lambda path: json.dump(rivals(name, kind, percent), open(path, "w")))))):
            one.update(more)
    return all


METHODS = [("stl", "STL"), ("without", "L2MT without the network"), ("start", "L2MT, the network at its start"), ("l2mt", "L2MT"),
           ("new classes", "*control:* L2MT, no class recognised"), ("no rows", "*control:* L2MT, nothing learned of rows"),
           ("shuffled", "*control:* classes of the experience shuffled"), ("one class", "*control:* scatter without labels"),
           ("old tasks", "*control:* twenty old tasks in the table, four problems"), ("pair classifier", "pair classifier of the experience's rows"),
           ("pair classifier, and labelled rows", "the same, and the labelled rows"), ("multi-class", "one multi-class classifier of the experience"),
           ("on logits", "labelled rows, on the logits of that"), ("in the discriminant subspace", "labelled rows, in the discriminant subspace of the experience"),
           ("oracle", "*oracle:* the covariance of weights fitted on test rows, in the same metric")]
PAIRS = [("l2mt", "start", "training, L2MT"),
         ("l2mt", "without", "the network"), ("l2mt", "no rows", "what rows teach"), ("pair classifier, and labelled rows", "l2mt", "rows of the experience"),
         ("multi-class", "l2mt", "one multi-class classifier")]


def tables(cells):
    """The table of errors over that of STL, and that of differences, Markdown."""
    head = [f"{n}, {p}+{p}" for n, p, _ in cells]
    lines = ["| error over that of STL | " + " | ".join(head) + " | geometric mean |", "|---|" + "--:|" * (len(head) + 1)]
    mean = lambda all, k, of=None: np.mean([e[k] for e in all if (of or k) in e])  # some have the first ten
    lines.append("| STL, error | " + " | ".join(f"{mean(all, 'stl'):.4f}" for *_, all in cells) + " | |")
    some = [m for m in METHODS if all(m[0] in c[2][0] for c in cells)]
    for k, title in some[1:]:
        over = [mean(all, k) / mean(all, "stl", k) for *_, all in cells]
        lines.append(f"| {title} | " + " | ".join(f"{v:.3f}" for v in over) + f" | {np.exp(np.mean(np.log(np.maximum(over, 1e-3)))):.3f} |")
    for k, title in (("recognised", "tasks whose classes are recognised"), ("falsely", "falsely"), ("seconds", "seconds of a fit"),
                     ("seconds old", "seconds with old tasks in the table")):
        if not all(k in c[2][0] for c in cells):
            continue
        lines.append(f"| {title} | " + " | ".join(f"{mean(all, k):.3f}" for *_, all in cells) + " | |")
    lines += ["", "| ratio of errors (p, Wilcoxon over problems) | " + " | ".join(head) + " | geometric mean |", "|---|" + "--:|" * (len(head) + 1)]
    for a, b, title in PAIRS:
        if not {a, b} <= {k for k, _ in some}:
            continue
        shown, over = [], []
        for *_, all_ in cells:
            both = [e for e in all_ if a in e and b in e]
            gap = np.array([e[a] - e[b] for e in both])
            over.append(mean(both, a) / max(mean(both, b), 1e-9))
            shown.append(f"{over[-1]:.3f} ({wilcoxon(gap).pvalue:.2g})" if np.any(gap) else f"{over[-1]:.3f} (-)")
        lines.append(f"| {title} | " + " | ".join(shown) + f" | {np.exp(np.mean(np.log(np.maximum(over, 1e-3)))):.3f} |")
    return "\n".join(lines)


subprocess.run(["go", "build", "-o", f"{work}/", "./cmd/l2mt", "./testdata/learned"], cwd=root, check=True)
text = [f"{most} test problems a column, seeds {SEED}."]
cells = {}
for names, kinds in (OWN, ("new", "recurring")), (SHIPPED, ("shipped",)):
    for n in some or names:
        for kind in [k for k in kinds if k in (asked or kinds)]:
            for percent in (10, 20) if n == "orl" else (5, 10):  # it has ten rows a class
                cells.setdefault(kind, []).append((n, percent, cell(n, kind, percent)))
for kind, title in (("recurring", "Experience of one's own, classes recurring"), ("new", "Experience of one's own, new classes"),
                    ("shipped", "The shipped network, datasets that it has not seen")):
    if kind in cells:
        text += [f"## {title}", tables(cells[kind])]
open("learned.md", "w").write("\n\n".join(text) + "\n")
print("\n\n".join(text))
